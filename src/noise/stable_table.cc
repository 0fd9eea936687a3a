#include "medgrad/stable_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/text.h"
#include "medgrad/error.h"
#include "medgrad/thread_pool.h"

namespace medgrad {
namespace {

constexpr double kReach = 20;        // w from -20 to 20: |x| up to 2.4e8 scales
constexpr std::size_t kParts = 512;  // of the range, to find panels by
constexpr int kDeepest = 9;          // halvings of a panel of 40/16
constexpr double kUnderflow = -740, kZero = -760;

template <std::size_t N>
const std::array<std::array<double, N>, N>& cosines() {  // cos(pi j (2k + 1) / (2N))
  static const auto table = [] {
    std::array<std::array<double, N>, N> c{};
    for (std::size_t j = 0; j < N; ++j) {
      for (std::size_t k = 0; k < N; ++k) {
        const std::size_t turn = j * (2 * k + 1) % (4 * N);
        c[j][k] = std::cos(std::numbers::pi * static_cast<double>(turn) / (2 * N));
      }
    }
    return c;
  }();
  return table;
}

// Clenshaw's recurrence.
template <std::size_t N>
double chebyshev(const std::array<double, N>& c, double t) {
  double a = 0, b = 0;
  for (std::size_t j = N - 1; j > 0; --j) {
    const double next = 2 * t * a - b + c[j];
    b = a;
    a = next;
  }
  return t * a - b + c[0];
}

// d/dt by c'_{j-1} = c'_{j+1} + 2 j c_j.
template <std::size_t N>
std::array<double, N> differentiated(const std::array<double, N>& c) {
  std::array<double, N> d{};
  for (std::size_t j = N - 1; j > 0; --j)
    d[j - 1] = (j + 1 < N ? d[j + 1] : 0) + 2 * static_cast<double>(j) * c[j];
  d[0] /= 2;
  return d;
}

StableParameters standard_of(const StableParameters& p) { return {p.alpha, p.beta}; }

}  // namespace

StableTable::StableTable(const StableParameters& parameters, double tolerance)
    : law_(parameters), standard_(standard_of(parameters)), tolerance_(tolerance) {
  check("tolerance", tolerance, {1e-12, 0.1});
  const StableParameters s0 = convert(parameters, StableForm::S0);
  location_ = s0.location;
  scale_ = s0.scale;
  log_scale_ = std::log(scale_);
  if (!std::isfinite(location_)) throw Error("the location in S0 is beyond the largest number.");
  constexpr int kFirst = 16;
  const double width = 2 * kReach / kFirst;
  for (int i = 0; i < kFirst; ++i) add(-kReach + i * width, -kReach + (i + 1) * width, 0);
  first_.resize(kParts);
  unsigned panel = 0;
  for (std::size_t i = 0; i < kParts; ++i) {
    const double begin = -kReach + 2 * kReach * static_cast<double>(i) / kParts;
    while (panel + 1 < panels_.size() && panels_[panel].high <= begin) ++panel;
    first_[i] = panel;
  }
}

double StableTable::direct(double w) const { return standard_.log_pdf(std::sinh(w)); }

void StableTable::add(double low, double high, int depth) {
  const double middle = (low + high) / 2, half = (high - low) / 2;
  Panel panel{low, high, true, {}, 0};
  const auto& cosine = cosines<kNodes>();
  std::array<double, kNodes> values{};
  bool finite = true;
  for (std::size_t k = 0; k < kNodes; ++k) {
    values[k] = direct(middle + half * cosine[1][k]);
    finite = finite && values[k] > kUnderflow;
  }
  panel.highest = *std::max_element(values.begin(), values.end());
  if (finite) {
    for (std::size_t j = 0; j < kNodes; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < kNodes; ++k) sum += values[k] * cosine[j][k];
      panel.coefficients[j] = sum * (j == 0 ? 1.0 : 2.0) / kNodes;
    }
    // The last coefficients say whether the series has come to its end; and it has to agree with
    // the integral between the nodes.
    const double rest =
        std::fabs(panel.coefficients[kNodes - 1]) + std::fabs(panel.coefficients[kNodes - 2]);
    panel.good = rest < tolerance_;
    for (const double t : {-0.98, -0.29, 0.31, 0.97}) {
      if (!panel.good) break;
      const double off = chebyshev(panel.coefficients, t) - direct(middle + half * t);
      panel.good = std::fabs(off) < tolerance_ / 2;
    }
  } else {
    panel.good = false;
  }
  const bool hopeless =
      std::all_of(values.begin(), values.end(), [](double v) { return !(v > kUnderflow); });
  if (panel.good || depth == kDeepest || hopeless) {
    panels_.push_back(panel);
    return;
  }
  add(low, middle, depth + 1);
  add(middle, high, depth + 1);
}

