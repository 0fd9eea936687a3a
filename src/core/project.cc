// Projection onto the balls of the q-norms.
#include "core/project.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/lanes.h"
#include "core/radial.h"

namespace medgrad {
namespace {

template <Real T>
double magnitude(std::span<const T> x, std::size_t i) {
  return std::fabs(static_cast<double>(x[i]));
}

// q = 1: soft thresholding, y = sign(x) max(|x| - theta, 0) with theta such that |y|_1 = radius.
//
// With max the largest |x_i|, a_i = max - |x_i| and delta = max - theta this reads y_i = max(delta
// - a_i, 0), which keeps its relative accuracy where the radius is nothing beside the entries.
// delta is the root of  h(delta) = sum max(delta - a_i, 0) - radius,  convex, increasing and
// piecewise linear. Newton's step from the right lands on the root for the current active set and
// never overshoots (Michelot 1986), so it ends when the active set stops changing: a few passes.
// Every third pass bisects what the bracket leaves, which bounds the number of passes for any data.
// Values are scaled by a power of two near the largest, so that sums do not overflow.
template <Real T>
class SimplexThreshold {
 public:
  SimplexThreshold(double radius, std::span<const T> x, double max)
      : x_(x),
        scale_(std::ldexp(1.0, std::clamp(-std::ilogb(max), -1000, 1000))),
        max_(max * scale_) {
    const double target = radius * scale_;
    if (target < 1e-290) {  // far below the spacing of doubles at max: the largest ones share it
      share_ = radius / below(std::numeric_limits<double>::min()).count;
      return;
    }
    double low = 0, high = max_;  // h(low) < 0 <= h(high)
    for (int pass = 0; pass < 400; ++pass) {
      const double at = pass % 3 == 2 ? low + (high - low) / 2 : high;
      const Active active = below(at);
      const double root = (target + active.sum) / active.count;
      if (active.count == 0 || root > at) {
        low = at;
        if (at >= high) break;
        continue;
      }
      const bool done = at - root <= 2e-16 * at;
      high = root;
      if (done || high - low <= 2e-16 * high) break;
    }
    delta_ = high;
  }

  // |y_i|
  [[nodiscard]] double operator()(std::size_t i) const {
    if (share_ > 0) return below_max(i) == 0 ? share_ : 0;
    return std::max(delta_ - below_max(i), 0.0) / scale_;
  }

 private:
  struct Active {
    double sum, count;
  };

  [[nodiscard]] double below_max(std::size_t i) const { return max_ - magnitude(x_, i) * scale_; }

  // Sum and number of the a_i below `at`.
  [[nodiscard]] Active below(double at) const {
    double sum[kernels::kLanes] = {}, count[kernels::kLanes] = {};
    const auto take = [&](std::size_t i, std::size_t lane) {
      const double a = below_max(i);
      sum[lane] += a < at ? a : 0.0;
      count[lane] += a < at ? 1.0 : 0.0;
    };
    std::size_t i = 0;
    for (; i + kernels::kLanes <= x_.size(); i += kernels::kLanes) {
      for (std::size_t lane = 0; lane < kernels::kLanes; ++lane) take(i + lane, lane);
    }
    for (; i < x_.size(); ++i) take(i, i % kernels::kLanes);
    return {kernels::sum_lanes(sum), kernels::sum_lanes(count)};
  }

  std::span<const T> x_;
  double scale_, max_, delta_ = 0, share_ = 0;
};

// 1 < q < infinity: y_i = radius z_i sign(x_i), where with b_i = |x_i| / max and alpha = radius /
// max
//
//     alpha z_i + beta z_i^{q-1} = b_i,     sum z_i^q = 1
//
// are the optimality conditions (beta is the multiplier). All quantities are of moderate size
// however large or small x and the radius are.
class QBall {
 public:
  QBall(double q, double alpha) : k_(q - 1), alpha_(alpha) {}

  struct Solution {
    double z = 0, power = 0;  // power = z^{q-1}
  };

  // The z of one component for a given beta. One of z and u = z^{q-1} turns the equation into a
  // convex one, where Newton's method from the right converges monotonically.
  [[nodiscard]] Solution solve(double b, double beta) const {
    if (b == 0) return {};
    if (k_ >= 1) {
      const double z = convex(alpha_, beta, k_, b);
      return {z, std::pow(z, k_)};
    }
    const double power = 1 / k_;
    const double u = convex(beta, alpha_, power, b);
    // z = u^power loses power * eps; where alpha z is a good part of b, the difference loses less.
    const double rest = b - beta * u;
    return {alpha_ > 0 && rest * power > b ? rest / alpha_ : std::pow(u, power), u};
  }

