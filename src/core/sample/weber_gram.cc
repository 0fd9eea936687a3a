#include "core/sample/weber_gram.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/matrix.h"
#include "medgrad/large_vector.h"

namespace medgrad::estimators {
namespace {

using Vector = std::vector<double>;

// Shorter than this part of |x_i| and a distance has less than 12 digits left.
constexpr double kShort = 1e-2;

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

class Solver {
 public:
  explicit Solver(const GramProblem& problem)
      : problem_(problem),
        n_(problem.weights.size()),
        mu_(problem.mu),
        unit_(std::min(1.0, problem.mu)),
        total_(std::accumulate(problem.weights.begin(), problem.weights.end(), 0.0)),
        g_(n_ * n_),
        a_(n_),
        v_(n_),
        r_(n_),
        pull_(n_),
        b_(n_),
        gb_(n_) {
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t k = 0; k <= i; ++k)
        g_[i * n_ + k] = g_[k * n_ + i] = problem.unit * (*problem.gram)(i, k);
    }
  }
  std::optional<WeberSolution> run();

 private:
  [[nodiscard]] bool huber() const { return mu_ > 0; }
  void times(const Vector& x, Vector& out) const;
  [[nodiscard]] bool near_line() const;
  [[nodiscard]] bool evaluate();
  void newton_direction(Vector& q) const;
  [[nodiscard]] double bound() const;
  [[nodiscard]] double dual_bound() const;
  [[nodiscard]] double huber_bound() const;
  [[nodiscard]] WeberSolution finish(int iterations, Stop stop) const;

  const GramProblem& problem_;
  std::size_t n_;
  double mu_, unit_, total_;
  LargeVector<double> g_;                                 // all of it: products run along rows
  Vector a_, v_;                                          // coefficients of z, and G a
  Vector r_, pull_;                                       // as in weber.cc
  Vector b_, gb_;                                         // coefficients of the gradient, and G b
  double f_ = 0, force_ = 0, stiffness_ = 0, slope_ = 0;  // slope: |gradient|
};

// out = G x. A column of the result belongs to one task, and is added up in the order of the rows.
void Solver::times(const Vector& x, Vector& out) const {
  constexpr std::size_t kPart = 256;
  for_each(problem_.pool, (n_ + kPart - 1) / kPart, [&](std::size_t part) {
    const std::size_t begin = part * kPart, count = std::min(kPart, n_ - begin);
    kernels::add_lines(g_.data() + begin, n_, count, n_, x.data(), out.data() + begin);
  });
}

// Are all points within a small angle of the line from the first to the farthest? (near_line.h)
bool Solver::near_line() const {
  constexpr double kAngle = 4e-3;
  const auto square = [&](std::size_t i) { return g_[i * n_ + i] - 2 * g_[i] + g_[0]; };
  std::size_t far = 0;
  for (std::size_t i = 1; i < n_; ++i) far = square(i) > square(far) ? i : far;
  const double most = square(far);
  for (std::size_t i = 0; i < n_; ++i) {
    const double along = g_[i * n_ + far] - g_[i] - g_[far] + g_[0];
    if (square(i) - along * along / most > kAngle * kAngle * most) return false;
  }
  return true;
}

// Everything about z; false if a distance is too short to be known.
bool Solver::evaluate() {
  times(a_, v_);
  const double square_z = dot(a_, v_);
  f_ = force_ = stiffness_ = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    const double square_x = g_[i * n_ + i], square = square_z - 2 * v_[i] + square_x;
    if (!(square > kShort * kShort * std::max(square_x, square_z))) return false;
    const double w = problem_.weights[i], r = r_[i] = std::sqrt(square);
    double force = w;
    if (huber()) {
      force = w * (std::min(r, mu_) / unit_);
      f_ += force * (r <= mu_ ? r / 2 : r - mu_ / 2);
      pull_[i] = r <= mu_ ? w / unit_ : force / r;
    } else {
      f_ += w * r;
      pull_[i] = w / r;
    }
    force_ += force;
    stiffness_ += pull_[i];
  }
  // g = sum pull_i (z - x_i).
  for (std::size_t i = 0; i < n_; ++i) b_[i] = stiffness_ * a_[i] - pull_[i];
  times(b_, gb_);
  slope_ = std::sqrt(std::max(0.0, dot(b_, gb_)));
  return true;
}

