// Vardi and Zhang's optimality test at data points, Newton's method elsewhere.
//
// Coordinates are kept relative to the nearest data point (the anchor): where the minimiser lies
// 1e-9 away from one, that distance still has all its digits.
#include "core/sample/weber.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "core/sample/near_line.h"

namespace medgrad::estimators {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

using Vector = SmallVector<double, 16>;
using Matrix = SmallVector<double, 128>;

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
double length(const Vector& a) { return std::sqrt(dot(a, a)); }

// The length of u where its square overflows or loses digits.
double scaled_length(const double* u, std::size_t k) {
  double most = 0, square = 0;
  for (std::size_t j = 0; j < k; ++j) most = std::max(most, std::abs(u[j]));
  if (most == 0) return 0;
  const int exponent = std::ilogb(most);
  for (std::size_t j = 0; j < k; ++j) {
    const double v = std::ldexp(u[j], -exponent);
    square += v * v;
  }
  return std::ldexp(std::sqrt(square), exponent);
}

// kFixed is the dimension where it is one of the small ones, known to the compiler; else 0.
template <std::size_t kFixed>
class Solver {
 public:
  explicit Solver(const WeberProblem& problem)
      : problem_(problem),
        n_(problem.n),
        dimension_(problem.k),
        total_(std::accumulate(problem.weights.begin(), problem.weights.end(), 0.0)),
        unit_(std::min(1.0, problem.mu)),
        y_(problem.points.begin(), problem.points.end()),
        anchor_(n_),
        tested_(n_),
        states_{State(*this), State(*this)} {}

  WeberSolution run();

 private:
  // Everything about a point z: distances, unit vectors to it, gradient.
  struct State {
    explicit State(const Solver& s) : z(s.k()), r(s.n_), unit(s.n_ * s.k()), pull(s.n_), g(s.k()) {}
    Vector z, r;
    Matrix unit;
    Vector pull, g;
    double f = 0, force = 0;  // force: the sum of the lengths of the terms of g
  };

  [[nodiscard]] std::size_t k() const { return kFixed > 0 ? kFixed : dimension_; }
  [[nodiscard]] bool huber() const { return problem_.mu > 0; }
  void evaluate(State& s) const;
  void anchor_at(std::size_t a);
  [[nodiscard]] std::size_t nearest() const {
    return static_cast<std::size_t>(std::min_element(at_->r.begin(), at_->r.end()) -
                                    at_->r.begin());
  }
  bool test_anchor();
  [[nodiscard]] std::optional<Stop> settle_in_gap();
  void hessian_times(const Vector& v, Vector& out) const;
  [[nodiscard]] Vector newton_direction() const;
  [[nodiscard]] bool newton_by_cholesky(Vector& p) const;
  [[nodiscard]] double slope_at(const Vector& p, double t);
  void move(const Vector& p);
  [[nodiscard]] bool improve();
  [[nodiscard]] double bound() const { return huber() ? huber_bound() : dual_bound(); }
  [[nodiscard]] double dual_bound() const;
  [[nodiscard]] double huber_bound() const;
  [[nodiscard]] WeberSolution finish(int iterations, Stop stop);

  const WeberProblem& problem_;
  std::size_t n_, dimension_;
  double total_;
  double unit_;                   // of Huber's forces
  Matrix y_;                      // the points, relative to the anchor
  std::size_t anchor_;            // n where there is none yet
  SmallVector<bool, 16> tested_;  // data points that are known not to be optimal
  State states_[2];
  State* at_ = &states_[0];     // where we are
  State* trial_ = &states_[1];  // where we might go, or were before
};

// pull_i = omega_i / r_i (Huber: omega_i min(1, mu / r_i) / min(1, mu)), g = sum pull_i (z - x_i).
// A point at distance zero has no direction and is left out.
template <std::size_t kFixed>
void Solver<kFixed>::evaluate(State& s) const {
  std::fill(s.g.begin(), s.g.end(), 0.0);
  s.f = s.force = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    double* const u = s.unit.data() + i * k();
    double square = 0;
    for (std::size_t j = 0; j < k(); ++j) {
      u[j] = s.z[j] - y_[i * k() + j];
      square += u[j] * u[j];
    }
    const double w = problem_.weights[i], mu = problem_.mu;
    const double r = s.r[i] = square > 1e-280 ? std::sqrt(square) : scaled_length(u, k());
    double force = w;  // |gradient| of the i-th term
    if (huber()) {
      force = w * (std::min(r, mu) / unit_);
      s.f += force * (r <= mu ? r / 2 : r - mu / 2);
      s.pull[i] = r <= mu ? w / unit_ : force / r;
    } else {
      s.f += w * r;
      s.pull[i] = r > 0 ? w / std::max(r, 1e-290) : 0;
    }
    s.force += force;
    if (r == 0) continue;
    // A multiplication in place of k divisions, wherever 1 / r is a number.
    const double inverse = r > 1e-300 ? 1 / r : 0;
    for (std::size_t j = 0; j < k(); ++j) {
      u[j] = inverse > 0 ? u[j] * inverse : u[j] / r;
      s.g[j] += force * u[j];
    }
  }
}

