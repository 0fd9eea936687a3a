#include "noise/reach.h"

#include <algorithm>
#include <array>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <functional>
#include <vector>

#include "medgrad/stable.h"
#include "noise/tail_parts.h"

namespace medgrad::noise {
namespace {

// So many entries of a component are expected beyond the points that it is tested at: one that is a
// little heavier shows in many, one that is far heavier in few.
constexpr std::array<double, 3> kExpected = {0.3, 3, 20};
constexpr double kMostShare =
    0.1;  // of a component beyond a point: what lies farther in is no tail
constexpr double kLowestAlpha = 0.1;
constexpr std::array<std::size_t, 4> kRanks = {1, 3, 10, 30};  // of numbers, the farthest first
// Standard errors of a median and of a median distance are 1.6 / sqrt(n) of the distance or less,
// from the Gaussian law to Cauchy's; none of them is farther off than this but once in a hundred.
constexpr double kError = 1.6, kOften = 0.01;

// |X - median| of a stable law, whatever its scale.
class Folded {
 public:
  explicit Folded(const StableParameters& parameters)
      : law_(parameters), middle_(law_.quantile(0.5)), unit_(point(0.5)) {}
  // The distance that is exceeded with this probability, over the median distance.
  [[nodiscard]] double beyond(double probability) const { return point(probability) / unit_; }
  // And how probable a distance is, or a larger one.
  [[nodiscard]] double survival(double distance) const { return survival_at(distance * unit_); }

 private:
  [[nodiscard]] double survival_at(double t) const {
    return law_.survival(middle_ + t) + law_.cdf(middle_ - t);
  }
  [[nodiscard]] double point(double probability) const {
    double low = -50, high = 700;  // of its logarithm
    for (int i = 0; i < 60; ++i) {
      const double at = low + (high - low) / 2, t = std::exp(at);
      (survival_at(t) > probability ? low : high) = at;
    }
    return std::exp(low);
  }
  Stable law_;
  double middle_, unit_;
};

// P(a standard normal variable is above z) = p, for small p (Abramowitz and Stegun 26.2.22).
double normal_above(double p) {
  const double t = std::sqrt(-2 * std::log(p));
  return t - (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t));
}

// As heavy as its interval allows.
Folded folded(const StableFit& law) {
  const double alpha = std::max(law.alpha.low, kLowestAlpha);
  return Folded({alpha, alpha >= 2 ? 0 : law.parameters.beta});
}

}  // namespace

double p_of_reach(const NoiseMatrix& noise, const StableFit& law) {
  const auto width = static_cast<double>(noise.width), n = static_cast<double>(noise.n);
  const double slack = normal_above(kOften / width) * kError / std::sqrt(n);
  const Folded likely = folded(law);
  struct Level {
    double share, distance;
  };
  std::vector<Level> levels;
  for (const double expected : kExpected) {
    const double share = expected / n;
    if (share <= kMostShare) levels.push_back({share, likely.beyond(share) * (1 + slack) + slack});
  }
  double smallest = 1;
  std::vector<double> sizes;
  for (std::size_t j = 0; j < noise.width; ++j) {
    sizes.clear();
    for (std::size_t i = 0; i < noise.n; ++i)
      if (!std::isnan(noise.at(i, j))) sizes.push_back(std::fabs(noise.at(i, j)));
    if (sizes.size() < kFewest) continue;
    const double unit = median(sizes);
    if (!(unit > 0) || !std::isfinite(unit)) continue;
    const auto count = static_cast<double>(sizes.size());
    for (const Level& level : levels) {
      const auto beyond = static_cast<double>(std::count_if(
          sizes.begin(), sizes.end(), [&](double x) { return x > unit * level.distance; }));
      if (beyond <= level.share * count) continue;
      smallest = std::min(smallest, boost::math::ibeta(beyond, count - beyond + 1, level.share));
    }
  }
  return std::min(1.0, smallest * width * static_cast<double>(levels.size()));
}

double p_of_reach(std::vector<double> distances, std::size_t n, double unit, std::size_t seen,
                  const StableFit& law) {
  if (!(unit > 0) || !std::isfinite(unit)) return 1;
  for (double& d : distances) d = std::isnan(d) ? 0 : std::fabs(d);
  const std::size_t kept = std::min(distances.size(), kRanks.back());
  std::partial_sort(distances.begin(), distances.begin() + static_cast<std::ptrdiff_t>(kept),
                    distances.end(), std::greater<>());
  const double slack = normal_above(kOften) * kError / std::sqrt(static_cast<double>(seen));
  const Folded likely = folded(law);
  const auto count = static_cast<double>(n);
  double smallest = 1;
  for (const std::size_t rank : kRanks) {
    const auto r = static_cast<double>(rank);
    if (rank > kept || r > kMostShare * count) break;
    const double distance = (distances[rank - 1] / unit - slack) / (1 + slack);
    if (!(distance > 1)) break;
    smallest = std::min(smallest, boost::math::ibeta(r, count - r + 1, likely.survival(distance)));
  }
  return std::min(1.0, smallest * static_cast<double>(kRanks.size()));
}

}  // namespace medgrad::noise
