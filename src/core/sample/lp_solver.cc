// Newton's method in the n norms.
//
// With  |v|_p = min_N (|v|_p^p N^(1-p) + (p-1) N) / p  the problem becomes  min_N phi(N),
//
//     phi(N) = min_z sum_i omega_i (|z - x_i|_p^p N_i^(1-p) + (p-1) N_i) / p,
//
// and for given N every column of z is a problem in one unknown. phi is convex and smooth away from
// N_i = 0, with the derivatives  omega_i (p-1)/p (1 - alpha_i),  alpha_i = (|z - x_i|_p / N_i)^p.
// The equations solved are  r_i = log(|z - x_i|_p / N_i) = 0: unlike the gradient, r is nearly
// linear in log N even for large p. Its derivative is  -(I - D^{-1} C),  D_ii = omega_i (p-1)
// alpha_i N_i,  C the coupling of the rows through z;  D - C is positive semidefinite. Steps solve
// (D - theta C) step = D r:  Newton's for theta = 1, and for theta = 0 the plain iteration
// N <- |z - x_i|_p, which decreases phi always (it is the analogue of Weiszfeld's).
//
// For large p the columns change abruptly with N (in the limit only two rows count in each); then
// the problem is solved for smaller p first.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/sample/line.h"
#include "core/sample/lp_sweeps.h"
#include "core/sample/near_line.h"

namespace medgrad::estimators {
namespace {

constexpr std::size_t kMostNewtonRows = 512;
constexpr double kRounding = 1e-15;  // of r
constexpr double kInfinite = std::numeric_limits<double>::infinity();

double longest(const std::vector<double>& step) {
  double most = 0;
  for (const double x : step) most = std::max(most, std::abs(x));
  return most;
}

class Solver {
 public:
  Solver(const LpProblem& problem, double p)
      : problem_(problem),
        n_(problem.n),
        d_(problem.d),
        sweeps_(problem, p),
        p_(p),
        total_(std::accumulate(problem.weights.begin(), problem.weights.end(), 0.0)),
        tested_(n_),
        flat_(gap_near_line(problem.points, problem.d, problem.weights).has_value()) {}

  // From the guess z to the solution; `before` iterations were made already.
  LpSolution run(Places z, int before);
  // A few steps only; returns how many.
  int approach(Places& z) const;

 private:
  struct State {
    std::vector<double> units;            // N
    Places z;                             // z(N)
    std::vector<double> norms, residual;  // |z - x_i|_p; r
    double worst = 0;                     // max |r|
  };

  [[nodiscard]] State start(Places z) const;
  [[nodiscard]] State at_units(std::vector<double> units, Places guess) const;
  [[nodiscard]] bool optimal_row(std::size_t k);
  [[nodiscard]] std::vector<double> newton(const State& s, std::vector<double> c,
                                           double theta) const;
  [[nodiscard]] double slope(const State& s, const std::vector<double>& direction) const;
  [[nodiscard]] bool move(State& s, const std::vector<double>& step) const;
  [[nodiscard]] bool refine(State& s, const std::vector<double>& step) const;
  void advance(State& s) const;
  [[nodiscard]] bool certified(const State& s, double gap) const;
  [[nodiscard]] LpSolution finish(const State& s, int iterations, Stop stop) const;
  [[nodiscard]] LpSolution at_row(std::size_t k, int iterations) const;

