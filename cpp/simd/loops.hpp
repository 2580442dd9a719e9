// The inner loops, as one table per instruction set. The widest table that the processor supports is selected when the
// module is loaded. Every sum has a fixed order, so within one instruction set the result depends only on the input.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace budgetron {

// Right-hand sides that are solved together.
inline constexpr std::size_t solved_together = 4;
using SolvedTogether = std::array<double*, solved_together>;

// One nonzero of a column: the slot of its support vector, and its value.
template <class T>
struct Listed {
  std::uint32_t slot;
  T value;
};

// A reduction r_ab over the features of rows x_a and support vectors s_b. All functions of the table sum in feature
// order with the same operations, so they give the same bits. Columns in which x is 0 may be skipped: x and s are
// finite. Support vectors, and blocks of rows, are feature-major: features x stride. n, and the number of rows in
// `norms`, are multiples of the lane count.
template <class T>
struct Reduction {
  T (*norm)(const T* x, std::size_t columns);
  T (*sparse_norm)(const T* x, const std::int32_t* indices, std::size_t nonzeros);
  void (*norms)(const T* x, std::size_t x_stride, std::size_t rows, std::size_t columns, T* norms);
  void (*block)(const T* x, std::size_t x_stride, std::size_t rows, std::size_t columns, const T* s, std::size_t stride,
                std::size_t n, T* r, std::size_t r_stride);
  // x is sparse: only its nonzeros are visited. `norms` belongs to the support vectors.
  void (*sparse)(const T* x, const std::int32_t* indices, std::size_t nonzeros, const T* s, std::size_t stride,
                 std::size_t n, const T* norms, T* r);
  // The same, from the lists of nonzeros of the columns in which x is nonzero. r must be 0 on entry.
  void (*listed)(const T* x, const std::int32_t* indices, std::span<const std::span<const Listed<T>>> lists, T norm,
                 const T* norms, std::span<T> r);
};

// The constants for exp(-gamma t) = 2^(c t). t is clamped at `limit`, beyond which the result is 0.
template <class T>
struct Rate {
  explicit Rate(T gamma)
      : c(std::max(-gamma * static_cast<T>(0x1.71547652b82fep0), std::numeric_limits<T>::lowest())),
        limit((sizeof(T) == 4 ? -152 : -1080) / c) {}

  T c, limit;
};

// Kernel values of candidates r with t and with their nearest neighbours n, one of each for every r, and k(t,t).
struct Pairs {
  const double *krt, *krr, *krn, *knn, *ktn;
  double ktt;
};

// What an observation of precision q along z does to U D U', with f = U'z and v = D f.
struct Observed {
  double confidence;  // z' U D U' z
  double last;        // 1/q + confidence
  double sum;         // of |v|
  double growth;      // a bound on the change of a number in U, relative to the largest in U
};

