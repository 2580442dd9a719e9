// Bindings: parts of the core that tests and benchmarks check on their own. No arithmetic here.
#include <algorithm>
#include <optional>

#include "input/decimal.hpp"
#include "linalg/box_qp.hpp"
#include "linalg/gram.hpp"
#include "python/bind.hpp"
#include "simd/loops.hpp"
#include "state/random.hpp"

namespace budgetron {
namespace {

NewArray<double> exponentials(const Array1<double>& x) {
  std::vector<double> out(aligned(x), aligned(x) + x.size());
  out.resize((x.size() + lanes - 1) / lanes * lanes);
  loops->exponential(out.data(), out.size());
  out.resize(x.size());
  return array(std::move(out), {x.size()});
}

NewArray<float> exponentials_single(const Array1<float>& x) {
  std::vector<float> out(aligned(x), aligned(x) + x.size());
  out.resize((x.size() + single_lanes - 1) / single_lanes * single_lanes);
  loops->exponential_single(out.data(), out.size());
  out.resize(x.size());
  return array(std::move(out), {x.size()});
}

// Two rows: sines and cosines.
NewArray<double> sines_cosines(const Array1<double>& x, double scale) {
  std::vector<double> r(aligned(x), aligned(x) + x.size()), out(2 * x.size());
  r.resize((x.size() + lanes - 1) / lanes * lanes);
  loops->sine_cosine(r.data(), scale, x.size(), out.data(), out.data() + x.size());
  return array(std::move(out), {2, x.size()});
}

NewArray<double> sines_cosines_single(const Array1<float>& x) {
  std::vector<float> r(aligned(x), aligned(x) + x.size());
  std::vector<double> out(2 * x.size());
  r.resize((x.size() + single_lanes - 1) / single_lanes * single_lanes);
  loops->sine_cosine_single(r.data(), 1, x.size(), out.data(), out.data() + x.size());
  return array(std::move(out), {2, x.size()});
}

// The Gram matrix in a square array.
Gram gram(const Matrix<double>& Q) {
  Gram out;
  for (std::size_t i = 0; i < Q.shape(0); ++i) {
    const double* row = aligned(Q) + i * Q.shape(1);
    out.append({row, i}, row[i]);
  }
  return out;
}

using BoxQPMethod = Vector (BoxQP::*)(const Gram&, Vector, Vector, Vector);

template <BoxQPMethod method>
NewArray<double> box_qp(const Matrix<double>& Q, const Array1<double>& q, const Array1<double>& lo,
                        const Array1<double>& hi) {
  const std::size_t n = q.size();
  if (Q.shape(0) != n || Q.shape(1) != n || lo.size() != n || hi.size() != n)
    throw nb::value_error("box_qp: Q, q, lo and hi differ in length.");
  BoxQP qp;
  const Vector x = (qp.*method)(gram(Q), view(q), view(lo), view(hi));
  return array(std::vector<double>(x.begin(), x.end()), {n});
}

// The dot products of all rows of X with all rows of S, both feature-major, in the precision of T.
template <class T>
NewArray<T> products(const Matrix<T>& X, const Matrix<T>& S) {
  if (X.shape(0) != S.shape(0) || X.shape(1) % lanes_of<T> != 0 || S.shape(1) % lanes_of<T> != 0)
    throw nb::value_error("products: rows must be feature-major, as many features in both, and whole lanes of them.");
  const std::size_t rows = X.shape(1), n = S.shape(1);
  std::vector<T> r(rows * n);
  dot_product<T>().block(aligned(X), rows, rows, X.shape(0), aligned(S), n, n, r.data(), n);
  return array(std::move(r), {rows, n});
}

// The number that the text is, if it is one.
std::optional<double> decimal(const nb::bytes& text, bool by_strtod) {
  double value;
  const char* const end = read_decimal(text.c_str(), value, by_strtod ? parse_by_strtod : parse);
  return end == text.c_str() + text.size() ? std::optional(value) : std::nullopt;
}

NewArray<double> uniforms(Counter seed, std::size_t n, Counter stream) {
  Random random(seed, stream);
  std::vector<double> out(n);
  for (double& u : out) u = random.uniform();
  return array(std::move(out), {n});
}

}  // namespace

void bind_for_tests(nb::module_& m) {
  m.def("box_qp", &box_qp<&BoxQP::solve>, "Q"_a, "q"_a, "lo"_a, "hi"_a,
        "The minimiser of x'Qx/2 - q'x over lo <= x <= hi, as the exact projection computes it.");
  m.def("box_qp_by_descent", &box_qp<&BoxQP::solve_by_descent>, "Q"_a, "q"_a, "lo"_a, "hi"_a,
        "The same by the method that it falls back on.");
  m.def("exponentials", &exponentials, "x"_a, "exp of every number, as merging computes it.");
  m.def("exponentials_single", &exponentials_single, "x"_a.noconvert(), "The same in single precision.");
  m.def("sines_cosines", &sines_cosines, "x"_a, "scale"_a = 1,
        "Two rows, sin and cos of every number times the scale, as the maps compute them.");
  m.def("sines_cosines_single", &sines_cosines_single, "x"_a.noconvert(), "The same in single precision.");
  m.def("products", &products<double>, "X"_a.noconvert(), "S"_a.noconvert(),
        "X' S as the kernels compute it, for features x rows in X and in S.");
  m.def("products_single", &products<float>, "X"_a.noconvert(), "S"_a.noconvert(), "The same in single precision.");
  m.def("decimal", &decimal, "text"_a, "by_strtod"_a,
        "The number that the text is, or None. by_strtod: in the way of platforms without from_chars.");
  m.def("uniforms", &uniforms, "seed"_a, "n"_a, "stream"_a = 0, "The first n numbers of the generator on a seed.");
}

}  // namespace budgetron