// Moves the origin to point a; z keeps its place.
template <std::size_t kFixed>
void Solver<kFixed>::anchor_at(std::size_t a) {
  if (a == anchor_) return;
  for (std::size_t j = 0; j < k(); ++j) at_->z[j] -= y_[a * k() + j];
  const double* const original = problem_.points.data();
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t j = 0; j < k(); ++j)
      y_[i * k() + j] = original[i * k() + j] - original[a * k() + j];
  }
  anchor_ = a;
  evaluate(*at_);
}

// Vardi and Zhang: x_a is optimal iff the pull R of all other points is at most the weight at x_a
// (coinciding points pool their weights). If so, goes there and returns true. If not, and x_a is
// not worse than z, goes there and leaves it by their step (|R| - omega_a) / sum(omega_i / r_i)
// along R, which decreases f.
template <std::size_t kFixed>
bool Solver<kFixed>::test_anchor() {
  if (tested_[anchor_]) return false;
  tested_[anchor_] = true;
  std::fill(trial_->z.begin(), trial_->z.end(), 0.0);
  evaluate(*trial_);
  double here = 0, stiffness = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    (trial_->r[i] == 0 ? here : stiffness) +=
        trial_->r[i] == 0 ? problem_.weights[i] : trial_->pull[i];
  }
  const double pull = length(trial_->g);
  const bool optimal = pull <= here + 8 * kEpsilon * total_;
  if (!optimal && trial_->f > at_->f) return false;
  if (!optimal) {
    const double step = (pull - here) / stiffness;
    for (std::size_t j = 0; j < k(); ++j) trial_->z[j] = -step / pull * trial_->g[j];
    evaluate(*trial_);
  }
  std::swap(at_, trial_);
  return optimal;
}

// H = sum pull_i (I - u_i u_i^T); within mu of a point Huber's function has H = pull_i I.
template <std::size_t kFixed>
void Solver<kFixed>::hessian_times(const Vector& v, Vector& out) const {
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t i = 0; i < n_; ++i) {
    const double* const u = at_->unit.data() + i * k();
    double along = 0;
    if (!(huber() && at_->r[i] <= problem_.mu)) {
      for (std::size_t j = 0; j < k(); ++j) along += u[j] * v[j];
    }
    for (std::size_t j = 0; j < k(); ++j) out[j] += at_->pull[i] * (v[j] - along * u[j]);
  }
}

// p = -H^{-1} g by the factorisation H = L D L^T; false where H is singular or close to it.
template <std::size_t kFixed>
bool Solver<kFixed>::newton_by_cholesky(Vector& p) const {
  const double stiffness = std::accumulate(at_->pull.begin(), at_->pull.end(), 0.0);
  Matrix h(k() * k());  // the lower triangle
  for (std::size_t i = 0; i < n_; ++i) {
    if (huber() && at_->r[i] <= problem_.mu) continue;
    const double* const u = at_->unit.data() + i * k();
    for (std::size_t j = 0; j < k(); ++j) {
      const double share = at_->pull[i] * u[j];
      for (std::size_t l = 0; l <= j; ++l) h[j * k() + l] -= share * u[l];
    }
  }
  // Row by row: row[l] is first L_jl D_l, then L_jl; the diagonal holds the inverses of D.
  for (std::size_t j = 0; j < k(); ++j) {
    double* const row = h.data() + j * k();
    double pivot = row[j] + stiffness, sum = -at_->g[j];
    for (std::size_t l = 1; l < j; ++l) {
      const double* const above = h.data() + l * k();
      for (std::size_t c = 0; c < l; ++c) row[l] -= row[c] * above[c];
    }
    for (std::size_t l = 0; l < j; ++l) {
      const double entry = row[l] * h[l * k() + l];
      pivot -= row[l] * entry;
      sum -= entry * p[l];
      row[l] = entry;
    }
    if (!(pivot > 1e-10 * stiffness)) return false;
    row[j] = 1 / pivot;
    p[j] = sum;
  }
  for (std::size_t j = 0; j < k(); ++j) p[j] *= h[j * k() + j];
  for (std::size_t j = k(); j-- > 1;) {
    for (std::size_t l = 0; l < j; ++l) p[l] -= h[j * k() + l] * p[j];
  }
  return true;
}