 private:
  // s >= 0 with  linear s + steep s^power = b,  power >= 1.
  static double convex(double linear, double steep, double power, double b) {
    double s = kInfinity;  // an upper bound: each term alone stays below b
    if (linear > 0) s = b / linear;
    if (steep > 0) s = std::min(s, std::pow(b / steep, 1 / power));
    for (int i = 0; i < 100; ++i) {
      const double term = steep * std::pow(s, power);
      const double excess = linear * s + term - b;
      const double slope = linear + power * term / s;
      const double next = s - excess / slope;
      if (!(next < s) || !(next > 0)) break;
      const bool done = s - next <= 4e-16 * s;
      s = next;
      if (done) break;
    }
    return s;
  }

  double k_, alpha_;
};

// The multiplier: S(beta) = sum z_i(beta)^q falls from above 1 to at most 1 at beta = |b|_p. In
// logs S is nearly a line, so Newton in log beta is fast; a bracket keeps it safe.
template <Real T>
double find_multiplier(double q, const QBall& ball, double alpha, std::span<const T> x,
                       double max) {
  const double p = q / (q - 1);
  double low = 0, high = relative_norm(p, x, max) * (1 + 1e-12);
  double beta = std::clamp(high - alpha, high / 2, high);
  for (int pass = 0; pass < 300; ++pass) {
    double sum[kernels::kLanes] = {}, slope[kernels::kLanes] = {};
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double b = magnitude(x, i) / max;
      const auto [z, power] = ball.solve(b, beta);
      if (z == 0) continue;
      sum[i % kernels::kLanes] += z * power;
      slope[i % kernels::kLanes] += q * power * power / (alpha + beta * (q - 1) * power / z);
    }
    const double s = kernels::sum_lanes(sum), d = beta * kernels::sum_lanes(slope) / s;
    (s > 1 ? low : high) = beta;
    if (std::fabs(s - 1) <= 1e-15 || high - low <= 2e-16 * high) break;
    const double next = beta * std::exp(std::log(s) / d);
    const bool inside = next > low && next < high;
    if (inside && std::fabs(next - beta) <= 1e-16 * beta) break;
    beta = inside ? next : low + (high - low) / 2;
  }
  return beta;
}

// Calls use(i, y_i) for every component of the projection of a point outside the ball.
template <Real T, class Use>
void project_outside(double q, double radius, std::span<const T> x, const Use& use) {
  double max = 0;
  for (std::size_t i = 0; i < x.size(); ++i) max = std::max(max, magnitude(x, i));
  if (radius == 0) {
    for (std::size_t i = 0; i < x.size(); ++i) use(i, 0.0);
  } else if (q == 1) {
    const SimplexThreshold<T> threshold(radius, x, max);
    for (std::size_t i = 0; i < x.size(); ++i) {
      use(i, std::copysign(threshold(i), static_cast<double>(x[i])));
    }
  } else {
    const double alpha = radius / max;
    const QBall ball(q, alpha);
    const double beta = find_multiplier(q, ball, alpha, x, max);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double z = ball.solve(magnitude(x, i) / max, beta).z;
      use(i, std::copysign(radius * z, static_cast<double>(x[i])));
    }
  }
}

// Calls use(i, y_i) for every component of the projection.
template <Real T, class Use>
void project(double q, double radius, std::span<const T> x, const Use& use) {
  if (std::isinf(q)) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      use(i, std::clamp(static_cast<double>(x[i]), -radius, radius));
    }
  } else if (q == 2) {
    const kernels::ScaledNorm r = scaled_norm(x);
    const kernels::Factor factor = r.value == 0 ? kernels::Factor{1, 1} : clip_to(radius, r).factor;
    for (std::size_t i = 0; i < x.size(); ++i) {
      use(i, factor.times(static_cast<double>(x[i])));
    }
  } else if (norm(q, x) <= radius) {
    for (std::size_t i = 0; i < x.size(); ++i) use(i, static_cast<double>(x[i]));
  } else {
    project_outside(q, radius, x, use);
  }
}

}  // namespace

template <Real T>
void project_ball(double q, double radius, std::span<const T> x, std::span<T> out) {
  project(q, radius, x, [&](std::size_t i, double y) { out[i] = static_cast<T>(y); });
}

template <Real T>
void subtract_projection(double q, double radius, std::span<const T> x, std::span<T> out) {
  project(q, radius, x,
          [&](std::size_t i, double y) { out[i] = static_cast<T>(static_cast<double>(x[i]) - y); });
}

template void project_ball(double, double, std::span<const float>, std::span<float>);
template void project_ball(double, double, std::span<const double>, std::span<double>);
template void subtract_projection(double, double, std::span<const float>, std::span<float>);
template void subtract_projection(double, double, std::span<const double>, std::span<double>);

}  // namespace medgrad
