// Reductions over features, of many rows with many support vectors at once. Every sum runs in feature order with the
// same operations, so a single row, a block of rows and a sparse row give the same bits. Float sums restart after every
// 128 features, and the partial sums are added up, so that long rows stay accurate.
//
// A dot product may skip columns in which x is 0. Numbers are finite, so such a column adds 0 or -0, which changes no
// sum but -0. To that a fused multiply-add can only underflow, and it is stored as 0.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "simd/loops.hpp"
#include "simd/registers.hpp"

namespace budgetron {
namespace {

template <class T>
constexpr bool put_aside = sizeof(T) == sizeof(float);
template <class T>
constexpr std::size_t run = put_aside<T> ? single_run : 256;  // features per run; doubles keep one sum across runs

// The tile holds rows x groups registers of sums; the remaining registers hold support vectors.
#if defined(__AVX512F__)
constexpr std::size_t tile_rows = 8, tile_groups = 3;
#elif defined(__AVX__) || defined(__aarch64__)
constexpr std::size_t tile_rows = 4, tile_groups = 3;
#else
constexpr std::size_t tile_rows = 4, tile_groups = 2;
#endif
constexpr std::size_t row_groups = 8;  // registers of sums for a single row

// Columns of a run in which x is not 0; `places` is null for all columns.
struct Columns {
  std::size_t count;
  const std::uint8_t* places;
};

struct DotProduct {
  static constexpr bool of_norms = false;  // a column in which x or s is 0 adds nothing
  template <class V>
  static BUDGETRON_INLINE V dense(V x, V s, V sum) {
    return fused(x, s, sum);
  }
  template <class V>
  static BUDGETRON_INLINE V sparse(V x, V s, V sum) {
    return fused(x, s, sum);
  }
  template <class V>
  static BUDGETRON_INLINE V norm(V x, V sum) {
    return fused(x, x, sum);
  }
  template <class T>
  static T listed(T x, T s, T sum) {
    return fused(x, s, sum);
  }
};

// Where x_j = 0 the term is |s_j|, so a sparse x starts from |s|_1 and corrects the terms of its nonzeros.
struct L1Distance {
  static constexpr bool of_norms = true;
  template <class V>
  static BUDGETRON_INLINE V dense(V x, V s, V sum) {
    return sum + absolute(x - s);
  }
  template <class V>
  static BUDGETRON_INLINE V sparse(V x, V s, V sum) {
    return sum + (absolute(x - s) - absolute(s));
  }
  template <class V>
  static BUDGETRON_INLINE V norm(V x, V sum) {
    return sum + absolute(x);
  }
  template <class T>
  static T listed(T x, T s, T sum) {
    return sum + (absolute(x - s) - (absolute(x) + absolute(s)));
  }
  template <class T>
  static T absent(T norm) {
    return norm;
  }
  template <class T>
  static T apart(T norm, T other) {
    return norm + other;
  }
};

// One tile over columns of one run; continues the sums in r unless it is the first run.
template <class R, std::size_t rows, std::size_t groups, class T>
BUDGETRON_INLINE void tile(const T* x, std::size_t x_stride, Columns columns, const T* s, std::size_t stride,
                           bool first, T* r, std::size_t r_stride) {
  using Lanes = Lanes<T>;
  typename Lanes::Register sums[rows][groups] = {};
  if (!put_aside<T> && !first)
    for (std::size_t a = 0; a < rows; ++a)
      for (std::size_t g = 0; g < groups; ++g) sums[a][g] = Lanes::load(r + a * r_stride + g * Lanes::width);
  const auto add_column = [&](const T* x_j, const T* s_j) {
    typename Lanes::Register v[groups];  // with one x_a they fill the registers; the x_a of all rows would not fit
    for (std::size_t g = 0; g < groups; ++g) v[g] = Lanes::load(s_j + g * Lanes::width);
    for (std::size_t a = 0; a < rows; ++a) {
      const auto x_a = Lanes::all(x_j[a]);
      for (std::size_t g = 0; g < groups; ++g) sums[a][g] = R::dense(x_a, v[g], sums[a][g]);
    }
  };
  if (R::of_norms || columns.places == nullptr)
    for (std::size_t j = 0; j < columns.count; ++j, x += x_stride, s += stride) add_column(x, s);
  else
    for (std::size_t i = 0; i < columns.count; ++i)
      add_column(x + columns.places[i] * x_stride, s + columns.places[i] * stride);
  for (std::size_t a = 0; a < rows; ++a)
    for (std::size_t g = 0; g < groups; ++g) {
      T* at = r + a * r_stride + g * Lanes::width;
      store(at, (put_aside<T> && !first ? Lanes::load(at) : typename Lanes::Register{}) + sums[a][g]);
    }
}

// Covers n support vectors: use.template operator()<groups>(b) handles the `groups` registers that start at b. The
// remainder is covered at once, because few registers mean long dependency chains.
template <std::size_t groups, class T, class Use>
BUDGETRON_INLINE void cover(std::size_t n, Use use, std::size_t b = 0) {
  constexpr std::size_t step = groups * Lanes<T>::width;
  for (; b + step <= n; b += step) use.template operator()<groups>(b);
  if constexpr (groups > 1) cover<groups - 1, T>(n, use, b);
}

// One bit for each of `rows` numbers, set if it is not 0.
template <std::size_t rows, class T>
BUDGETRON_INLINE std::uint32_t nonzeros(const T* x) {
  if constexpr (rows == 1) return *x != 0;
  std::uint32_t found = 0;
  for (std::size_t a = 0; a + width <= rows; a += width) found |= bits(load_doubles(x + a) != Doubles{}) << a;
  return found;
}

// The columns of a run that matter to `rows` rows.
template <class R, std::size_t rows>
class Used {
 public:
  // Looks for columns of zeros where they would save much, if the rows seem to be mostly zeros.
  template <class T>
  BUDGETRON_INLINE void find(const T* x, std::size_t x_stride, std::size_t features, std::size_t n) {
    all_ = count_ = features;
    differ_ = false;
    if (R::of_norms || n < 32 || features < 16 || !mostly_zeros(x, x_stride)) return;
    std::size_t numbers = 0;
    count_ = 0;
    for (std::size_t j = 0; j < features; ++j, x += x_stride) {
      const std::uint32_t found = nonzeros<rows>(x);
      places_[count_] = static_cast<std::uint8_t>(j);
      count_ += found != 0;
      numbers += static_cast<std::size_t>(std::popcount(found));
    }
    differ_ = n >= 256 && 4 * numbers < rows * count_;
  }
  // A list of columns has a price, so a few zeros are visited.
  Columns columns() const { return 8 * count_ < 7 * all_ ? Columns{count_, places_} : Columns{all_, nullptr}; }
  // Whether the rows have so few columns in common that they are faster one by one.
  bool differ() const { return differ_; }