const StableTable::Panel* StableTable::at(double w) const {
  if (!(std::fabs(w) < kReach)) return nullptr;
  const auto part = static_cast<std::size_t>((w + kReach) * (kParts / (2 * kReach)));
  std::size_t i = first_[std::min(part, kParts - 1)];
  while (w >= panels_[i].high && i + 1 < panels_.size()) ++i;
  return &panels_[i];
}

const StableTable::Panel* StableTable::find(double w) const {
  const Panel* p = at(w);
  return p != nullptr && p->good ? p : nullptr;
}

double StableTable::value(const Panel& p, double w) const {
  const double t = (2 * w - p.low - p.high) / (p.high - p.low);
  return chebyshev(p.coefficients, t) - log_scale_;
}

double StableTable::log_pdf(double x) const {
  const double w = std::asinh((x - location_) / scale_);
  const Panel* p = find(w);
  return p != nullptr ? value(*p, w) : law_.log_pdf(x);
}

double StableTable::pdf(double x) const {
  const double w = std::asinh((x - location_) / scale_);
  const Panel* p = at(w);
  if (p == nullptr) return law_.pdf(x);
  if (p->good) return std::exp(value(*p, w));
  // A tail that is light between the nodes of a panel as at them, with a tenth to spare.
  return 0.9 * p->highest - log_scale_ < kZero ? 0 : law_.pdf(x);
}

StableTable::Derivatives StableTable::derivatives(double x) const {
  const double z = (x - location_) / scale_, w = std::asinh(z);
  double first = 0, second = 0, value = 0;  // in w
  if (const Panel* p = find(w); p != nullptr) {
    const double t = (2 * w - p->low - p->high) / (p->high - p->low);
    const double by = 2 / (p->high - p->low);
    const auto d = differentiated(p->coefficients);
    value = chebyshev(p->coefficients, t);
    first = chebyshev(d, t) * by;
    second = chebyshev(differentiated(d), t) * by * by;
  } else {
    // Differences; w is bounded away from where they would cancel. They stay on this side of where
    // the law begins.
    double h = 1e-3 * std::max(1.0, std::fabs(w) / 10);
    const double end = standard_.parameters().beta > 0 ? standard_.lower() : standard_.upper();
    if (std::isfinite(end) && z != end)
      h = std::min(h, 1e-3 * std::fabs(z - end) / std::sqrt(1 + z * z));
    const double low = direct(w - h), high = direct(w + h);
    value = direct(w);
    first = (high - low) / (2 * h);
    second = (high - 2 * value + low) / (h * h);
  }
  // dw/dx = 1 / (scale cosh w), d2w/dx2 = -sinh w / (scale^2 cosh^3 w).
  const double cosh = std::sqrt(1 + z * z), u = 1 / (scale_ * cosh);
  return {value - log_scale_, first * u, (second - first * (z / cosh)) * u * u};
}

namespace {
template <class F>
void map(std::span<const double> x, std::span<double> out, ThreadPool* pool, const F& f) {
  if (x.size() != out.size()) {
    throw Error(fmt::format("there {} {} and room for {}; both numbers must be equal.",
                            x.size() == 1 ? "is" : "are", counted(x.size(), "point"),
                            counted(out.size(), "result")));
  }
  constexpr std::size_t kChunk = 4096;
  for_each(pool, (x.size() + kChunk - 1) / kChunk, [&](std::size_t chunk) {
    const std::size_t end = std::min(x.size(), (chunk + 1) * kChunk);
    for (std::size_t i = chunk * kChunk; i < end; ++i) out[i] = f(x[i]);
  });
}
}  // namespace

void StableTable::log_pdf(std::span<const double> x, std::span<double> out,
                          ThreadPool* pool) const {
  map(x, out, pool, [&](double at) { return log_pdf(at); });
}
void StableTable::pdf(std::span<const double> x, std::span<double> out, ThreadPool* pool) const {
  map(x, out, pool, [&](double at) { return pdf(at); });
}

double StableTable::uncovered() const {
  double length = 0;
  for (const Panel& p : panels_) length += p.good ? 0 : p.high - p.low;
  return length / (2 * kReach);
}

}  // namespace medgrad
