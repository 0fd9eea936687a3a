#include "noise/efficiency.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "medgrad/error.h"
#include "noise/draws.h"
#include "noise/skewness.h"
#include "noise/tail_parts.h"

namespace medgrad::noise {
namespace {

constexpr double kHuber = 1.345, kNormal = 1.482602218505602;
constexpr double kLargest = 1e150;  // in units of the spread: its square is a number
constexpr std::size_t kTooSmall = 3, kOverSteps = 10;

// The kurtosis as a standard normal variable, if the data are normal (Anscombe and Glynn,
// Biometrika 70, 1983): heavy tails show in it before they do in the variance. Of n independent
// numbers, with the mean of fourth powers over the square of the variance.
double kurtosis_score(double fourth, double n) {
  const double expected = 3 * (n - 1) / (n + 1);
  const double spread = std::sqrt(24 * n * (n - 2) * (n - 3) / ((n + 3) * (n + 5))) / (n + 1);
  const double skewness = 6 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9)) *
                          std::sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)));
  const double a = 6 + 8 / skewness * (2 / skewness + std::sqrt(1 + 4 / (skewness * skewness)));
  const double x = 1 + (fourth - expected) / spread * std::sqrt(2 / (a - 4));
  return ((1 - 2 / (9 * a)) - std::cbrt((1 - 2 / a) / x)) / std::sqrt(2 / (9 * a));
}

// The mean of values that go together with another variable, whose mean is 0.
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
  [[nodiscard]] double mean() const {
    const double slope = squares_ > 0 ? both_ / squares_ : 0;
    return std::max(value_ - slope * control_, 0.0);
  }

 private:
  double n_ = 0, value_ = 0, control_ = 0, both_ = 0, squares_ = 0;
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

// One component around its median, in units of its spread.
struct Component {
  Part part;
  double spread = 0;  // 0 where there is none
  double mean = 0, variance = 0;
  double beyond = 0;      // the sum of what is infinite
  bool infinite = false;  // something is, or as good as

  [[nodiscard]] double count() const { return static_cast<double>(part.z.size()); }
  void standardise();
};

// x - y for numbers of any size, times a half where it would overflow.
double off(double x, double y, double half) { return half * x - half * y; }

void Component::standardise() {
  std::vector<double>& z = part.z;
  const double median = noise::median(z);
  if (!std::isfinite(median)) return;
  double largest = std::fabs(median);
  for (const double v : z) {
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  }
  const double half = largest > 0x1p1000 ? 0.5 : 1;
  std::vector<double> sizes = z;
  for (double& v : sizes) v = std::fabs(off(v, median, half));
  double size = noise::median(sizes);
  if (size == 0) {  // half of them are one number: the scale is that of the others
    std::erase(sizes, 0.0);
    if (sizes.empty()) return;
    size = noise::median(sizes);
  }
  if (!std::isfinite(size)) return;
  spread = size * kNormal / half;
  double count_so_far = 0;
  for (double& v : z) {
    if (std::isinf(v)) beyond += v;
    v = off(v, median, half) / (size * kNormal);
    if (!std::isfinite(v)) {
      infinite = infinite || !std::isnan(v);
      v = std::copysign(kLargest, v);
    }
    v = std::clamp(v, -kLargest, kLargest);
    count_so_far += 1;
    mean += (v - mean) / count_so_far;
  }
  for (const double v : z) variance += (v - mean) * (v - mean) / count_so_far;
}

// What makes Huber's estimator of a batch vary is the mean of clipped entries, and what makes the
// median vary is how many entries lie above it: their variances are known, which leaves little to
// chance.
struct Controls {
  double clipped = 0, sides = 0;                // means
  double clipped_square = 0, sides_square = 0;  // variances
  explicit Controls(std::span<const double> z) {
    const auto n = static_cast<double>(z.size());
    for (const double v : z) {
      clipped += clip(v) / n, clipped_square += clip(v) * clip(v) / n;
      sides += side(v) / n, sides_square += side(v) * side(v) / n;
    }
    clipped_square -= clipped * clipped;
    sides_square -= sides * sides;
  }
  static double clip(double v) { return std::clamp(v, -kHuber, kHuber); }
  static double side(double v) { return v > 0 ? 1.0 : v < 0 ? -1.0 : 0.0; }
};

// The middle of few numbers comes back again and again in batches that are nearly as large as the
// sample. So those are not larger than a tenth of it, and what larger ones vary is less by the
// ratio of the sizes.
std::size_t drawn_size(std::size_t batch, std::size_t n) {
  return std::min(batch, std::max(n / 10, kOverSteps));
}

