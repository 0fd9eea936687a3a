// Newton's method in the n norms.
//
// With  |v|_p = min_N (|v|_p^p N^(1-p) + (p-1) N) / p  the problem becomes  min_N phi(N),
//
//     phi(N) = min_z sum_i omega_i (|z - x_i|_p^p N_i^(1-p) + (p-1) N_i) / p,
//
// and for given N every column of z is a problem in one unknown. phi is convex and smooth away from
// N_i = 0, has the derivatives  omega_i (p-1)/p (1 - alpha_i),  alpha_i = (|z - x_i|_p / N_i)^p,
// and its Hessian follows by implicit differentiation. The plain iteration N <- |z - x_i|_p
// decreases phi always (it is the analogue of Weiszfeld's) and steps in where Newton does not.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/sample/lp.h"
#include "medgrad/thread_pool.h"

namespace medgrad::sample {
namespace {

constexpr std::size_t kMostNewtonRows = 512;

class Solver {
 public:
  explicit Solver(const LpProblem& problem)
      : problem_(problem),
        n_(problem.n),
        d_(problem.d),
        chunks_(chunks_for(problem.d)),
        p_(problem.p),
        total_(std::accumulate(problem.weights.begin(), problem.weights.end(), 0.0)),
        tested_(n_) {}

  LpSolution run();
  [[nodiscard]] std::vector<double> norms(const std::vector<double>& z) const;

 private:
  struct State {
    std::vector<double> units, z, norms, residual;  // N; z(N); |z - x_i|_p; log(norm / N)
    double phi = 0, worst = 0;                      // worst = max |residual|
  };

  [[nodiscard]] double x(std::size_t i, std::size_t j) const { return problem_.points[i * d_ + j]; }
  // Sums over columns: add(j, sums, scratch) for each column, `slots` sums, chunks in index order;
  // scratch has room for n numbers.
  template <class Add>
  [[nodiscard]] std::vector<double> sum_columns(std::size_t slots, Add&& add) const;
  [[nodiscard]] State at_units(std::vector<double> units, const std::vector<double>& guess) const;
  [[nodiscard]] std::vector<double> pull(const std::vector<double>& z,
                                         const std::vector<double>& norms) const;
  [[nodiscard]] double dual_norm(const std::vector<double>& g) const;
  [[nodiscard]] bool optimal_row(std::size_t k);
  [[nodiscard]] bool newton_units(const State& s, std::vector<double> h, double damping,
                                  std::vector<double>& units) const;
  [[nodiscard]] std::vector<double> coupling(const State& s) const;
  [[nodiscard]] bool newton_step(State& s) const;
  [[nodiscard]] LpSolution finish(const State& s, int iterations, Stop stop) const;
  [[nodiscard]] LpSolution at_row(std::size_t k, int iterations) const;