  const LpProblem& problem_;
  std::size_t n_, d_;
  LpSweeps sweeps_;
  double p_, total_;
  std::vector<bool> tested_;  // rows that are known not to be optimal
  double slack_ = 0;
  // Nearly on a line, rows at both ends of a gap pass for optimal, and so does all between: the
  // iteration then stops near where it starts, at the componentwise median, in the middle.
  bool flat_;
};

Solver::State Solver::start(Places z) const {
  std::vector<double> units = sweeps_.norms(z);
  double least = kInfinite;
  for (const double r : units) least = r > 0 ? std::min(least, r) : least;
  for (double& r : units) r = r > 0 ? r : least;
  return at_units(std::move(units), std::move(z));
}

Solver::State Solver::at_units(std::vector<double> units, Places guess) const {
  State s{std::move(units), std::move(guess), {}, std::vector<double>(n_), 0};
  sweeps_.balance(s.units, s.z);
  s.norms = sweeps_.norms(s.z, s.units);
  const bool sized = std::all_of(s.norms.begin(), s.norms.end(),
                                 [](double r) { return r > 0 && std::isfinite(r); });
  if (!sized) s.norms = sweeps_.norms(s.z);
  for (std::size_t i = 0; i < n_; ++i) {
    s.residual[i] = s.norms[i] > 0 ? std::log(s.norms[i] / s.units[i]) : -kInfinite;
    // A far outlier's rounding errors are long enough to hide the slopes of all others.
    if (std::abs(s.residual[i]) <= kRounding) s.residual[i] = 0;
    s.worst = std::max(s.worst, std::abs(s.residual[i]));
  }
  return s;
}

// Row k is optimal iff the pull of the others, in the dual norm, is at most the weight at that
// place. Rows that are the same up to rounding count as being at that place; the objective may then
// exceed the optimum by twice their distances, `slack_`.
bool Solver::optimal_row(std::size_t k) {
  tested_[k] = true;
  Places z(d_);
  for (std::size_t j = 0; j < d_; ++j) z[j].origin = problem_.points[k * d_ + j];
  std::vector<double> r = sweeps_.norms(z);
  std::vector<Weighted> sorted(n_);  // the median distance is the bulk's, whatever the outliers
  for (std::size_t i = 0; i < n_; ++i) sorted[i] = {r[i], problem_.weights[i]};
  sort_by_value(sorted);
  const double bulk = sorted[weighted_middle(sorted).upper].value;
  double here = 0;
  slack_ = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    if (r[i] > 1e-13 * bulk) continue;
    slack_ += 2 * problem_.weights[i] * r[i];
    here += problem_.weights[i];
    r[i] = 0;
  }
  return sweeps_.pull(z, r) <= here + (flat_ ? -1e-10 : 1e-14) * total_;
}

// The step relative to N from the coupling c; empty if the matrix is not positive definite to
// rounding. It is scaled by D: N ranges over many powers of ten when there are outliers.
std::vector<double> Solver::newton(const State& s, std::vector<double> c, double theta) const {
  std::vector<double> root(n_), y(n_);  // D^(1/2)
  const std::span<const double> w = problem_.weights;
  for (std::size_t i = 0; i < n_; ++i) {
    root[i] = std::sqrt(w[i] * (p_ - 1) * s.units[i] * std::exp(p_ * s.residual[i]));
    if (!(root[i] > 0)) return {};
  }
  for (std::size_t i = 0; i < n_; ++i) {
    const double scale = theta * w[i] * (p_ - 1) / root[i];
    for (std::size_t k = 0; k <= i; ++k) {
      double value = (i == k ? 1 : 0) - c[i * n_ + k] * scale * (w[k] * (p_ - 1) / root[k]);
      for (std::size_t l = 0; l < k; ++l) value -= c[i * n_ + l] * c[k * n_ + l];
      if (k == i && !(value > 1e-14)) return {};
      c[i * n_ + k] = k < i ? value / c[k * n_ + k] : std::sqrt(value);
    }
  }
  for (std::size_t i = 0; i < n_; ++i) {
    double value = root[i] * s.residual[i];
    for (std::size_t l = 0; l < i; ++l) value -= c[i * n_ + l] * y[l];
    y[i] = value / c[i * n_ + i];
  }
  for (std::size_t i = n_; i-- > 0;) {
    for (std::size_t l = i + 1; l < n_; ++l) y[i] -= c[l * n_ + i] * y[l];
    y[i] /= c[i * n_ + i];
  }
  for (std::size_t i = 0; i < n_; ++i) {
    y[i] /= root[i];
    if (!std::isfinite(y[i])) return {};
  }
  return y;
}

// The derivative of phi along a direction of N.
double Solver::slope(const State& s, const std::vector<double>& direction) const {
  double sum = 0;
  for (std::size_t i = 0; i < n_; ++i)
    sum -= problem_.weights[i] * std::expm1(p_ * s.residual[i]) * direction[i];
  return sum * (p_ - 1) / p_;
}

// Goes along a step relative to N, less far where phi would rise at the end. phi is convex in N, so
// its slope tells more than its value, which has no digits to spare. False if the step leads
// nowhere.
bool Solver::move(State& s, const std::vector<double>& step) const {
  std::vector<double> direction(n_), units(n_);
  for (std::size_t i = 0; i < n_; ++i) direction[i] = s.units[i] * step[i];
  const double start = slope(s, direction);
  if (!(start < 0)) return false;
  double t = 1;
  for (const double x : step) t = std::min(t, x < 0 ? -0.9 / x : t);  // N stays positive
  if (t < 0.05) return false;  // a row that wants to go through zero holds up all others
  for (int trial = 0; trial < 12; ++trial) {
    for (std::size_t i = 0; i < n_; ++i) units[i] = s.units[i] + t * direction[i];
    State next = at_units(units, s.z);
    const double end = slope(next, direction);
    if (end <= -0.5 * start) {
      s = std::move(next);
      return true;
    }
    t *= std::clamp(start / (start - end), 0.1, 0.7);  // where the secant is zero
  }
  return false;
}

// Takes a step near the end, where slopes are rounding errors; false if r does not get smaller.
bool Solver::refine(State& s, const std::vector<double>& step) const {
  std::vector<double> units = s.units;
  for (std::size_t i = 0; i < n_; ++i) units[i] += units[i] * step[i];
  State next = at_units(std::move(units), s.z);
  if (!(next.worst < 0.5 * s.worst)) return false;
  s = std::move(next);
  return true;
}

void Solver::advance(State& s) const {
  if (n_ <= kMostNewtonRows && s.worst < std::min(1.0, 30 / p_)) {
    const std::vector<double> c = sweeps_.coupling(s.units, s.z);
    for (const double theta : {1 - 1e-13, 1 - 1e-10, 1 - 1e-7, 0.9999, 0.99, 0.7}) {
      const std::vector<double> step = newton(s, c, theta);
      if (step.empty()) continue;
      const bool close = p_ * s.worst <= 1e-5 && p_ * longest(step) <= 1e-3;
      if (close ? refine(s, step) : move(s, step)) return;
      if (close && s.worst <= 1e-12) break;  // damping is for the way, not for the end
    }
  }
  std::vector<double> units = s.norms;
  for (std::size_t i = 0; i < n_; ++i) units[i] = std::max(units[i], 1e-3 * s.units[i]);
  s = at_units(std::move(units), s.z);
}

LpSolution Solver::finish(const State& s, int iterations, Stop stop) const {
  LpSolution solution{{}, 0, sweeps_.dual_bound(s.z, s.norms), iterations, stop};
  for (const Place& z : s.z) solution.z.push_back(z.value());
  return solution;
}

// Is z optimal up to this share of the objective?
bool Solver::certified(const State& s, double gap) const {
  const double f =
      std::inner_product(s.norms.begin(), s.norms.end(), problem_.weights.begin(), 0.0);
  return f - sweeps_.dual_bound(s.z, s.norms) <= gap * f;
}

LpSolution Solver::at_row(std::size_t k, int iterations) const {
  const auto from = problem_.points.begin() + static_cast<std::ptrdiff_t>(k * d_);
  return {std::vector<double>(from, from + static_cast<std::ptrdiff_t>(d_)), k, slack_, iterations,
          Stop::data_point};
}

int Solver::approach(Places& z) const {
  State s = start(std::move(z));
  int steps = 0;
  for (; steps < 10 && p_ * s.worst > 0.1; ++steps) advance(s);
  z = std::move(s.z);
  return steps;
}

LpSolution Solver::run(Places z, int before) {
  State s = start(std::move(z));
  // The norms themselves are sums of d terms, with errors that grow like the root of d.
  const double rounding = kRounding * std::max(1.0, std::sqrt(static_cast<double>(d_)) / 32);
  double best = kInfinite;
  int idle = 0;
  for (int iteration = before;; ++iteration) {
    const auto near = static_cast<std::size_t>(std::min_element(s.norms.begin(), s.norms.end()) -
                                               s.norms.begin());
    if (!tested_[near] && optimal_row(near)) return at_row(near, iteration);
    idle = s.worst < 0.9 * best ? 0 : idle + 1;
    best = std::min(best, s.worst);
    if (s.worst <= rounding ||
        (idle >= 3 && s.worst <= 1e-11 && (idle >= 20 || certified(s, 1e-12))))
      return finish(s, iteration, Stop::rounding);
    if (problem_.enough > 0 && certified(s, problem_.enough))
      return finish(s, iteration, Stop::tolerance);
    if (iteration >= problem_.max_iterations) return finish(s, iteration, Stop::max_iterations);
    advance(s);
  }
}

}  // namespace

LpSolution solve(const LpProblem& problem) {
  const auto same = [&](std::size_t i) {
    return std::equal(problem.points.begin(),
                      problem.points.begin() + static_cast<std::ptrdiff_t>(problem.d),
                      problem.points.begin() + static_cast<std::ptrdiff_t>(i * problem.d));
  };
  std::size_t equal = 1;
  while (equal < problem.n && same(equal)) ++equal;
  Places z(problem.d);
  if (equal == problem.n) {
    const auto row = problem.points.first(problem.d);
    return {std::vector<double>(row.begin(), row.end()), 0, 0, 0, Stop::data_point};
  }
  // For large p the columns change abruptly with N; smaller p lead the way.
  int iterations = 0;
  for (double p = 3; p < problem.p / 1.5; p *= 2) iterations += Solver(problem, p).approach(z);
  return Solver(problem, problem.p).run(std::move(z), iterations);
}

std::vector<double> lp_norms(const LpProblem& problem, const std::vector<double>& z) {
  Places places(z.size());
  for (std::size_t j = 0; j < z.size(); ++j) places[j].origin = z[j];
  return LpSweeps(problem, problem.p).norms(places);
}

}  // namespace medgrad::estimators