// -H^{-1} g; in a space of many dimensions, or where H is close to singular, by conjugate
// gradients. Where H is singular (all points on a line through z), the Weiszfeld step -g / sum
// pull_i.
template <std::size_t kFixed>
Vector Solver<kFixed>::newton_direction() const {
  constexpr std::size_t kFew = 32;
  Vector p(k());
  if (k() <= kFew && newton_by_cholesky(p)) return p;
  p.assign(k(), 0.0);
  const double stiffness = std::accumulate(at_->pull.begin(), at_->pull.end(), 0.0);
  Vector rest(k()), d(k()), hd(k());
  for (std::size_t j = 0; j < k(); ++j) d[j] = rest[j] = -at_->g[j];
  double square = dot(rest, rest);
  const double enough = square * 1e-26;
  for (std::size_t step = 0; step < 2 * k() + 10 && square > enough; ++step) {
    hessian_times(d, hd);
    const double curvature = dot(d, hd);
    if (!(curvature > 1e-15 * stiffness * dot(d, d))) {
      if (step == 0) {
        for (std::size_t j = 0; j < k(); ++j) p[j] = d[j] / stiffness;
      }
      break;
    }
    const double t = square / curvature;
    for (std::size_t j = 0; j < k(); ++j) {
      p[j] += t * d[j];
      rest[j] -= t * hd[j];
    }
    const double next = dot(rest, rest), ratio = next / square;
    for (std::size_t j = 0; j < k(); ++j) d[j] = rest[j] + ratio * d[j];
    square = next;
  }
  return p;
}

template <std::size_t kFixed>
double Solver<kFixed>::slope_at(const Vector& p, double t) {
  for (std::size_t j = 0; j < k(); ++j) trial_->z[j] = at_->z[j] + t * p[j];
  evaluate(*trial_);
  return dot(trial_->g, p);
}

// Goes along p to where the slope has at most half its size. f is convex, so its slope tells more
// than its value, which has no digits to spare when an outlier is far away.
template <std::size_t kFixed>
void Solver<kFixed>::move(const Vector& p) {
  const double start = dot(at_->g, p);
  double t = 1, low = 0, low_slope = start, high = 0, high_slope = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const double slope = slope_at(p, t);
    if (std::abs(slope) <= 0.5 * std::abs(start)) break;
    if (slope < 0) {
      low = t;
      low_slope = slope;
    } else {
      high = t;
      high_slope = slope;
    }
    if (high == 0) {
      t *= 2;
    } else {
      const double share = low_slope / (low_slope - high_slope);  // where the secant is zero
      t = low + std::clamp(share, 0.1, 0.9) * (high - low);
      if (!(t > low && t < high)) break;
    }
  }
  std::swap(at_, trial_);
}

// One step; false if no further decrease can be had in double precision.
template <std::size_t kFixed>
bool Solver<kFixed>::improve() {
  const double before = length(at_->g), force = at_->force;
  if (before <= kEpsilon * force) return false;
  Vector p = newton_direction();
  if (!(dot(p, at_->g) < 0)) {
    const double stiffness = std::accumulate(at_->pull.begin(), at_->pull.end(), 0.0);
    for (std::size_t j = 0; j < k(); ++j) p[j] = -at_->g[j] / stiffness;
  }
  if (before > 1e-9 * force) {
    move(p);
    return at_->z != trial_->z;  // trial_ holds where we were
  }
  // Close by, Newton's step needs no guard, and slopes are rounding errors. Stop when the gradient
  // does not get shorter.
  (void)slope_at(p, 1.0);
  std::swap(at_, trial_);
  if (length(at_->g) < before) return true;
  std::swap(at_, trial_);
  if (before <= 1e-13 * force) return false;
  move(p);
  if (length(at_->g) < before) return true;
  std::swap(at_, trial_);
  return false;
}

// f* >= sum y_i (z - x_i) for any y_i with |y_i| <= omega_i that add up to zero. The gradients of
// the terms nearly do: take their mean off, and scale back into the balls.
template <std::size_t kFixed>
double Solver<kFixed>::dual_bound() const {
  Vector g = at_->g;
  double here = 0;
  for (std::size_t i = 0; i < n_; ++i) here += at_->r[i] == 0 ? problem_.weights[i] : 0;
  const double pull = length(g);
  if (here > 0 && pull > 0) {  // terms at z may have any gradient up to their weight
    for (double& x : g) x *= 1 - std::min(1.0, here / pull);
  }
  const double off = length(g);
  double moment = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    const double* const u = at_->unit.data() + i * k();
    double along = 0;
    for (std::size_t j = 0; j < k(); ++j) along += g[j] * u[j];
    moment += problem_.weights[i] * along * at_->r[i];
  }
  return (at_->f - moment / total_) / (1 + off / total_);
}

