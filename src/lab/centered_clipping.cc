// The study of where centered clipping ends: fixed points for a clip c, and the geometric median.
//
// A fixed point v has E psi(X - v) = 0 with psi(x) = min(1, c/|x|) x. Divided by c, and with
// x = r u, |u| = 1,
//
//     E u = E (1 - r/c)_+ u.
//
// The left side is the gradient of -E|X - v|, which is -H (v - v_0) near the geometric median v_0,
// H = E (I - u u')/r. For a sample the right side is 0 once no row is within c of v, so that v =
// v_0 exactly. For a smooth density p it is the integral over the ball of radius c; there p is p(v)
// + r <grad p, u> + …, of which the first term cancels and the second leaves
//
//     grad p  (|S|/d) int_0^c (1 - r/c) r^d dr  =  grad p  V c^(d+1) / ((d+1)(d+2)),
//
// V = |S|/d the volume of the unit ball. So  v_0 - v = H^-1 grad p V c^(d+1) / ((d+1)(d+2)) + ….
#include <fmt/core.h>

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <numbers>

#include "lab/results.h"
#include "lab/study.h"
#include "medgrad/rng.h"
#include "medgrad/sample.h"

namespace medgrad::lab {
namespace {

constexpr std::size_t kMaxN = 1000, kMaxD = 10, kMaxRuns = 10'000;
constexpr double kPi = std::numbers::pi;

// ---- A density: two normal laws side by side, symmetric around the first axis -------------------

struct Part {
  double weight, place, deviation;
};
constexpr Part kMixture[] = {{0.6, 0, 1}, {0.4, 1.5, 0.6}};

// The integral of g(r) over [0, end], cut at c, where g has a kink.
template <class Function>
double integral(const Function& g, double c, double end) {
  using Rule = boost::math::quadrature::gauss<double, 40>;
  double sum = c > 0 ? Rule::integrate(g, 0, c) : 0;
  constexpr int kPanels = 4;
  for (int i = 0; i < kPanels; ++i)
    sum += Rule::integrate(g, c + (end - c) * i / kPanels, c + (end - c) * (i + 1) / kPanels);
  return sum;
}

// S(k) = (2 pi)^(d/2) k^(-d/2) I_{d/2}(k): over the unit sphere, e^(k u_1) times u_1 has the
// integral k S(k), and times 1 - u_1^2 it has (d - 1) S(k).
double over_sphere(double d, double k) {
  const double nu = d / 2;
  const double ratio = k < 1e-8 ? std::pow(2, -nu) / std::tgamma(nu + 1)
                                : std::cyl_bessel_i(nu, k) * std::pow(k, -nu);
  return std::pow(2 * kPi, nu) * ratio;
}

// Along the first axis: E min(r/c, 1) u_1 at v = (x, 0, …); with c = 0, E u_1.
double pull(double d, double c, double x) {
  double sum = 0;
  for (const Part& part : kMixture) {
    const double weight = part.weight, place = part.place, s = part.deviation;
    const double shift = place - x, a = std::abs(shift);
    const double scale = std::pow(2 * kPi * s * s, -d / 2);
    sum += weight * shift *
           integral(
               [&](double r) {
                 const double k = r * a / (s * s);
                 return (r < c ? r / c : 1) * std::pow(r, d - 1) * scale *
                        std::exp(-(r * r + a * a) / (2 * s * s)) * over_sphere(d, k) * r / (s * s);
               },
               c, a + 9 * s);
  }
  return sum;
}

// Where pull() is 0.
double root(double d, double c) {
  double low = kMixture[0].place, high = kMixture[1].place;
  for (int i = 0; i < 45; ++i) {
    const double middle = low + (high - low) / 2;
    (pull(d, c, middle) > 0 ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

// grad p V / ((d+1)(d+2) H) at x, along the first axis. In one dimension H is twice the density,
// in more E (1 - u_1^2)/r.
double constant(double d, double x) {
  double slope = 0, curvature = 0;
  for (const Part& part : kMixture) {
    const double weight = part.weight, place = part.place, s = part.deviation;
    const double a = std::abs(place - x), scale = std::pow(2 * kPi * s * s, -d / 2);
    const double density = scale * std::exp(-a * a / (2 * s * s));
    slope += weight * density * (place - x) / (s * s);
    curvature +=
        weight * (d == 1 ? 2 * density
                         : (d - 1) * integral(
                                         [&](double r) {
                                           const double k = r * a / (s * s);
                                           return std::pow(r, d - 2) * scale *
                                                  std::exp(-(r * r + a * a) / (2 * s * s)) *
                                                  over_sphere(d, k);
                                         },
                                         0, a + 9 * s));
  }
  const double volume = std::pow(kPi, d / 2) / std::tgamma(d / 2 + 1);
  return slope * volume / ((d + 1) * (d + 2) * curvature);
}

// ---- The study ----------------------------------------------------------------------------------

// A task is a sample, or the density, in one dimension d.
class CenteredClippingStudy final : public TaskStudy {
 public:
  CenteredClippingStudy(std::size_t n, std::vector<std::size_t> dimensions,
                        std::vector<double> clips, std::size_t runs, std::uint64_t seed)
      : n_(n),
        dimensions_(std::move(dimensions)),
        clips_(std::move(clips)),
        runs_(runs),
        seed_(seed) {}

  std::size_t tasks() const override { return dimensions_.size() * (runs_ + 1); }

  std::vector<double> run_task(std::size_t task) const override {
    const std::size_t d = dimensions_[task / (runs_ + 1)], run = task % (runs_ + 1);
    return run == runs_ ? of_density(static_cast<double>(d)) : of_sample(d, run);
  }

  std::vector<Group> collect(const std::vector<std::vector<double>>& numbers) const override {
    std::vector<Group> groups;
    for (std::size_t k = 0; k < dimensions_.size(); ++k) {
      const double d = static_cast<double>(dimensions_[k]);
      const auto at = [&](std::size_t run) -> const std::vector<double>& {
        return numbers[k * (runs_ + 1) + run];
      };
      const auto add = [&](Group group, std::size_t first, std::size_t last, std::size_t i) {
        group.runs = last - first;
        for (std::size_t run = first; run < last; ++run) group.values.push_back(at(run)[i]);
        summarise(group);
        groups.push_back(std::move(group));
      };
      const std::size_t count = clips_.size();
      add({.method = "sample", .key = "centered-clipping", .axes = {{"d", d}}, .metric = "nearest"},
          0, runs_, count);
      for (std::size_t i = 0; i < count; ++i) {
        const Axes axes = {{"d", d}, {"clip", clips_[i]}};
        add({.method = "sample", .key = "centered-clipping", .axes = axes, .metric = "distance"}, 0,
            runs_, i);
        add({.method = "density", .key = "geometric-median", .axes = axes, .metric = "distance"},
            runs_, runs_ + 1, i);
        add({.method = "theory", .key = "theory", .axes = axes, .metric = "distance"}, runs_,
            runs_ + 1, count + i);
      }
    }
    return groups;
  }

 private:
  // For every clip the distance from the geometric median, then that of the nearest row from it.
  [[nodiscard]] std::vector<double> of_sample(std::size_t d, std::size_t run) const {
    std::vector<double> rows(n_ * d), median(d), mean(d), v(d), numbers;
    Philox(seed_, run * kMaxD + d).fill_normal(rows);
    const Rows<double> view(rows, n_, d);
    aggregate<double>(GeometricMedian{}, view, median);
    aggregate<double>(Mean{}, view, mean);
    const auto distance = [&](const double* x) {
      double square = 0;
      for (std::size_t j = 0; j < d; ++j) square += (x[j] - median[j]) * (x[j] - median[j]);
      return std::sqrt(square);
    };
    for (const double clip : clips_) {
      // Each iteration takes a share of about clip off what is left.
      const int iterations = static_cast<int>(400 / clip) + 100;
      aggregate<double>(CenteredClipping{clip, iterations}, view, v, {.center = mean});
      numbers.push_back(distance(v.data()));
    }
    double nearest = distance(view.row(0));
    for (std::size_t i = 1; i < n_; ++i) nearest = std::min(nearest, distance(view.row(i)));
    numbers.push_back(nearest);
    return numbers;
  }

  // For every clip the distance between the root and the median, then what theory says it is.
  [[nodiscard]] std::vector<double> of_density(double d) const {
    const double median = root(d, 0), factor = constant(d, median);
    std::vector<double> numbers;
    for (const double clip : clips_) numbers.push_back(std::abs(median - root(d, clip)));
    for (const double clip : clips_) numbers.push_back(std::abs(factor) * std::pow(clip, d + 1));
    return numbers;
  }

  std::size_t n_;
  std::vector<std::size_t> dimensions_;
  std::vector<double> clips_;
  std::size_t runs_;
  std::uint64_t seed_;
};

// The numbers under a key: one, a list or a range.
std::vector<Node> read_numbers(Reader& reader, const std::string& key) {
  const Node* const given = reader.any(key);
  if (given == nullptr) reader.fail(reader.node(), fmt::format("the experiment has no '{}'.", key));
  std::vector<Node> numbers;
  for (const GridPoint& point :
       expand(Node{Node::Object{{key, *given}}, given->line}, reader.file()))
    numbers.push_back(point.node);
  return numbers;
}

}  // namespace

std::unique_ptr<Study> read_centered_clipping(Reader& reader) {
  const std::uint64_t seed = read_seed(reader);
  const std::size_t runs = reader.whole("seeds", 5, 1, kMaxRuns);
  const std::size_t n = reader.whole("n", 15, 1, kMaxN);
  std::vector<std::size_t> dimensions;
  for (const Node& one : read_numbers(reader, "d"))
    dimensions.push_back(Reader(one, reader.file(), "the experiment").whole("d", {}, 1, kMaxD));
  std::vector<double> clips;
  for (const Node& one : read_numbers(reader, "clip")) {
    clips.push_back(Reader(one, reader.file(), "the experiment").number("clip"));
    if (!(clips.back() >= 1e-3 && clips.back() <= 1e3))
      reader.fail(*one.find("clip"), "'clip' must be from 0.001 to 1000.");
  }
  reader.finish();
  return std::make_unique<CenteredClippingStudy>(n, std::move(dimensions), std::move(clips), runs,
                                                 seed);
}

}  // namespace medgrad::lab
