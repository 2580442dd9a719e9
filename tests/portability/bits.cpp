// Prints a hash of the bits that each loop computes, and of random and decimal numbers. On processors with fused
// multiply-add the lines must be those of AVX2, on others those of the x86-64 baseline. `make cross` compares them.
// Sums named "by width" run over the lanes of a register: their order, and so their bits, follow its width. What is
// named "by table" has other bits with AVX-512, which has sines and powers of 2 in tables.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "input/decimal.hpp"
#include "simd/instruction_sets.hpp"
#include "simd/loops.hpp"
#include "state/random.hpp"

namespace budgetron {
namespace {

template <class T>
void print(const char* name, const std::vector<T>& values) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const T& value : values) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
  }
  std::printf("%-24s %08lx%08lx\n", name, static_cast<unsigned long>(hash >> 32),
              static_cast<unsigned long>(hash & 0xffffffffu));
}

template <class T>
std::vector<T> numbers(std::size_t n, double low, double high, Counter seed) {
  Random random(seed);
  std::vector<T> out(n);
  for (T& v : out) v = static_cast<T>(low + (high - low) * random.uniform());
  return out;
}

// Every function of a reduction, on rows of d features and n support vectors.
template <class T>
void reductions(const std::string& name, const Reduction<T>& reduction) {
  constexpr std::size_t rows = 32, n = 48, d = 301;
  const std::vector<T> x = numbers<T>(d * rows, -2, 3, 1), s = numbers<T>(d * n, -2, 3, 2);
  std::vector<T> norms(n), r(rows * n);
  reduction.norms(s.data(), n, n, d, norms.data());
  print((name + " norms").c_str(), norms);
  reduction.block(x.data(), rows, rows, d, s.data(), n, n, r.data(), n);
  print((name + " block").c_str(), r);
  print((name + " norm").c_str(), std::vector<T>{reduction.norm(x.data(), d)});
  std::vector<std::int32_t> indices;
  for (std::int32_t j = 0; j < static_cast<std::int32_t>(d); j += 3) indices.push_back(j);
  std::vector<T> sparse(n);
  reduction.sparse(x.data(), indices.data(), indices.size(), s.data(), n, n, norms.data(), sparse.data());
  print((name + " sparse").c_str(), sparse);
  print((name + " sparse norm").c_str(),
        std::vector<T>{reduction.sparse_norm(x.data(), indices.data(), indices.size())});
}

void kernels() {
  constexpr std::size_t n = 4096;
  const auto r = numbers<double>(n, -1, 40, 3), norms = numbers<double>(n, 0, 60, 4);
  const auto r_single = numbers<float>(n, -1, 40, 3), norms_single = numbers<float>(n, 0, 60, 4);
  std::vector<double> k(n);
  loops->gaussian(r.data(), norms.data(), 31.5, Rate<double>(0.3), n, k.data());
  print("by table: gaussian", k);
  loops->gaussian_single(r_single.data(), norms_single.data(), 31.5f, Rate<float>(0.3f), n, k.data());
  print("gaussian single", k);
  loops->laplacian(r.data(), Rate<double>(0.3), n, k.data());
  print("by table: laplacian", k);
  loops->laplacian_single(r_single.data(), Rate<float>(0.3f), n, k.data());
  print("laplacian single", k);
  auto exponents = numbers<double>(n, -750, 709, 5);
  loops->exponential(exponents.data(), n);
  print("exponential", exponents);
  const auto logits = numbers<double>(n - 3, -20, 8, 5);
  print("sum of exponentials", std::vector<double>{loops->sum_of_exponentials(logits.data(), 2.5, logits.size())});
  std::vector<double> terms(logits.size());
  terms.push_back(loops->softmax_terms(logits.data(), logits.size(), terms.data()));
  print("softmax terms", terms);
  auto exponents_single = numbers<float>(n, -110, 88, 5);
  loops->exponential_single(exponents_single.data(), n);
  print("exponential single", exponents_single);
}

