// Given the degrees of freedom, location and scale are found by weighted means with weights
// (v + 1) / (v + z^2) (the EM algorithm, with the sum of weights for n: Kent, Tyler and Vardi
// 1994); what is left is a function of one variable, u = 1/v.
#include "medgrad/student_fit.h"

#include <algorithm>
#include <array>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "noise/standardised.h"
#include "noise/tail_parts.h"

namespace medgrad {
namespace {

constexpr double kLowestDegrees = 0.1;
constexpr double kNormal = 1e-5;  // 1/v below which the law is the normal one
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Place {
  double location = 0, scale = 1;
};

double log_likelihood(std::span<const double> z, const Place& at, double u) {
  const auto n = static_cast<double>(z.size());
  double sum = 0;
  if (u < kNormal) {
    for (const double v : z) sum += std::pow((v - at.location) / at.scale, 2);
    return -sum / 2 - n * (std::log(at.scale) + std::log(2 * std::numbers::pi) / 2);
  }
  const double v = 1 / u;
  for (const double x : z) sum += std::log1p(u * std::pow((x - at.location) / at.scale, 2));
  const double constant = boost::math::lgamma((v + 1) / 2) - boost::math::lgamma(v / 2) -
                          std::log(v * std::numbers::pi) / 2 - std::log(at.scale);
  return n * constant - (v + 1) / 2 * sum;
}

Place best_place(std::span<const double> z, Place at, double u) {
  for (int round = 0; round < 500; ++round) {
    double weights = 0, sum = 0;
    for (const double v : z) {
      const double y = (v - at.location) / at.scale, w = (1 + u) / (1 + u * y * y);
      weights += w;
      sum += w * v;
    }
    const double location = sum / weights;
    double squares = 0;
    for (const double v : z) {
      const double y = (v - at.location) / at.scale, w = (1 + u) / (1 + u * y * y);
      squares += w * (v - location) * (v - location);
    }
    const Place next{location, std::sqrt(squares / weights)};
    const double moved =
        std::fabs(next.location - at.location) / at.scale + std::fabs(next.scale / at.scale - 1);
    at = next;
    if (moved < 1e-11) break;
  }
  return at;
}

struct Best {
  double u = 0, value = -kInf;
  Place at;
};

Best maximise(std::span<const double> z) {
  constexpr std::array<double, 13> kGrid = {
      0, 0.02, 0.06, 0.12, 0.2, 0.33, 0.5, 0.75, 1, 1.5, 2.5, 5, 1 / kLowestDegrees};
  Best best;
  Place at;
  std::size_t place = 0;
  const auto look = [&](double u) {
    at = best_place(z, at, u);
    const double value = log_likelihood(z, at, u);
    if (value > best.value) best = {u, value, at};
    return value;
  };
  // From heavy tails on, whose location and scale no outlier moves.
  for (std::size_t i = kGrid.size(); i-- > 0;) {
    look(kGrid[i]);
    if (best.u == kGrid[i]) place = i;
  }
  double low = kGrid[place == 0 ? 0 : place - 1];
  double high = kGrid[std::min(place + 1, kGrid.size() - 1)];
  constexpr double kGolden = 0.6180339887498949;
  at = best.at;
  double a = high - kGolden * (high - low), b = low + kGolden * (high - low);
  double at_a = look(a), at_b = look(b);
  while (high - low > 1e-8 * (1 + high)) {
    if (at_a > at_b) {
      high = b;
      b = a;
      at_b = at_a;
      at_a = look(a = high - kGolden * (high - low));
    } else {
      low = a;
      a = b;
      at_a = at_b;
      at_b = look(b = low + kGolden * (high - low));
    }
  }
  if (best.u < kNormal) best.u = 0;
  return best;
}

// Standard errors of u = 1/v, log(scale) and location/scale, times sqrt(n) (Lange, Little and
// Taylor, JASA 84, 1989).
std::array<double, 3> errors_of(double u) {
  if (u == 0) return {0, std::sqrt(0.5), 1};
  const double v = 1 / u;
  const double scale = 2 * v / (v + 3), both = -2 / ((v + 1) * (v + 3));
  // Both terms of the difference are close for large v: there its limit, 6/v^4 and on.
  double degrees = 6 / std::pow(v, 4);
  if (v < 200) {
    degrees = (boost::math::trigamma(v / 2) - boost::math::trigamma((v + 1) / 2)) / 4 -
              (v + 5) / (2 * v * (v + 1) * (v + 3));
  }
  const double determinant = degrees * scale - both * both;
  return {std::sqrt(scale / determinant) * u * u, std::sqrt(degrees / determinant),
          std::sqrt((v + 3) / (v + 1))};
}

}  // namespace

StudentFit fit_student(std::span<const double> sample) {
  const noise::Standardised s = noise::standardise(sample);
  const Best best = maximise(s.z);
  const auto n = static_cast<double>(s.z.size());
  std::array<double, 3> errors = errors_of(best.u);
  for (double& e : errors) e /= std::sqrt(n);
  // Next to normal data the information on v vanishes: there 1/v has the error that it has at 200.
  const double of_inverse = std::max(errors[0], errors_of(1.0 / 200)[0] / std::sqrt(n));
  const double way = s.mirrored ? -1 : 1;
  StudentFit fit;
  fit.degrees = best.u > 0 ? 1 / best.u : kInf;
  fit.scale = s.unit * best.at.scale;
  fit.location = way * (s.centre + s.unit * best.at.location);
  fit.errors = {of_inverse, fit.scale * errors[1], fit.scale * errors[2]};
  const double low = best.u - noise::kZ95 * of_inverse, high = best.u + noise::kZ95 * of_inverse;
  fit.degrees_interval = {1 / high, low > 0 ? 1 / low : kInf};
  const double factor = std::exp(noise::kZ95 * errors[1]);
  fit.scale_interval = {fit.scale / factor, fit.scale * factor};
  const double off = noise::kZ95 * fit.errors.location;
  fit.location_interval = {fit.location - off, fit.location + off};
  fit.log_likelihood = best.value - n * std::log(s.unit);
  fit.n = s.z.size();
  fit.missing = s.missing;
  fit.infinite = s.infinite;
  return fit;
}

}  // namespace medgrad