// The same with the conjugate |y|^2 / 2, |y| <= mu, of Huber's function; y in units of min(1, mu).
template <std::size_t kFixed>
double Solver<kFixed>::huber_bound() const {
  const double mean = length(at_->g) / total_;
  double longest = 0;
  Vector square(n_), along(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    const double* const u = at_->unit.data() + i * k();
    double cosine = 0;
    for (std::size_t j = 0; j < k(); ++j) cosine += at_->g[j] / total_ * u[j];
    if (at_->r[i] == 0) cosine = 0;
    const double y = std::min(at_->r[i], problem_.mu) / unit_;
    square[i] = std::max(0.0, y * y - 2 * y * cosine + mean * mean);
    along[i] = (y - cosine) * at_->r[i];
    longest = std::max(longest, std::sqrt(square[i]));
  }
  const double most = problem_.mu / unit_;
  const double shrink = longest > most ? most / longest : 1.0;
  double bound = 0;
  for (std::size_t i = 0; i < n_; ++i)
    bound += problem_.weights[i] * (shrink * along[i] - shrink * shrink * unit_ * square[i] / 2);
  return bound;
}

// Stationarity says z = sum pull_i x_i / sum pull_i.
template <std::size_t kFixed>
WeberSolution Solver<kFixed>::finish(int iterations, Stop stop) {
  WeberSolution solution;
  solution.anchor = anchor_;
  solution.distances = at_->r;
  solution.objective = at_->f;
  solution.iterations = iterations;
  solution.stop = stop;
  solution.bound = stop == Stop::data_point ? at_->f : bound();
  solution.coefficients.assign(n_, 0.0);
  if (!huber() && at_->r[anchor_] == 0) return solution;
  const double stiffness = std::accumulate(at_->pull.begin(), at_->pull.end(), 0.0);
  for (std::size_t i = 0; i < n_; ++i) {
    if (i != anchor_) solution.coefficients[i] = at_->pull[i] / stiffness;
  }
  return solution;
}

// Nearly on a line, slopes along it are rounding errors. Huber's function has the same minimiser
// there if all points are at least mu away from it.
template <std::size_t kFixed>
std::optional<Stop> Solver<kFixed>::settle_in_gap() {
  const auto gap = gap_near_line(problem_.points, k(), problem_.weights);
  if (!gap) return std::nullopt;
  const GapMinimum minimum = minimum_in_gap(*gap, problem_.points, problem_.weights);
  const bool at_point = minimum.z.empty();
  if (huber() && (at_point || minimum.nearest < problem_.mu)) return std::nullopt;
  evaluate(*at_);
  anchor_at(minimum.anchor);
  if (at_point) return test_anchor() ? std::optional(Stop::data_point) : std::nullopt;
  at_->z.assign(minimum.z.begin(), minimum.z.end());
  evaluate(*at_);
  return Stop::rounding;
}

template <std::size_t kFixed>
WeberSolution Solver<kFixed>::run() {
  if (const auto settled = settle_in_gap()) return finish(1, *settled);
  evaluate(*at_);
  int iterations = 0;
  while (true) {
    anchor_at(nearest());
    if (!huber() && test_anchor()) return finish(iterations, Stop::data_point);
    if (problem_.enough > 0 && at_->f - bound() <= problem_.enough * at_->f)
      return finish(iterations, Stop::tolerance);
    if (iterations >= problem_.max_iterations) return finish(iterations, Stop::max_iterations);
    ++iterations;
    if (improve()) continue;
    // Nothing moves any more: at the minimum, or next to a data point that was never the nearest.
    anchor_at(nearest());
    if (huber() || !(length(at_->g) > 1e-12 * total_)) break;
    const double stuck = at_->f;
    for (std::size_t i = 0; i < n_; ++i) {
      if (tested_[i]) continue;
      anchor_at(i);
      if (test_anchor()) return finish(iterations, Stop::data_point);
    }
    anchor_at(nearest());
    if (at_->f >= stuck) break;
  }
  return finish(iterations, Stop::rounding);
}

}  // namespace

double value_of(std::span<const double> weights, std::span<const double> distances, double mu) {
  double f = 0;
  const double unit = std::min(1.0, mu);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double r = distances[i];
    f += weights[i] * (mu == 0 ? r : r <= mu ? r / unit * r / 2 : mu / unit * (r - mu / 2));
  }
  return f;
}

WeberSolution solve(const WeberProblem& problem) {
  switch (problem.k) {
    case 2:
      return Solver<2>(problem).run();
    case 3:
      return Solver<3>(problem).run();
    case 4:
      return Solver<4>(problem).run();
    case 5:
      return Solver<5>(problem).run();
    default:
      return Solver<0>(problem).run();
  }
}

}  // namespace medgrad::estimators