  const LpProblem& problem_;
  std::size_t n_, d_;
  Chunks chunks_;
  double p_, total_;
  std::vector<bool> tested_;  // rows that are known not to be optimal
  double slack_ = 0;
};

template <class Add>
std::vector<double> Solver::sum_columns(std::size_t slots, Add&& add) const {
  // A few runs of chunks, so that an n x n matrix per run stays affordable.
  const std::size_t runs = std::min<std::size_t>(chunks_.count, slots > 65536 ? 4 : 32);
  std::vector<double> parts(runs * slots);
  for_each(problem_.pool, runs, [&](std::size_t run) {
    double* const sums = parts.data() + run * slots;
    std::vector<double> scratch(n_);
    for (std::size_t c = run * chunks_.count / runs; c < (run + 1) * chunks_.count / runs; ++c) {
      for (std::size_t j = chunks_.begin(c); j < chunks_.end(c); ++j) add(j, sums, scratch.data());
    }
  });
  std::vector<double> sums(slots);
  for (std::size_t run = 0; run < runs; ++run) {
    for (std::size_t s = 0; s < slots; ++s) sums[s] += parts[run * slots + s];
  }
  return sums;
}

// |z - x_i|_p, powers taken relative to the largest entry.
std::vector<double> Solver::norms(const std::vector<double>& z) const {
  std::vector<double> most(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t j = 0; j < d_; ++j) most[i] = std::max(most[i], std::abs(z[j] - x(i, j)));
  }
  std::vector<double> sums = sum_columns(n_, [&](std::size_t j, double* s, double*) {
    for (std::size_t i = 0; i < n_; ++i) {
      if (most[i] > 0) s[i] += std::pow(std::abs(z[j] - x(i, j)) / most[i], p_);
    }
  });
  for (std::size_t i = 0; i < n_; ++i) sums[i] = most[i] * std::pow(sums[i], 1 / p_);
  return sums;
}

Solver::State Solver::at_units(std::vector<double> units, const std::vector<double>& guess) const {
  State s;
  s.units = std::move(units);
  s.z = guess;
  for_each(problem_.pool, chunks_.count, [&](std::size_t c) {
    std::vector<double> column(n_);
    for (std::size_t j = chunks_.begin(c); j < chunks_.end(c); ++j) {
      for (std::size_t i = 0; i < n_; ++i) column[i] = x(i, j);
      s.z[j] = balance_column(column, problem_.weights, s.units, p_, guess[j]);
    }
  });
  s.norms = norms(s.z);
  s.residual.resize(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    const double ratio = s.norms[i] / s.units[i];
    s.residual[i] = std::log(ratio);
    s.worst = std::max(s.worst, std::abs(s.residual[i]));
    s.phi += problem_.weights[i] * s.units[i] * (std::pow(ratio, p_) + p_ - 1) / p_;
  }
  return s;
}

// The gradient of sum omega_i |z - x_i|_p; rows at distance zero are left out.
std::vector<double> Solver::pull(const std::vector<double>& z,
                                 const std::vector<double>& norms) const {
  std::vector<double> g(d_);
  for_each(problem_.pool, chunks_.count, [&](std::size_t c) {
    for (std::size_t j = chunks_.begin(c); j < chunks_.end(c); ++j) {
      for (std::size_t i = 0; i < n_; ++i) {
        if (norms[i] == 0) continue;
        const double v = z[j] - x(i, j);
        g[j] += std::copysign(problem_.weights[i] * std::pow(std::abs(v) / norms[i], p_ - 1), v);
      }
    }
  });
  return g;
}

double Solver::dual_norm(const std::vector<double>& g) const {
  const double q = p_ / (p_ - 1);
  double most = 0, sum = 0;
  for (const double v : g) most = std::max(most, std::abs(v));
  if (most == 0) return 0;
  for (const double v : g) sum += std::pow(std::abs(v) / most, q);
  return most * std::pow(sum, 1 / q);
}

// Row k is optimal iff the pull of the others, in the dual norm, is at most the weight at that
// place. Rows that are the same up to rounding count as being at that place; the objective may then
// exceed the optimum by twice their distances, `slack_`.
bool Solver::optimal_row(std::size_t k) {
  tested_[k] = true;
  const auto from = problem_.points.begin() + static_cast<std::ptrdiff_t>(k * d_);
  const std::vector<double> z(from, from + static_cast<std::ptrdiff_t>(d_));
  std::vector<double> r = norms(z);
  std::vector<double> sorted = r;  // the median distance is the bulk's, whatever the outliers
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n_ / 2),
                   sorted.end());
  double here = 0;
  slack_ = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    if (r[i] > 1e-13 * sorted[n_ / 2]) continue;
    slack_ += 2 * problem_.weights[i] * r[i];
    here += problem_.weights[i];
    r[i] = 0;
  }
  return dual_norm(pull(z, r)) <= here + 1e-14 * total_;
}

