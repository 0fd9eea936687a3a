#include "noise/efficiency.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "medgrad/error.h"
#include "medgrad/rng.h"
#include "noise/tail_parts.h"

namespace medgrad::noise {
namespace {

constexpr double kHuber = 1.345, kNormal = 1.482602218505602;
constexpr double kTrim = 0.05;
constexpr double kSkewAt = 3.0;  // 99.7 %

// The value of place p in [0, 1]; partitions x.
double at_place(std::vector<double>& x, double p) {
  const auto i = static_cast<std::ptrdiff_t>(std::lround(p * static_cast<double>(x.size() - 1)));
  std::nth_element(x.begin(), x.begin() + i, x.end());
  return x[static_cast<std::size_t>(i)];
}

// How far the mean of the middle 90 % lies from the median, over its standard error. The influence
// of an entry x on that difference is (clip(x) - mean of clip) / (1 - 2 trim) for the one, and
// sign(x - median) / (2 f(median)) for the other.
double skewness_score(std::span<const double> x, std::size_t group, double median) {
  std::vector<double> copy(x.begin(), x.end());
  const double low = at_place(copy, kTrim), high = at_place(copy, 1 - kTrim);
  const auto n = static_cast<double>(x.size());
  const double h = std::clamp(0.5 * std::pow(n, -0.2), 0.02, 0.2);
  const double sparsity = (at_place(copy, 0.5 + h) - at_place(copy, 0.5 - h)) / (2 * h);
  double middle = 0, clipped = 0, inside = 0;
  for (const double v : x) {
    clipped += (std::clamp(v, low, high) - median) / n;
    if (v >= low && v <= high) middle += v - median, inside += 1;
  }
  middle /= inside;
  double squares = 0, sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double sign = v > median ? 1 : v < median ? -1 : 0;
    sum += (std::clamp(v, low, high) - median - clipped) / (1 - 2 * kTrim) - sign * sparsity / 2;
    if ((i + 1) % group == 0 || i + 1 == x.size()) {
      squares += sum * sum;
      sum = 0;
    }
  }
  const double error = std::sqrt(squares) / n;
  return error > 0 ? middle / error : 0;
}

// Whole numbers below n, of a stream of their own.
class Draws {
 public:
  explicit Draws(std::size_t n) : n_(n), words_(4096) {}
  std::size_t next() {
    if (at_ % words_.size() == 0) {
      Philox(0x7461696c, 1).fill_uniform(words_, at_);
    }
    const double u = words_[at_++ % words_.size()];
    return std::min(static_cast<std::size_t>(u * static_cast<double>(n_)), n_ - 1);
  }

 private:
  std::size_t n_, at_ = 0;
  std::vector<double> words_;
};

double huber_location(std::span<const double> x, double start, double mu) {
  double t = start;
  for (int i = 0; i < 40; ++i) {
    double push = 0, inside = 0;
    for (const double v : x) {
      push += std::clamp(v - t, -mu, mu);
      if (std::fabs(v - t) < mu) inside += 1;
    }
    const double step = push / std::max(inside, 1.0);
    t += step;
    if (std::fabs(step) < 1e-6 * mu) break;
  }
  return t;
}

}  // namespace

Efficiency efficiency_of(std::span<const double> x, std::size_t group, std::size_t batch,
                         bool skewed) {
  Efficiency e;
  e.batch = batch;
  const double median = noise::median({x.begin(), x.end()});
  if (!std::isfinite(median)) throw Error("half of the sample or more is infinite.");
  std::vector<double> z(x.begin(), x.end());
  for (double& v : z) v = std::fabs(v / 2 - median / 2);
  e.spread = 2 * noise::median(z) * kNormal;
  if (!(e.spread > 0)) {
    throw Error("half of the sample or more is one number; its noise has no scale.");
  }
  const double unit = std::max(e.spread, 1e-300);
  bool infinite = false;
  double mean = 0, square = 0, count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    z[i] = (x[i] / 2 - median / 2) / unit * 2;
    if (!std::isfinite(z[i])) {
      infinite = infinite || !std::isnan(z[i]);
      z[i] = std::copysign(1e150, z[i]);
    }
    z[i] = std::clamp(z[i], -1e150, 1e150);
    count += 1;
    mean += (z[i] - mean) / count;
  }
  for (const double v : z) square += (v - mean) * (v - mean) / count;
  e.bias = -mean;
  e.skewed = skewed || std::fabs(skewness_score(z, group, 0)) > kSkewAt;

  const double target = e.skewed ? mean : 0;
  const auto size = static_cast<double>(batch);
  e.mean = square / size;
  // Outliers of one side move the mean of a batch, too.
  if (!e.skewed && mean * mean > 9 * square / count) e.mean += mean * mean;
  if (infinite) e.mean = std::numeric_limits<double>::infinity();

  const std::size_t rounds = std::clamp<std::size_t>(400000 / batch, 200, 4000);
  Draws draws(z.size());
  std::vector<double> drawn(batch);
  for (std::size_t r = 0; r < rounds; ++r) {
    for (double& v : drawn) v = z[draws.next()];
    const double middle = noise::median(drawn);
    const double huber = huber_location(drawn, middle, kHuber);
    e.median += (middle - target) * (middle - target) / static_cast<double>(rounds);
    e.huber += (huber - target) * (huber - target) / static_cast<double>(rounds);
  }
  return e;
}

}  // namespace medgrad::noise