// Mean squared errors of median and Huber's estimator in batches drawn from one component at a
// time, around its mean or its median.
void set_errors(Efficiency& e, const std::vector<Component>& components, bool around_mean,
                std::size_t rows) {
  const std::size_t size = drawn_size(e.compared, rows);
  const auto count = static_cast<double>(size);
  const double shrink = count / static_cast<double>(e.compared);
  const std::size_t rounds = std::clamp<std::size_t>(400000 / size, 200, 4000);
  std::vector<Controls> controls;
  controls.reserve(components.size());
  for (const Component& c : components) controls.emplace_back(c.part.z);
  const std::size_t used = std::min(components.size(), rounds);
  Draws draws;
  std::vector<double> drawn(size);
  Controlled median, huber;
  double median_off = 0, huber_off = 0;  // squares of the distance in the whole sample
  for (std::size_t i = 0; i < used; ++i) {
    const Component& c = components[i * components.size() / used];
    const double target = around_mean ? c.mean : 0;
    const double location = size < e.compared ? huber_location(c.part.z, 0, kHuber) : 0;
    median_off += target * target / static_cast<double>(used);
    huber_off += (location - target) * (location - target) / static_cast<double>(used);
  }
  for (std::size_t r = 0; r < rounds; ++r) {
    const std::size_t which = (r % used) * components.size() / used;
    const Component& c = components[which];
    const Controls& known = controls[which];
    const double target = around_mean ? c.mean : 0;
    double clips = -known.clipped, above = -known.sides;
    for (double& v : drawn) {
      v = c.part.z[draws.below(c.part.z.size())];
      clips += Controls::clip(v) / count;
      above += Controls::side(v) / count;
    }
    const double middle = noise::median(drawn);
    const double estimate = huber_location(drawn, middle, kHuber);
    median.add((middle - target) * (middle - target), above * above - known.sides_square / count);
    huber.add((estimate - target) * (estimate - target),
              clips * clips - known.clipped_square / count);
  }
  const auto scaled = [&](double error, double squared_off) {
    const double fixed = std::min(around_mean ? squared_off : 0.0, error);
    return fixed + (error - fixed) * shrink;
  };
  e.median = scaled(median.mean(), median_off);
  e.huber = scaled(huber.mean(), huber_off);
}

std::vector<Component> components_of(std::span<const double> x, std::size_t width) {
  std::vector<Component> components;
  const std::size_t rows = x.size() / width;
  for (std::size_t j = 0; j < width; ++j) {
    Component c;
    for (std::size_t i = 0; i < rows; ++i) {
      if (std::isnan(x[i * width + j])) continue;
      c.part.z.push_back(x[i * width + j]);
      c.part.row.push_back(i);
    }
    if (c.part.z.size() < kFewest) continue;
    c.standardise();
    if (c.spread > 0) components.push_back(std::move(c));
  }
  return components;
}

// The squared distance of mean and median that is more than chance, mean over the components.
double squared_bias(const std::vector<Component>& components, std::span<const double> sparsity) {
  double sum = 0;
  for (std::size_t j = 0; j < components.size(); ++j) {
    const Component& c = components[j];
    double chance = 0;
    for (const double v : c.part.z) {
      const double influence = v - c.mean - Controls::side(v) * sparsity[j] / 2;
      chance += influence * influence / c.count() / c.count();
    }
    sum += c.mean * c.mean - std::min(chance, kLargest * kLargest);
  }
  return std::max(sum / static_cast<double>(components.size()), 0.0);
}

double bias_of(const std::vector<Component>& components, std::span<const double> sparsity) {
  if (components.size() == 1) {
    const Component& c = components.front();
    return c.beyond == 0 ? -c.mean : -c.beyond;
  }
  for (const Component& c : components) {
    if (c.beyond != 0) return std::fabs(c.beyond);
  }
  return std::sqrt(squared_bias(components, sparsity));
}

}  // namespace

Efficiency efficiency_of(std::span<const double> x, std::size_t width, std::size_t batch,
                         bool skewed) {
  Efficiency e;
  e.batch = batch;
  e.compared = batch < kTooSmall ? kOverSteps : batch;
  const std::vector<Component> components = components_of(x, width);
  if (components.empty())
    throw Error("the sample has no spread that batches could be compared by.");
  const std::size_t rows = x.size() / width;
  const auto number = static_cast<double>(components.size());
  Leaning leaning(rows, components.size());
  std::vector<double> sparsity;
  std::size_t hollow = 0;
  bool infinite = false;
  double fourth = 0;
  std::vector<double> spreads;
  for (const Component& c : components) {
    const Lean lean = leaning.add(c.part);
    sparsity.push_back(lean.sparsity);
    hollow += lean.hollow ? 1 : 0;
    infinite = infinite || c.infinite;
    spreads.push_back(c.spread);
    for (const double v : c.part.z) {
      const double square = (v - c.mean) * (v - c.mean) / c.variance;
      fourth += square * square / c.count() / number;
    }
  }
  e.spread = noise::median(spreads);
  e.hollow = 2 * hollow > components.size();
  e.skewed = leaning.skewed() || skewed;
  e.bias = bias_of(components, sparsity);
  for (const Component& c : components) {
    e.mean += c.variance / static_cast<double>(e.compared) / number;
    // Outliers of one side move the mean of a batch, too.
    if (!e.skewed && c.mean * c.mean > 9 * c.variance / c.count())
      e.mean += c.mean * c.mean / number;
  }
  if (infinite) e.mean = std::numeric_limits<double>::infinity();
  if (rows >= kFewest) e.kurtosis_score = kurtosis_score(fourth, static_cast<double>(rows));
  set_errors(e, components, e.skewed && !infinite, rows);
  for (double* error : {&e.mean, &e.median, &e.huber}) {
    if (*error > kLargest) *error = std::numeric_limits<double>::infinity();
  }
  return e;
}

}  // namespace medgrad::noise