// sum_j s_ij s_kj / H_j  with  s_ij = sign(v) (|v|/N_i)^(p-1),
// H_j = sum_i omega_i (p-1) (|v|/N_i)^(p-2) / N_i: how N_k moves z and z moves |z - x_i|.
std::vector<double> Solver::coupling(const State& s) const {
  return sum_columns(n_ * n_, [&](std::size_t j, double* sums, double* row) {
    double stiffness = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double v = s.z[j] - x(i, j), t = std::abs(v) / s.units[i];
      row[i] = std::copysign(std::pow(t, p_ - 1), v);
      stiffness += problem_.weights[i] * (p_ - 1) * std::pow(t, p_ - 2) / s.units[i];
    }
    if (!(stiffness > 0 && std::isfinite(stiffness))) return;  // at a kink: z does not move
    for (std::size_t i = 0; i < n_; ++i) {
      const double a = row[i] / stiffness;
      for (std::size_t k = 0; k <= i; ++k) sums[i * n_ + k] += a * row[k];
    }
  });
}

// Newton's step in log N from the coupling h; false if the Hessian with `damping` on its diagonal
// is not positive definite. It is scaled to a unit diagonal: N ranges over many powers of ten when
// there are outliers.
bool Solver::newton_units(const State& s, std::vector<double> h, double damping,
                          std::vector<double>& units) const {
  std::vector<double> gradient(n_), scale(n_);
  const std::span<const double> w = problem_.weights;
  for (std::size_t i = 0; i < n_; ++i) {
    const double alpha = std::exp(p_ * s.residual[i]);
    gradient[i] = s.units[i] * w[i] * (p_ - 1) / p_ * (1 - alpha);
    for (std::size_t k = 0; k <= i; ++k) h[i * n_ + k] *= -w[i] * w[k] * (p_ - 1) * (p_ - 1);
    h[i * n_ + i] += w[i] * (p_ - 1) * s.units[i] * alpha + gradient[i];
    const double own =
        w[i] * (p_ - 1) * s.units[i];  // the size that the diagonal has at the optimum
    scale[i] = 1 / std::sqrt(std::max(h[i * n_ + i], 1e-3 * own));
  }
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t k = 0; k <= i; ++k) {
      double value = h[i * n_ + k] * scale[i] * scale[k] + (i == k ? damping : 0);
      for (std::size_t c = 0; c < k; ++c) value -= h[i * n_ + c] * h[k * n_ + c];
      if (k < i) {
        h[i * n_ + k] = value / h[k * n_ + k];
      } else if (value > 1e-14) {
        h[i * n_ + i] = std::sqrt(value);
      } else {
        return false;
      }
    }
  }
  std::vector<double> step(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    double value = -gradient[i] * scale[i];
    for (std::size_t c = 0; c < i; ++c) value -= h[i * n_ + c] * step[c];
    step[i] = value / h[i * n_ + i];
  }
  for (std::size_t i = n_; i-- > 0;) {
    for (std::size_t c = i + 1; c < n_; ++c) step[i] -= h[c * n_ + i] * step[c];
    step[i] /= h[i * n_ + i];
  }
  units = s.units;
  for (std::size_t i = 0; i < n_; ++i) {
    units[i] *= std::exp(std::clamp(step[i] * scale[i], -2.0, 2.0));
    if (!(units[i] > 0 && std::isfinite(units[i]))) return false;
  }
  return true;
}