 private:
  // Whether at least half the numbers in a few of the columns are 0.
  template <class T>
  BUDGETRON_INLINE bool mostly_zeros(const T* x, std::size_t x_stride) const {
    constexpr std::size_t looks = rows == 1 ? 8 : 4;
    std::size_t found = 0;
    for (std::size_t i = 1; i <= looks; ++i)
      found += static_cast<std::size_t>(std::popcount(nonzeros<rows>(x + (i * all_ / looks - 1) * x_stride)));
    return 2 * found <= looks * rows;
  }

  std::size_t all_, count_;
  bool differ_;
  std::uint8_t places_[256];
};

// r_b = reduction of (x, s_b), over the features of one run.
template <class R, class T>
void one_row(const T* x, std::size_t x_stride, std::size_t features, const T* s, std::size_t stride, std::size_t n,
             bool first, T* r) {
  Used<R, 1> used;
  used.find(x, x_stride, features, n);
  const Columns columns = used.columns();
  cover<row_groups, T>(n, [&]<std::size_t groups>(std::size_t b) {
    tile<R, 1, groups>(x, x_stride, columns, s + b, stride, first, r + b, 0);
  });
}

// The same for up to `most_rows` rows: whole tiles where rows have columns in common, otherwise one by one.
constexpr std::size_t most_rows = 8 * tile_rows;
template <class R, class T>
void some_rows(const T* x, std::size_t x_stride, std::size_t rows, std::size_t features, const T* s, std::size_t stride,
               std::size_t n, bool first, T* r, std::size_t r_stride) {
  Used<R, tile_rows> used[most_rows / tile_rows];
  std::size_t tiles[most_rows / tile_rows], count = 0;  // the first rows of the tiles
  for (std::size_t a = 0; a < rows; a += tile_rows) {
    const bool whole = a + tile_rows <= rows;
    if (whole) used[count].find(x + a, x_stride, features, n);
    if (whole && !used[count].differ())
      tiles[count++] = a;
    else
      for (std::size_t b = a; b < std::min(a + tile_rows, rows); ++b)
        one_row<R>(x + b, x_stride, features, s, stride, n, first, r + b * r_stride);
  }
  cover<tile_groups, T>(n, [&]<std::size_t groups>(std::size_t b) {
    for (std::size_t t = 0; t < count; ++t)
      tile<R, tile_rows, groups>(x + tiles[t], x_stride, used[t].columns(), s + b, stride, first,
                                 r + tiles[t] * r_stride + b, r_stride);
  });
}

// r_ab = reduction of (x_a, s_b). Both sides are feature-major, so a single row is a block of stride 1.
template <class R, class T>
void block(const T* x, std::size_t x_stride, std::size_t rows, std::size_t columns, const T* s, std::size_t stride,
           std::size_t n, T* r, std::size_t r_stride) {
  for (std::size_t j = 0; j < columns; j += run<T>) {
    const std::size_t features = std::min(run<T>, columns - j);
    const T *x_j = x + j * x_stride, *s_j = s + j * stride;
    if (rows == 1) {
      one_row<R>(x_j, x_stride, features, s_j, stride, n, j == 0, r);
      continue;
    }
    for (std::size_t a = 0; a < rows; a += most_rows)
      some_rows<R>(x_j + a, x_stride, std::min(most_rows, rows - a), features, s_j, stride, n, j == 0, r + a * r_stride,
                   r_stride);
  }
}

// The norms of all rows of a feature-major block.
template <class R, class T>
void norms(const T* x, std::size_t x_stride, std::size_t rows, std::size_t columns, T* norms) {
  using Lanes = Lanes<T>;
  for (std::size_t a = 0; a < rows; a += Lanes::width) {
    typename Lanes::Register total{};
    for (std::size_t j = 0; j < columns;) {
      const std::size_t end = std::min(columns, j + run<T>);
      typename Lanes::Register sum = put_aside<T> ? typename Lanes::Register{} : total;
      for (; j < end; ++j) sum = R::norm(Lanes::load(x + j * x_stride + a), sum);
      total = put_aside<T> ? total + sum : sum;
    }
    store(norms + a, total);
  }
}

// Calls use(begin, end) for the nonzeros of each run of columns in turn; doubles have a single run.
template <class T, class Use>
BUDGETRON_INLINE void each_run(const std::int32_t* indices, std::size_t nonzeros, Use use) {
  if (!put_aside<T>) return use(std::size_t{0}, nonzeros);
  for (std::size_t begin = 0, end = 0; begin < nonzeros; begin = end) {
    const auto limit = (static_cast<std::size_t>(indices[begin]) / run<T> + 1) * run<T>;
    while (end < nonzeros && static_cast<std::size_t>(indices[end]) < limit) ++end;
    use(begin, end);
  }
}

template <class R, class T>
T sparse_norm(const T* x, const std::int32_t* indices, std::size_t nonzeros) {
  T total = 0;
  each_run<T>(indices, nonzeros, [&](std::size_t begin, std::size_t end) {
    T sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum = R::norm(x[i], sum);
    total += sum;
  });
  return total;
}

template <class R, class T>
T norm(const T* x, std::size_t columns) {
  T total = 0;
  for (std::size_t j = 0; j < columns;) {
    const std::size_t end = std::min(columns, j + run<T>);
    T sum = put_aside<T> ? T{0} : total;
    for (; j < end; ++j) sum = R::norm(x[j], sum);
    total = put_aside<T> ? total + sum : sum;
  }
  return total;
}

// column(i) are the values of the support vectors in the column of nonzero i.
template <class R, std::size_t groups, class T, class Column>
BUDGETRON_INLINE void sparse_tile(const T* x, const std::int32_t* indices, std::size_t nonzeros, Column column, T* r) {
  using Lanes = Lanes<T>;
  typename Lanes::Register totals[groups] = {};
  each_run<T>(indices, nonzeros, [&](std::size_t begin, std::size_t end) {
    typename Lanes::Register sums[groups] = {};
    for (std::size_t i = begin; i < end; ++i) {
      const auto v = Lanes::all(x[i]);
      const T* at = column(i);
      for (std::size_t g = 0; g < groups; ++g) sums[g] = R::sparse(v, Lanes::load(at + g * Lanes::width), sums[g]);
    }
    for (std::size_t g = 0; g < groups; ++g) totals[g] += sums[g];
  });
  for (std::size_t g = 0; g < groups; ++g) store(r + g * Lanes::width, totals[g]);
}

template <class R, class T>
void sparse(const T* x, const std::int32_t* indices, std::size_t nonzeros, const T* s, std::size_t stride,
            std::size_t n, const T* norms, T* r) {
  const auto some = [&]<std::size_t groups>(std::size_t b) {
    const auto column = [&](std::size_t i) { return s + b + static_cast<std::size_t>(indices[i]) * stride; };
    sparse_tile<R, groups>(x, indices, nonzeros, column, r + b);
  };
  cover<row_groups, T>(n, some);
  if constexpr (R::of_norms)
    for (std::size_t k = 0; k < n; ++k) r[k] += R::absent(norms[k]);
}

// The dot products of a sparse x with support vectors whose columns are anywhere in memory.
template <class T>
void scattered(const T* x, const std::int32_t* indices, std::size_t nonzeros, const T* const* columns, std::size_t n,
               T* r) {
  const auto some = [&]<std::size_t groups>(std::size_t b) {
    const auto column = [&](std::size_t i) { return columns[i] + b; };
    sparse_tile<DotProduct, groups>(x, indices, nonzeros, column, r + b);
  };
  cover<row_groups, T>(n, some);
}

// If x and s share no column, the reduction is apart(|x|, |s|), or 0; the lists add the correction for shared columns.
template <class R, class T>
void listed(const T* x, const std::int32_t* indices, std::span<const std::span<const Listed<T>>> lists, T norm,
            const T* norms, std::span<T> r) {
  std::vector<T> sums;  // of the second run, and of those after it
  each_run<T>(indices, lists.size(), [&](std::size_t begin, std::size_t end) {
    if (begin > 0) sums.resize(r.size());
    T* const sum = begin == 0 ? r.data() : sums.data();
    std::size_t visits = 0;
    for (std::size_t i = begin; i < end; ++i) {
      visits += lists[i].size();
      for (const Listed<T>& s : lists[i]) sum[s.slot] = R::listed(x[i], s.value, sum[s.slot]);
    }
    if (begin == 0) return;
    if (visits * Lanes<T>::width > r.size()) {  // one pass over all is faster than the lists again
      for (std::size_t k = 0; k < r.size(); ++k) r[k] += std::exchange(sum[k], T{0});
    } else {
      for (std::size_t i = begin; i < end; ++i)
        for (const Listed<T>& s : lists[i]) r[s.slot] += std::exchange(sum[s.slot], T{0});
    }
  });
  for (std::size_t k = 0; k < r.size(); ++k) {
    if constexpr (R::of_norms)
      r[k] += R::apart(norm, norms[k]);
    else
      r[k] += T{0};  // -0 becomes 0
  }
}

}  // namespace
}  // namespace budgetron