void angles() {
  constexpr std::size_t n = 4096;
  std::vector<double> sine(n), cosine(n);
  for (const double most : {4.0, 6e3, 1.5e6, 1e9, 1e300}) {
    const auto r = numbers<double>(n, -most, most, 6);
    loops->sine_cosine(r.data(), 0.7, n, sine.data(), cosine.data());
    print(("by table: sine up to " + std::to_string(static_cast<long long>(most < 1e18 ? most : 1e18))).c_str(), sine);
    print("by table: cosine", cosine);
  }
  for (const float most : {4.0f, 6e3f, 1e30f}) {
    const auto r = numbers<float>(n, -most, most, 6);
    loops->sine_cosine_single(r.data(), 0.7f, n, sine.data(), cosine.data());
    const std::string far = most > 1e9f ? "by table: " : "";  // angles that are turned in double precision
    print((far + "sine single").c_str(), sine);
    print((far + "cosine single").c_str(), cosine);
  }
}

void vectors() {
  constexpr std::size_t n = 1003, padded = 1008;
  const auto a = numbers<double>(padded, -2, 3, 7), b = numbers<double>(padded, 0.1, 3, 8);
  print("dot", std::vector<double>{loops->dot(a.data(), b.data(), n)});
  auto y = b;
  loops->add(0.3, a.data(), y.data(), n);
  loops->add_squares(a.data(), y.data(), n);
  loops->add_scaled_squares(0.7, a.data(), y.data(), n);
  loops->multiply(b.data(), y.data(), n);
  loops->scale(1.1, y.data(), n);
  print("add, multiply, scale", y);
  double* rows[] = {y.data(), y.data() + n / 2};
  double of_rows[2];
  loops->add_and_multiply(a.data(), b.data(), rows, 2, n / 2, a.data(), of_rows);
  print("add and multiply", y);
  print("products of moved rows", std::vector<double>(of_rows, of_rows + 2));
  std::vector<double> out(padded);
  print("by width: roots", std::vector<double>{loops->geometric_means(b.data(), y.data(), padded, out.data())});
  print("least", std::vector<double>{loops->least(a.data(), n)});
  loops->swap_costs(a.data(), b.data(), y.data(), 1.7, padded, out.data());
  print("swap costs", out);
  loops->distances(1.3, a.data(), b.data(), n, out.data());
  print("distances", out);
  const auto tile = numbers<float>(29 * rows_in_tile, -2, 3, 18), x = numbers<float>(29, -2, 3, 19);
  std::vector<float> squared(2 * rows_in_tile);
  for (const bool missing : {false, true})
    loops->tile_distances(tile.data(), x.data(), 29, 1e30f, missing, squared.data() + (missing ? rows_in_tile : 0));
  print("tile distances", squared);
  std::vector<std::size_t> slots(n);
  std::vector<std::uint64_t> places(n);
  for (std::size_t i = 0; i < n; ++i) places[i] = i % 7;
  slots.resize(loops->near(a.data(), 0.5, n, slots.data()));
  slots.push_back(loops->place_of_least(a.data(), n));
  const auto wide = [](const auto& v) { return std::vector<std::uint64_t>(v.begin(), v.end()); };  // on 32 bits as well
  print("near, place of least", wide(slots));
  slots.resize(n);
  slots.resize(loops->affected(b.data(), a.data(), places.data(), 3, n, slots.data()));
  print("affected", wide(slots));
  const bool any = loops->partner_distances(a.data(), b.data(), n, out.data());
  out.push_back(any ? 1 : 0);
  print("partners", out);
  constexpr std::size_t m = 125;
  std::vector<double> products(8);
  loops->multiply_rows(a.data(), m, 8, m, b.data(), products.data());
  print("by width: multiply rows", products);
  auto transformed = numbers<double>(1024, -1, 1, 9);
  loops->hadamard(transformed.data(), 1024);
  print("hadamard", transformed);
  std::vector<double> transposed(8 * 29);
  loops->transpose(a.data(), 29, transposed.data(), 8);
  print("transpose", transposed);
}

