#include "noise/integral.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>

#include "noise/quadrature.h"

namespace medgrad::noise {
namespace {

constexpr double kTwoHills = 0.01;   // corners closer to an end than this go by panels
constexpr double kHighFloor = 1e12;  // next to e^-floor nothing else counts any more

// The trapezoidal rule in v with s = center +- width (v + 1 - e^{-v}). Where g falls off as e^{w},
// the integrand falls off double-exponentially on both sides.
class Trapezoid {
 public:
  Trapezoid(const Integrand& f, const Center& center)
      : f_(f), center_(center), scale_((f.angles.rising() ? 1 : -1) * center.width) {}

  // False where 7 halvings of the step do not settle it.
  bool run(double& result) {
    if (!first()) return false;
    // A halving squares the error, or nearly; less so where g has a corner close to one end. Above
    // a high floor, g - floor is known less well.
    const double corner = f_.angles.corner();
    const bool slow = (corner > 0 && corner < 0.1) || f_.angles.alpha < 0.4;
    const double tolerance = std::max(slow ? 1e-11 : 1e-9, 1e-14 * f_.floor);
    double h = kFirst, old = sum_ * h;
    for (int level = 0; level < 7; ++level) {
      const int count = (highest_ - lowest_) << level;  // in the middle of the gaps so far
      sum_ += nodes(lowest_ * kFirst + h / 2, h, count).sum;
      h /= 2;
      result = sum_ * h;
      // (The first two may agree by accident.)
      if (std::fabs(result - old) <= (level == 0 ? 0.01 : 1.0) * tolerance * result) {
        result *= std::fabs(scale_);
        return true;
      }
      old = result;
    }
    return false;
  }

 private:
  static constexpr double kFirst = 0.4;
  static constexpr int kBlock = 4, kMost = 2048;

  // Outwards from v = 0 in blocks until nothing comes any more; the extent is then fixed.
  bool first() {
    bool more = true;
    for (; more && highest_ < kMost; highest_ += kBlock) {
      const Summands block = nodes(kFirst * highest_, kFirst, kBlock);
      sum_ += block.sum;
      more = block.last > 1e-16 * sum_;
    }
    if (more) return false;
    for (more = true; more && lowest_ > -64; lowest_ -= kBlock) {
      const Summands block = nodes(kFirst * (lowest_ - kBlock), kFirst, kBlock);
      sum_ += block.sum;
      more = block.first > 1e-16 * sum_;
    }
    if (more) return false;
    return sum_ > 0;
  }

  [[nodiscard]] Summands nodes(double start, double step, int count) const {
    return summands(f_, {center_.s, scale_, start, step, static_cast<std::size_t>(count)});
  }

  const Integrand& f_;
  const Center& center_;
  double scale_;
  double sum_ = 0;
  int lowest_ = 0, highest_ = 0;
};

// Adaptive quadrature, for integrands with several scales: cut at all of them.
double by_panels(const Integrand& f, const Center& center) {
  const double step = (f.angles.rising() ? 1 : -1) * center.width;
  std::array<double, 40> cuts{};
  std::size_t count = 0;
  const auto cut = [&](double s) { cuts[count++] = std::clamp(s, -kEnd, kEnd); };
  for (const double w : {-40.0, -12.0, -4.0, -1.5, 0.0, 1.0, 2.0, 3.2, 5.0, 10.0}) {
    cut(center.s + step * w);
  }
  const double bend = (f.angles.rising() ? 1 : -1) * std::log(f.angles.corner());
  for (const double s : {bend - 8, bend - 3, bend, bend + 3, bend + 8}) {
    if (std::isfinite(bend)) cut(s);
  }
  for (const double s : {-kEnd, -300.0, -100.0, -45.0, -24.0, -12.0, -6.0, -3.0, 0.0, 3.0, 6.0,
                         12.0, 24.0, 45.0, 100.0, 300.0, kEnd})
    cut(s);
  std::sort(cuts.begin(), cuts.begin() + static_cast<std::ptrdiff_t>(count));
  const auto values = [&](std::span<const double> s, double* out) {
    integrand(f, s.data(), out, s.size());
  };
  return integrate(values, std::span<const double>(cuts).first(count),
                   std::max(1e-11, 1e-15 * f.floor));
}

// A value of log(g - floor), increasing in u = +-s.
struct Sample {
  double u, height, slope;
};

class Search {
 public:
  Search(const Angles& angles, const Place& place)
      : angles_(angles), place_(place), sign_(angles.rising() ? 1 : -1) {}