// q with H q = -g, to the accuracy that pays at this distance, by conjugate gradients in the inner
// product of G. H p = sum pull_i (p - u_i <u_i, p>), u_i = (z - x_i) / r_i.
void Solver::newton_direction(Vector& q) const {
  Vector rest(n_), g_rest(n_), d(n_), gd(n_), hd(n_), ghd(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    d[i] = rest[i] = -b_[i];
    gd[i] = g_rest[i] = -gb_[i];
  }
  std::fill(q.begin(), q.end(), 0.0);
  double square = dot(rest, g_rest);
  const double share = std::clamp(slope_ / force_, 1e-8, 0.1);
  const double enough = square * share * share;
  for (std::size_t step = 0; step < n_ && square > enough; ++step) {
    const double zd = dot(a_, gd);
    double sum = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const bool inside = huber() && r_[i] <= mu_;
      const double along = inside ? 0 : pull_[i] * ((zd - gd[i]) / r_[i]) / r_[i];
      hd[i] = along;
      sum += along;
    }
    for (std::size_t i = 0; i < n_; ++i) hd[i] += stiffness_ * d[i] - sum * a_[i];
    const double curvature = dot(hd, gd);
    if (!(curvature > 1e-12 * stiffness_ * dot(d, gd))) break;
    times(hd, ghd);
    const double t = square / curvature;
    for (std::size_t i = 0; i < n_; ++i) {
      q[i] += t * d[i];
      rest[i] -= t * hd[i];
      g_rest[i] -= t * ghd[i];
    }
    const double next = dot(rest, g_rest), ratio = next / square;
    for (std::size_t i = 0; i < n_; ++i) {
      d[i] = rest[i] + ratio * d[i];
      gd[i] = g_rest[i] + ratio * gd[i];
    }
    square = next;
  }
}

// As in weber.cc, with <g, z - x_i> from G b.
double Solver::dual_bound() const {
  const double gz = dot(a_, gb_);
  double moment = 0;
  for (std::size_t i = 0; i < n_; ++i) moment += problem_.weights[i] * (gz - gb_[i]);
  return (f_ - moment / total_) / (1 + slope_ / total_);
}
double Solver::huber_bound() const {
  const double gz = dot(a_, gb_), mean = slope_ / total_;
  double longest = 0;
  Vector square(n_), along(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    const double cosine = (gz - gb_[i]) / total_ / r_[i];
    const double y = std::min(r_[i], mu_) / unit_;
    square[i] = std::max(0.0, y * y - 2 * y * cosine + mean * mean);
    along[i] = (y - cosine) * r_[i];
    longest = std::max(longest, std::sqrt(square[i]));
  }
  const double most = mu_ / unit_, shrink = longest > most ? most / longest : 1.0;
  double sum = 0;
  for (std::size_t i = 0; i < n_; ++i)
    sum += problem_.weights[i] * (shrink * along[i] - shrink * shrink * unit_ * square[i] / 2);
  return sum;
}
double Solver::bound() const { return huber() ? huber_bound() : dual_bound(); }

WeberSolution Solver::finish(int iterations, Stop stop) const {
  WeberSolution solution;
  solution.anchor = static_cast<std::size_t>(std::min_element(r_.begin(), r_.end()) - r_.begin());
  solution.distances.assign(r_.begin(), r_.end());
  solution.objective = f_;
  solution.bound = bound();
  solution.iterations = iterations;
  solution.stop = stop;
  solution.coefficients.resize(n_);
  for (std::size_t i = 0; i < n_; ++i)
    solution.coefficients[i] = i == solution.anchor ? 0 : pull_[i] / stiffness_;
  return solution;
}

std::optional<WeberSolution> Solver::run() {
  if (near_line()) return std::nullopt;
  Vector q(n_), a(n_);
  if (!evaluate()) return std::nullopt;  // from the centre, where all coefficients are 0
  for (int iterations = 0;; ++iterations) {
    if (problem_.enough > 0 && f_ - bound() <= problem_.enough * f_)
      return finish(iterations, Stop::tolerance);
    if (slope_ <= 1e-14 * force_) return finish(iterations, Stop::rounding);
    if (iterations >= problem_.max_iterations) return finish(iterations, Stop::max_iterations);
    newton_direction(q);
    const double before = slope_, f = f_;
    a = a_;
    double t = 1;
    bool better = false;
    for (int trial = 0; trial < 40 && !better; ++trial, t /= 2) {
      for (std::size_t i = 0; i < n_; ++i) a_[i] = a[i] + t * q[i];
      if (!evaluate()) return std::nullopt;
      better = slope_ < before || f_ < f - 1e-9 * f;
    }
    if (!better) {  // rounding is all that is left
      a_ = a;
      if (!evaluate() || slope_ > 1e-11 * force_) return std::nullopt;
      return finish(iterations, Stop::rounding);
    }
  }
}

}  // namespace

std::optional<WeberSolution> solve_by_gram(const GramProblem& problem) {
  return Solver(problem).run();
}

}  // namespace medgrad::estimators
