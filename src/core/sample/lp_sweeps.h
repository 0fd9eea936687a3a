// The passes over the data that the l_p median is made of, for any p.
#pragma once

#include <vector>

#include "core/sample/lp.h"
#include "core/sample/lp_column.h"
#include "medgrad/thread_pool.h"

namespace medgrad::estimators {

using Places = std::vector<Place>;

class LpSweeps {
 public:
  LpSweeps(const LpProblem& problem, double p)
      : problem_(problem), n_(problem.n), d_(problem.d), chunks_(chunks_for(problem.d)), p_(p) {}

  // |z - x_i|_p.
  [[nodiscard]] std::vector<double> norms(const Places& z) const;
  // The same in one pass, from numbers of about their size.
  [[nodiscard]] std::vector<double> norms(const Places& z, std::span<const double> units) const;
  // z(N): every column of `z`, which is a guess, goes to where the pulls balance.
  void balance(std::span<const double> units, Places& z) const;
  // The lower triangle of  sum_j s_ij s_kj / H_j  with  s_ij = sign(v) (|v|/N_i)^(p-1),
  // H_j = sum_i omega_i (p-1) (|v|/N_i)^(p-2) / N_i: how N_k moves z and z moves |z - x_i|.
  [[nodiscard]] std::vector<double> coupling(std::span<const double> units, const Places& z) const;
  // |g|_q, 1/p + 1/q = 1, for the gradient g of sum omega_i |z - x_i|_p at z = x_k, rows at
  // distance zero left out.
  [[nodiscard]] double pull(const Places& z, const std::vector<double>& norms) const;
  // A lower bound of the objective from near its minimiser.
  [[nodiscard]] double dual_bound(const Places& z, const std::vector<double>& norms) const;

 private:
  template <class Add>
  [[nodiscard]] std::vector<double> sum_columns(std::size_t slots, Add&& add) const;
  void differences(std::size_t j, const Place& z, double* v) const;
  void signed_powers(const double* v, std::span<const double> units, double a, double* out) const;

  const LpProblem& problem_;
  std::size_t n_, d_;
  Chunks chunks_;
  double p_;
};

}  // namespace medgrad::estimators
