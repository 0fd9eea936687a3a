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
constexpr double kSkewAt = 2.75;  // 99.4 %
constexpr double kHole = 2;
constexpr std::size_t kTooSmall = 3, kOverSteps = 10;

// The value of place p in [0, 1]; partitions x.
double at_place(std::vector<double>& x, double p) {
  const auto i = static_cast<std::ptrdiff_t>(std::lround(p * static_cast<double>(x.size() - 1)));
  std::nth_element(x.begin(), x.begin() + i, x.end());
  return x[static_cast<std::size_t>(i)];
}

// 1 / f(median), by the quantiles at 1/2 +- h. Where those that bound the median at 95 % are much
// farther apart than a density would have them, there is a hole in the middle, and they count.
struct Sparsity {
  double value = 0;
  bool hollow = false;
};
Sparsity sparsity_of(std::vector<double>& x) {
  const auto n = static_cast<double>(x.size());
  const auto slope = [&](double h) {
    return (at_place(x, 0.5 + h) - at_place(x, 0.5 - h)) / (2 * h);
  };
  const double smooth = slope(std::clamp(0.5 * std::pow(n, -0.2), 0.02, 0.2));
  const double close = slope(std::min(kZ95 / (2 * std::sqrt(n)), 0.2));
  const bool hollow = close > kHole * smooth;
  return {hollow ? close : smooth, hollow};
}

// How far the mean of the middle 90 % lies from the median, over its standard error. The influence
// of an entry x on that difference is (clip(x) - mean of clip) / (1 - 2 trim) for the one, and
// sign(x - median) / (2 f(median)) for the other.
double skewness_score(std::span<const double> x, std::size_t group, double median, bool& hollow) {
  std::vector<double> copy(x.begin(), x.end());
  const double low = at_place(copy, kTrim), high = at_place(copy, 1 - kTrim);
  const auto n = static_cast<double>(x.size());
  const auto [sparsity, hole] = sparsity_of(copy);
  hollow = hole;
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

// The kurtosis as a standard normal variable, if the data are normal (Anscombe and Glynn,
// Biometrika 70, 1983): heavy tails show in it before they do in the variance. Of n independent
// numbers.
double kurtosis_score(std::span<const double> z, double mean, double variance, double n) {
  double fourth = 0;
  for (const double v : z) {
    const double square = (v - mean) * (v - mean) / variance;
    fourth += square * square / static_cast<double>(z.size());
  }
  const double expected = 3 * (n - 1) / (n + 1);
  const double spread = std::sqrt(24 * n * (n - 2) * (n - 3) / ((n + 3) * (n + 5))) / (n + 1);
  const double skewness = 6 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9)) *
                          std::sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)));
  const double a = 6 + 8 / skewness * (2 / skewness + std::sqrt(1 + 4 / (skewness * skewness)));
  const double x = 1 + (fourth - expected) / spread * std::sqrt(2 / (a - 4));
  return ((1 - 2 / (9 * a)) - std::cbrt((1 - 2 / a) / x)) / std::sqrt(2 / (9 * a));
}

// The mean of values that go together with another variable, whose mean is known.
class Controlled {
 public:
  void add(double value, double control) {
    n_ += 1;
    const double dv = value - value_, dc = control - control_;
    value_ += dv / n_;
    control_ += dc / n_;
    both_ += dc * (value - value_);
    squares_ += dc * (control - control_);
  }
  [[nodiscard]] double mean(double of_control) const {
    const double slope = squares_ > 0 ? both_ / squares_ : 0;
    return std::max(value_ - slope * (control_ - of_control), 0.0);
  }

 private:
  double n_ = 0, value_ = 0, control_ = 0, both_ = 0, squares_ = 0;
};

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

// Mean squared errors of median and Huber's estimator around `target` in batches drawn from z. What
// makes Huber's vary is the mean of clipped entries, and what makes the median vary is how many
// entries lie above it: their variances are known, which leaves little to chance.
void set_errors(Efficiency& e, const std::vector<double>& z, double target) {
  const auto clip = [](double v) { return std::clamp(v, -kHuber, kHuber); };
  const auto side = [](double v) { return v > 0 ? 1.0 : v < 0 ? -1.0 : 0.0; };
  const auto n = static_cast<double>(z.size()), size = static_cast<double>(e.compared);
  double clipped = 0, sides = 0, clipped2 = 0, sides2 = 0;
  for (const double v : z) {
    clipped += clip(v) / n, clipped2 += clip(v) * clip(v) / n;
    sides += side(v) / n, sides2 += side(v) * side(v) / n;
  }
  const std::size_t rounds = std::clamp<std::size_t>(400000 / e.compared, 200, 4000);
  Draws draws(z.size());
  std::vector<double> drawn(e.compared);
  Controlled median, huber;
  for (std::size_t r = 0; r < rounds; ++r) {
    double clips = -clipped, above = -sides;
    for (double& v : drawn) {
      v = z[draws.next()];
      clips += clip(v) / size;
      above += side(v) / size;
    }
    const double middle = noise::median(drawn);
    const double estimate = huber_location(drawn, middle, kHuber);
    median.add((middle - target) * (middle - target), above * above);
    huber.add((estimate - target) * (estimate - target), clips * clips);
  }
  e.median = median.mean((sides2 - sides * sides) / size);
  e.huber = huber.mean((clipped2 - clipped * clipped) / size);
}

}  // namespace

Efficiency efficiency_of(std::span<const double> x, std::size_t group, std::size_t batch,
                         bool skewed) {
  Efficiency e;
  e.batch = batch;
  e.compared = batch < kTooSmall ? kOverSteps : batch;
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
  double mean = 0, square = 0, count = 0, beyond = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isinf(x[i])) beyond += x[i];
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
  e.bias = beyond == 0 ? -mean : -beyond;
  e.skewed = std::fabs(skewness_score(z, group, 0, e.hollow)) > kSkewAt || skewed;

  const double target = e.skewed ? mean : 0;
  const auto size = static_cast<double>(e.compared);
  e.mean = square / size;
  // Outliers of one side move the mean of a batch, too.
  if (!e.skewed && mean * mean > 9 * square / count) e.mean += mean * mean;
  if (infinite) e.mean = std::numeric_limits<double>::infinity();
  const double independent = std::ceil(count / static_cast<double>(group));
  if (independent >= static_cast<double>(kFewest))
    e.kurtosis_score = kurtosis_score(z, mean, square, independent);
  set_errors(e, z, target);
  return e;
}

}  // namespace medgrad::noise