// f* >= sum y_i (z - x_i) for y_i with |y_i|_q <= omega_i that add up to zero. The gradients of the
// terms nearly do; what is left is taken off their mean. For p < 2 it is taken off the nearest rows
// of each column: where z is close to x_i, the gradient changes from one double to the next by much
// more than rounding, and the value that balances the column lies between the two. In the end all
// is scaled back into the balls.
LpSolution Solver::finish(const State& s, int iterations, Stop stop) const {
  const double q = p_ / (p_ - 1);
  const std::span<const double> w = problem_.weights;
  const std::vector<double> sums = sum_columns(n_ + 1, [&](std::size_t j, double* sum, double* y) {
    double g = 0, near = std::numeric_limits<double>::infinity(), weight = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double v = s.z[j] - x(i, j);
      y[i] = s.norms[i] == 0 ? 0 : std::copysign(std::pow(std::abs(v) / s.norms[i], p_ - 1), v);
      g += w[i] * y[i];
      near = std::min(near, std::abs(v));
    }
    if (p_ < 2) {
      near += 1e-15 * std::abs(s.z[j]);
      const auto close = [&](std::size_t i) { return std::abs(s.z[j] - x(i, j)) <= near; };
      for (std::size_t i = 0; i < n_; ++i) weight += close(i) ? w[i] : 0;
      for (std::size_t i = 0; i < n_; ++i) y[i] -= close(i) ? g / weight : 0;
      g = 0;
    }
    for (std::size_t i = 0; i < n_; ++i) {
      const double balanced = y[i] - g / total_;
      sum[i] += std::pow(std::abs(balanced), q);
      sum[n_] += w[i] * balanced * (s.z[j] - x(i, j));
    }
  });
  const double longest =
      *std::max_element(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(n_));
  return {s.z, 0, sums[n_] / std::max(1.0, std::pow(longest, 1 / q)), iterations, stop};
}

LpSolution Solver::at_row(std::size_t k, int iterations) const {
  const auto from = problem_.points.begin() + static_cast<std::ptrdiff_t>(k * d_);
  return {std::vector<double>(from, from + static_cast<std::ptrdiff_t>(d_)), k, slack_, iterations,
          Stop::data_point};
}

// Tries Newton's step, then damped ones; false if none of them makes phi smaller (or, where phi has
// no digits left, the residual).
bool Solver::newton_step(State& s) const {
  const std::vector<double> h = coupling(s);
  for (const double damping : {0.0, 0.01, 0.3, 3.0}) {
    std::vector<double> next;
    if (!newton_units(s, h, damping, next)) continue;
    State trial = at_units(std::move(next), s.z);
    const bool level = std::abs(trial.phi - s.phi) <= 1e-12 * s.phi;
    if (level ? trial.worst < s.worst : trial.phi < s.phi) {
      s = std::move(trial);
      return true;
    }
    if (level) return false;  // damping is for the way, not for the end
  }
  return false;
}

LpSolution Solver::run() {
  std::vector<double> units = norms(std::vector<double>(d_));
  double least = std::numeric_limits<double>::infinity();
  for (const double r : units) least = r > 0 ? std::min(least, r) : least;
  if (!std::isfinite(least)) return at_row(0, 0);  // all rows are the same
  for (double& r : units) r = r > 0 ? r : least;
  State s = at_units(std::move(units), std::vector<double>(d_));
  double best = std::numeric_limits<double>::infinity();
  int idle = 0;
  for (int iteration = 0;; ++iteration) {
    const auto near = static_cast<std::size_t>(std::min_element(s.norms.begin(), s.norms.end()) -
                                               s.norms.begin());
    if (!tested_[near] && optimal_row(near)) return at_row(near, iteration);
    idle = s.worst < 0.9 * best ? 0 : idle + 1;
    best = std::min(best, s.worst);
    if (s.worst <= 1e-15 || (idle >= 3 && s.worst <= 1e-11))
      return finish(s, iteration, Stop::rounding);
    if (iteration >= problem_.max_iterations) return finish(s, iteration, Stop::max_iterations);

    if (n_ <= kMostNewtonRows && newton_step(s)) continue;
    std::vector<double> next = s.norms;
    for (std::size_t i = 0; i < n_; ++i) {
      if (!(next[i] > 0)) next[i] = 1e-3 * s.units[i];
    }
    s = at_units(std::move(next), s.z);
  }
}

}  // namespace

LpSolution solve(const LpProblem& problem) { return Solver(problem).run(); }

double lp_objective(const LpProblem& problem, const std::vector<double>& z) {
  const std::vector<double> norms = Solver(problem).norms(z);
  return std::inner_product(norms.begin(), norms.end(), problem.weights.begin(), 0.0);
}

}  // namespace medgrad::sample