struct Loops {
  const char* name;
  // <x, s> = sum_j x_j s_j, with norm |x|^2.
  Reduction<float> dot_product_single;
  Reduction<double> dot_product_double;
  // |x - s|_1 = sum_j |x_j - s_j|, with norm |x|_1.
  Reduction<float> l1_distance_single;
  Reduction<double> l1_distance_double;
  // <x, s> of a sparse x, if columns[i] is the column of its nonzero i.
  void (*scattered_single)(const float* x, const std::int32_t* indices, std::size_t nonzeros,
                           const float* const* columns, std::size_t n, float* r);
  void (*scattered_double)(const double* x, const std::int32_t* indices, std::size_t nonzeros,
                           const double* const* columns, std::size_t n, double* r);
  // gaussian: k = exp(-gamma max(norm + norms - 2 r, 0)). laplacian: k = exp(-gamma max(r, 0)). exponential: r <-
  // exp(r), for arguments up to 709. All are accurate to 2 ulp, and n is a multiple of the lane count.
  void (*gaussian)(const double* r, const double* norms, double norm, Rate<double> gamma, std::size_t n, double* k);
  void (*gaussian_single)(const float* r, const float* norms, float norm, Rate<float> gamma, std::size_t n, double* k);
  void (*laplacian)(const double* r, Rate<double> gamma, std::size_t n, double* k);
  void (*laplacian_single)(const float* r, Rate<float> gamma, std::size_t n, double* k);
  void (*exponential)(double* r, std::size_t n);
  double (*sum_of_exponentials)(const double* v, double from, std::size_t n);  // sum_i exp(v_i - from)
  double (*softmax_terms)(const double* v, std::size_t n, double* out);  // out = exp(v - the largest v), and their sum
  void (*exponential_single)(float* r, std::size_t n);  // n: multiple of single_lanes; arguments up to 88
  // scale sin(r) and scale cos(r), to 3.5 ulp. r is padded to a multiple of the lane count (single_lanes for floats).
  void (*sine_cosine)(const double* r, double scale, std::size_t n, double* sine, double* cosine);
  void (*sine_cosine_single)(const float* r, float scale, std::size_t n, double* sine, double* cosine);
  // In-place Walsh-Hadamard transform; n is a power of 2.
  void (*hadamard)(double* v, std::size_t n);
  // Transposes eight rows; out is columns x out_stride.
  void (*transpose)(const double* x, std::size_t columns, double* out, std::size_t out_stride);
  void (*transpose_single)(const float* x, std::size_t columns, float* out, std::size_t out_stride);
  double (*dot)(const double* a, const double* b, std::size_t n);
  // rows_a += c_a x, then out_a = <rows_a, z>, for rows of n numbers; the bits of `add` and `dot`.
  void (*add_and_multiply)(const double* c, const double* x, double* const* rows, std::size_t count, std::size_t n,
                           const double* z, double* out);
  // add: y += c x. add_squares: y += x^2. scale: y *= c.
  void (*add)(double c, const double* x, double* y, std::size_t n);
  void (*add_single)(float c, const float* x, float* y, std::size_t n);
  void (*add_squares)(const double* x, double* y, std::size_t n);
  void (*scale)(double c, double* y, std::size_t n);
  // geometric_means: out = sqrt(a b), returns the sum. chances: p <- max(0, 1 - s p), returns the sum. scale_within:
  // alpha <- c alpha, clamped to the cap. rescale: alpha <- alpha / (1 - p / total), clamped to the cap. swap_costs:
  // out = a (b - k^2 / kxx). least: the smallest number.
  double (*geometric_means)(const double* a, const double* b, std::size_t n, double* out);
  double (*chances)(double s, double* p, std::size_t n);
  void (*scale_within)(double c, double cap, double* alpha, std::size_t n);
  void (*rescale)(const double* p, double total, double cap, double* alpha, std::size_t n);
  void (*swap_costs)(const double* a, const double* b, const double* k, double kxx, std::size_t n, double* out);
  double (*least)(const double* v, std::size_t n);
  // place_of_least: the first place of the smallest number, or n. distances: out = a + b - 2 k, infinity instead of
  // NaN.
  std::size_t (*place_of_least)(const double* v, std::size_t n);
  void (*distances)(double a, const double* b, const double* k, std::size_t n, double* out);
  // left -= row^2; distance = infinity where left <= share whole
  void (*leave)(const double* row, const double* whole, double share, std::size_t n, double* left, double* distance);
  // The slots for which something holds, in order, and how many. near: !(distance > reach). affected: place = t or
  // !(distance < now).
  std::size_t (*near)(const double* distance, double reach, std::size_t n, std::size_t* slots);
  std::size_t (*affected)(const double* now, const double* distance, const std::uint64_t* place, std::uint64_t t,
                          std::size_t n, std::size_t* slots);
  // The squared distances of x to the rows of a tile (columns x rows_in_tile), summed in column order without fused
  // multiply-add: equal bits on all instruction sets. Columns in which either is NaN count as 0 if `missing`. A
  // distance that is not below the bound may be left unfinished, which is not below it either. Returns a bit for each
  // row below the bound.
  std::uint64_t (*tile_distances)(const float* tile, const float* x, std::size_t columns, float bound, bool missing,
                                  float* out);
  // m += sign(alpha) (f + c k)
  void (*add_margins)(const double* alpha, const double* f, double c, const double* k, std::size_t n, double* m);
  // out <- out times the squared distance of r from the span of t and n; n does not count if it is in the span of t.
  // The distance is no less than its rounding error.
  void (*pair_costs)(Pairs k, double in_the_span, std::size_t n, double* out);
  // -L of partners, those with a positive product, and infinity of the others; returns whether there is a partner.
  bool (*partner_distances)(const double* product, const double* L, std::size_t n, double* out);
  // The costs of merging i with each partner j (merge.hpp), from a table of the best h, cells x cells. n is a multiple
  // of the lane count.
  void (*merge_costs)(const double* L, const double* jj, const double* ij, double ii, const double* table,
                      std::size_t cells, std::size_t n, double* cost);
  // y *= x
  void (*multiply)(const double* x, double* y, std::size_t n);
  // out <- out / (q + d^2 / delta2)
  void (*project_costs)(double* out, const double* q, const double* d, double delta2, std::size_t n);
  // y += c x^2
  void (*add_scaled_squares)(double c, const double* x, double* y, std::size_t n);
  // Up to eight rows W_a of a matrix, n numbers each. multiply_rows: v_a = <W_a, k>. project_rows: the same, then d +=
  // sum_a v_a W_a. add_rows: y += sum_a c_a W_a. add_to_rows: W_a += c_a v.
  void (*multiply_rows)(const double* W, std::size_t stride, std::size_t rows, std::size_t n, const double* k,
                        double* v);
  void (*project_rows)(const double* W, std::size_t stride, std::size_t rows, std::size_t n, const double* k, double* v,
                       double* d);
  void (*add_rows)(const double* c, const double* W, std::size_t stride, std::size_t rows, std::size_t n, double* y);
  void (*add_to_rows)(const double* c, const double* v, double* W, std::size_t stride, std::size_t rows, std::size_t n);
  // solve_lower: v = L^-1 k. solve_upper: d <- L'^-1 d. L is lower triangular, stored row after row; `inverse` holds
  // the reciprocals of its diagonal.
  void (*solve_lower)(const double* L, const double* inverse, const double* k, std::size_t n, double* v);
  void (*solve_upper)(const double* L, const double* inverse, std::size_t n, double* d);
  // The same in place for four right-hand sides, with the same bits as one by one.
  void (*solve_lower_together)(const double* L, const double* inverse, std::size_t n, const SolvedTogether& v);
  void (*solve_upper_together)(const double* L, const double* inverse, std::size_t n, const SolvedTogether& d);
  // P is symmetric, stored as in symmetric.hpp; all rows have n numbers. multiply: out_r = P z_r for `rows` rows of Z.
  // update_multiply: first P -= U'U, for `count` rows of U. The bits of a row do not depend on the others.
  void (*symmetric_multiply)(const double* P, std::size_t n, const double* Z, std::size_t rows, double* out);
  void (*symmetric_update_multiply)(double* P, std::size_t n, const double* U, std::size_t count, const double* Z,
                                    std::size_t rows, double* out);
  // g = p + (d + e) z - U'U z for up to eight rows of U; returns sum_i (d_i + e_i) z_i^2. All have m numbers, the rows
  // of U and z padded to n.
  double (*add_pending)(const double* U, std::size_t count, std::size_t n, const double* d, const double* e,
                        std::size_t m, const double* z, const double* p, double* g);
  // u = c g, with u_i^2 <= d_i; then d <- d - u^2 + drift, clamped to 0 .. most, and e += u^2.
  void (*observe)(double c, const double* g, double drift, double most, std::size_t m, double* u, double* d, double* e);
  // U D U' and its observation, as in unit_upper.hpp; n is a multiple of eight. multiply: f = U'z. update: U, D, and
  // before = U D f of the old U and D. Both in one pass give the same bits as one after the other.
  Observed (*upper_multiply)(const double* U, const double* D, std::size_t n, const double* z, double q, double* f);
  Observed (*upper_update)(double* U, double* D, std::size_t n, double q, double* f, double* before);
  Observed (*upper_multiply_update)(double* U, double* D, std::size_t n, const double* z, double q, double* f,
                                    double* before);
  // The cells of ferns, as in ferns.hpp; `members` is a multiple of the lane count.
  void (*fern_codes)(const double* x, const std::int32_t* columns, const double* thresholds, std::size_t members,
                     std::size_t depth, std::uint64_t* codes);
  // How many of n numbers are not above `most`.
  std::size_t (*count_up_to)(const double* v, double most, std::size_t n);
  // Of each column: its least and largest number, how many numbers are not NaN, and how many of these are not whole. A
  // number above 2^51 may count as either. Without numbers, the least is infinity.
  void (*extents)(const double* x, std::size_t rows, std::size_t columns, double* low, double* high, double* numbers,
                  double* fractions);
  // Entries of a table of cells, as in cells.hpp; there is room for whole lanes of `sums`, `steps` and r.
  void (*sum_cells)(const float* table, const std::size_t* entries, std::size_t count, std::size_t n, double* sums);
  void (*move_cells)(float* table, const std::size_t* entries, std::size_t count, std::size_t n, const double* steps,
                     double z, double q, double drift, double prior, double most);
  void (*uses_of_cells)(const float* table, const std::size_t* entries, std::size_t count, std::size_t n, double factor,
                        const double* r, double h, double* uses);
  // As in logits.hpp: the means over n classes of up to four rows of scores; a row centred, divided and clipped.
  void (*means)(const double* f, std::size_t stride, std::size_t rows, std::size_t n, double* out);
  void (*logits)(const double* f, double mean, double root, double most, std::size_t n, double* out);
};

// Buffers over support vectors are padded to a multiple of this many doubles.
inline constexpr std::size_t lanes = 8;
inline constexpr std::size_t single_lanes = 16;  // the same for floats
inline constexpr std::size_t rows_in_tile = 64;  // of tile_distances
// Float sums over features restart after every run of this many columns; the partial sums are added up separately.
inline constexpr std::size_t single_run = 128;
template <class T>
inline constexpr std::size_t lanes_of = sizeof(T) == sizeof(float) ? single_lanes : lanes;
// n rounded up to a multiple of the lane count.
template <class T>
constexpr std::size_t whole_lanes(std::size_t n) {
  return (n + lanes_of<T> - 1) / lanes_of<T> * lanes_of<T>;
}

inline const Loops* loops = nullptr;

template <class T>
const Reduction<T>& dot_product() {
  if constexpr (sizeof(T) == sizeof(float))
    return loops->dot_product_single;
  else
    return loops->dot_product_double;
}

template <class T>
const Reduction<T>& l1_distance() {
  if constexpr (sizeof(T) == sizeof(float))
    return loops->l1_distance_single;
  else
    return loops->l1_distance_double;
}

}  // namespace budgetron