void factors() {
  constexpr std::size_t n = 40;
  std::vector<double> L, inverse(n), k = numbers<double>(n, -1, 1, 10), v(n);
  const auto entries = numbers<double>(n * n, -0.2, 0.2, 11);
  for (std::size_t i = 0; i < n; ++i) {
    L.insert(L.end(), entries.begin() + static_cast<std::ptrdiff_t>(i * n),
             entries.begin() + static_cast<std::ptrdiff_t>(i * n + i));
    L.push_back(1.5);
    inverse[i] = 1 / 1.5;
  }
  loops->solve_lower(L.data(), inverse.data(), k.data(), n, v.data());
  print("by width: solve lower", v);
  loops->solve_upper(L.data(), inverse.data(), n, v.data());
  print("by width: solve upper", v);
  std::vector<double> projected(8), d(n);
  loops->project_rows(entries.data(), n, 8, n, k.data(), projected.data(), d.data());
  print("by width: project rows", d);
}

void ferns() {
  constexpr std::size_t members = whole_lanes<double>(100), depth = 14;
  const auto x = numbers<double>(10, -1, 1, 13), thresholds = numbers<double>(members * depth, -1, 1, 14);
  std::vector<std::int32_t> columns;
  for (const double column : numbers<double>(members * depth, 0, 10, 15))
    columns.push_back(static_cast<std::int32_t>(column));
  std::vector<std::uint64_t> codes(members);
  loops->fern_codes(x.data(), columns.data(), thresholds.data(), members, depth, codes.data());
  print("fern codes", codes);
}

void cells() {
  constexpr std::size_t count = 60;
  for (const std::size_t n : {1, 2, 3, 7, 8, 11, 40}) {
    auto table = numbers<float>(count * (n + 1), 0, 2, 20);
    const auto steps = numbers<double>(whole_lanes<double>(n), -2, 2, 21);
    std::vector<std::size_t> entries;
    for (std::size_t i = 0; i < count; ++i) entries.push_back(i * 7 % count * (n + 1));
    entries.push_back(entries.back());  // an entry may come twice
    std::vector<double> sums(whole_lanes<double>(n + 1)), uses(count);
    loops->sum_cells(table.data(), entries.data(), entries.size(), n + 1, sums.data());
    sums.resize(n + 1);
    print("sums of cells", sums);
    loops->move_cells(table.data(), entries.data(), entries.size(), n, steps.data(), 0.3, 0.7, 1e-3, 1.9, 2.0);
    print("moved cells", table);
    loops->uses_of_cells(table.data(), entries.data(), count, n, 0.3, steps.data(), 0.1, uses.data());
    print("uses of cells", uses);
  }
  const auto scores = numbers<double>(4 * 39, -30, 30, 23);
  std::vector<double> means(4), logits(39);
  loops->means(scores.data(), 39, 4, 37, means.data());
  loops->logits(scores.data(), means[1], 3, 8, 39, logits.data());
  print("means", means);
  print("logits", logits);
  print("up to", std::vector<double>{static_cast<double>(loops->count_up_to(scores.data(), 1, 39))});
  constexpr std::size_t rows = 20, columns = 29;
  const auto x = numbers<double>(rows * columns, -2, 3, 22);
  std::vector<double> low(columns), high(columns), present(columns), fractions(columns);
  loops->extents(x.data(), rows, columns, low.data(), high.data(), present.data(), fractions.data());
  for (const auto& of_columns : {low, high, present, fractions}) print("extents", of_columns);
}

void others() {
  print("random", numbers<double>(1000, 0, 1, 12));
  std::vector<double> read;
  for (const char* text : {"0.1 ", "9007199254740993 ", "2.2250738585072011e-308 ", "1.7976931348623158e308 ",
                           "5e-324 ", "123456789012345678901234567890e-25 ", "2.4e-324 ", "1e400 "}) {
    double value = -1;
    for (const Parse parser : {parse, parse_by_strtod}) {
      if (read_decimal(text, value, parser) == nullptr) value = -1;
      read.push_back(value);
    }
  }
  print("decimals", read);
}

}  // namespace
}  // namespace budgetron

// The instruction set to use, by default the widest.
int main(int argc, char** argv) {
  using namespace budgetron;
  if (!choose_loops(argc > 1 ? argv[1] : "")) return 1;
  reductions("dot product", loops->dot_product_double);
  reductions("dot product single", loops->dot_product_single);
  reductions("l1 distance", loops->l1_distance_double);
  reductions("l1 distance single", loops->l1_distance_single);
  kernels();
  angles();
  vectors();
  factors();
  ferns();
  cells();
  others();
}
