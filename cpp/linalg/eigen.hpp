// Eigendecomposition of a symmetric matrix by LAPACK's dsyevd. The pointer to the routine is set before a part that
// needs it is made.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace budgetron {

using Dsyevd = void (*)(char* jobz, char* uplo, int* n, double* a, int* lda, double* w, double* work, int* lwork,
                        int* iwork, int* liwork, int* info);
inline Dsyevd dsyevd = nullptr;

// On entry A is symmetric, n x n. On return row i of A is the eigenvector of the i-th eigenvalue, in ascending order.
// Returns false if the iteration did not converge, or if A has a NaN or infinite entry, for which LAPACK may write out
// of bounds.
inline bool symmetric_eigen(std::span<double> A, std::span<double> eigenvalues) {
  assert(dsyevd != nullptr && A.size() == eigenvalues.size() * eigenvalues.size());
  if (!std::all_of(A.begin(), A.end(), [](double a) { return std::isfinite(a); })) return false;
  char vectors = 'V', lower = 'L';
  int n = static_cast<int>(eigenvalues.size()), info = 0;
  int work_size = 1 + 6 * n + 2 * n * n, iwork_size = 3 + 5 * n;
  std::vector<double> work(static_cast<std::size_t>(work_size));
  std::vector<int> iwork(static_cast<std::size_t>(iwork_size));
  dsyevd(&vectors, &lower, &n, A.data(), &n, eigenvalues.data(), work.data(), &work_size, iwork.data(), &iwork_size,
         &info);
  return info == 0;
}

}  // namespace budgetron