  Center run() {
    static constexpr std::array<double, 16> kGrid = {-700, -300, -120, -50, -20, -8,  -3,  -1,
                                                     1,    3,    8,    20,  50,  120, 300, 700};
    look(kGrid);
    // g is bounded from below on the light side: there its height above the floor counts.
    bottom_ = std::exp(samples_[0].height);
    if (samples_[0].height > -3) floor_ = bottom_;
    if (floor_ > kHighFloor) return {.bottom = bottom_, .floor = floor_};
    if (floor_ > 0) {
      for (Sample& sample : samples_) raise(sample);
    }
    Sample low = samples_.front(), high = samples_.back();
    for (const Sample& sample : samples_) {
      if (sample.height <= 0) low = sample;
    }
    for (auto i = samples_.rbegin(); i != samples_.rend(); ++i) {
      if (i->height > 0) high = *i;
    }
    return narrow(low, high);
  }

 private:
  // Both tangents, the chord and the middle, all at once: one of them comes close.
  Center narrow(Sample low, Sample high) {
    for (int round = 0; round < 60; ++round) {
      const Sample& best = -low.height < high.height ? low : high;
      if (std::fabs(best.height) < 0.3 || !(high.u - low.u > 1e-15 * std::fabs(low.u))) break;
      const auto inside = [&](double u, double otherwise) {
        return u > low.u && u < high.u ? u : otherwise;
      };
      const double middle = low.u + (high.u - low.u) / 2;
      const double span = (high.u - low.u) / 4;
      std::array<double, 4> u = {
          inside(low.u - low.height / low.slope, low.u + span),
          inside(high.u - high.height / high.slope, high.u - span),
          inside(low.u - low.height * (high.u - low.u) / (high.height - low.height), middle),
          middle};
      look(u);
      for (std::size_t i = 0; i < u.size(); ++i) {
        Sample& sample = samples_[i];
        if (floor_ > 0) raise(sample);
        if (sample.height <= 0 && sample.u > low.u) low = sample;
        if (sample.height > 0 && sample.u < high.u) high = sample;
      }
    }
    const Sample& best = -low.height < high.height ? low : high;
    return {sign_ * best.u, 1 / std::clamp(std::fabs(best.slope), 0.02, 1e12), bottom_, floor_};
  }

  template <std::size_t kCount>
  void look(const std::array<double, kCount>& u) {
    std::array<double, kCount> s, values, slopes;
    for (std::size_t i = 0; i < kCount; ++i) s[i] = sign_ * u[i];
    log_g(angles_, place_, s.data(), values.data(), slopes.data(), kCount);
    for (std::size_t i = 0; i < kCount; ++i) samples_[i] = {u[i], values[i], sign_ * slopes[i]};
  }

  void raise(Sample& sample) const {
    const double g = std::exp(std::min(sample.height, kEnd));
    const double above = std::max(g - floor_, 1e-300);
    sample.height = std::log(above);
    sample.slope *= g / above;
  }

  const Angles& angles_;
  const Place& place_;
  double sign_;
  double bottom_ = 0, floor_ = 0;
  std::array<Sample, 16> samples_{};
};

}  // namespace

Center find_center(const Angles& angles, const Place& place) { return Search(angles, place).run(); }

double log_integral(const Angles& angles, const Place& place, const Center& center, Weight weight) {
  if (center.floor > kHighFloor) return -center.floor;
  const double shift = weight == Weight::density ? std::fabs(center.s)
                       : weight == Weight::psi   ? std::max(-center.s, 0.0)
                                                 : std::max(center.s, 0.0);
  const Integrand f{angles, place, weight, center.floor, shift};
  double value = 0;
  // Next to a corner far from g = 1 there is a second hill, which the first rule would not find.
  const double corner = angles.corner();
  const bool two_hills = corner > 0 && corner < kTwoHills;
  if (two_hills || !Trapezoid(f, center).run(value)) value = by_panels(f, center);
  return std::log(value) - shift - center.floor;
}

}  // namespace medgrad::noise
