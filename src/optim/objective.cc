#include "medgrad/objective.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

#include "base/text.h"
#include "medgrad/error.h"
#include "optim/network.h"

namespace medgrad {
namespace {

using Loss = Regression::Loss;

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

double sign(double x) { return static_cast<double>(x > 0) - static_cast<double>(x < 0); }

double loss(const Regression& f, double z, double b) {
  const double r = z - b;
  switch (f.loss) {
    case Loss::squared:
      return r * r / 2;
    case Loss::logistic:  // log(1 + e^-t) without overflow
      return std::max(-b * z, 0.0) + std::log1p(std::exp(-std::abs(b * z)));
    case Loss::absolute:
      return std::abs(r);
    case Loss::huber:
      return std::abs(r) <= f.mu ? r * r / 2 : f.mu * std::abs(r) - f.mu * f.mu / 2;
  }
  return 0;
}

// d loss / dz.
double slope(const Regression& f, double z, double b) {
  const double r = z - b;
  switch (f.loss) {
    case Loss::squared:
      return r;
    case Loss::logistic:
      return -b / (1 + std::exp(b * z));
    case Loss::absolute:
      return sign(r);
    case Loss::huber:
      return std::clamp(r, -f.mu, f.mu);
  }
  return 0;
}

std::span<const double> row(const Regression& f, std::size_t i) {
  return std::span(f.a).subspan(i * f.dimension, f.dimension);
}

// out <- ridge w + 1/count sum_k slope a_{index(k)}.
template <class Index>
void regression_gradient(const Regression& f, std::span<const double> w, std::size_t count,
                         Index index, std::span<double> out) {
  for (std::size_t j = 0; j < w.size(); ++j) out[j] = f.ridge * w[j];
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = index(k);
    const std::span<const double> a = row(f, i);
    const double s = slope(f, dot(a, w), f.b[i]) / static_cast<double>(count);
    for (std::size_t j = 0; j < w.size(); ++j) out[j] += s * a[j];
  }
}

void check_finite(std::span<const double> values, std::string_view what) {
  const auto bad = std::ranges::find_if(values, [](double x) { return !std::isfinite(x); });
  if (bad == values.end()) return;
  throw Error(fmt::format("Entry {} of {} is {}; it must be finite.", bad - values.begin() + 1,
                          what, number(*bad)));
}

struct Check {
  void operator()(const FixedTarget& f) const { check_finite(f.target, "the target"); }
  void operator()(const Quadratic& f) const {
    check_finite(f.curvature, "the curvature");
    if (std::ranges::any_of(f.curvature, [](double c) { return c < 0; }))
      throw Error("A curvature is negative; it must not be.");
  }
  void operator()(const L1Norm&) const {}
  void operator()(const Regression& f) const {
    if (f.dimension == 0 || f.b.empty() || f.a.size() != f.b.size() * f.dimension)
      throw Error("A regression needs at least one row, and a target for every row.");
    check_finite(f.a, "the data");
    check_finite(f.b, "the targets");
    medgrad::check("ridge", f.ridge, range::non_negative);
    medgrad::check("mu", f.mu, {.min = 0, .min_open = true});
    if (f.loss == Loss::logistic &&
        std::ranges::any_of(f.b, [](double b) { return b != 1 && b != -1; }))
      throw Error("The targets of a logistic regression must be 1 or -1.");
  }
  void operator()(const Network& f) const {
    if (f.inputs == 0 || f.b.empty() || f.a.size() != f.b.size() * f.inputs)
      throw Error("A network needs at least one row, and a target for every row.");
    if (f.hidden == 0 || f.hidden > Network::kMostHidden)
      throw Error("hidden", std::to_string(f.hidden),
                  fmt::format("it must be from 1 to {}", Network::kMostHidden));
    check_finite(f.a, "the data");
    check_finite(f.b, "the targets");
    medgrad::check("ridge", f.ridge, range::non_negative);
  }
};

}  // namespace

void check(const Objective& objective) {
  std::visit(Check{}, objective);
  if (dimension(objective) == 0) throw Error("The dimension of an objective must be at least 1.");
}

std::size_t dimension(const Objective& objective) {
  if (const auto* f = std::get_if<FixedTarget>(&objective)) return f->target.size();
  if (const auto* f = std::get_if<Quadratic>(&objective)) return f->curvature.size();
  if (const auto* f = std::get_if<L1Norm>(&objective)) return f->dimension;
  if (const auto* f = std::get_if<Network>(&objective)) return f->dimension();
  return std::get<Regression>(objective).dimension;
}

double value(const Objective& objective, std::span<const double> w) {
  assert(w.size() == dimension(objective));
  if (const auto* f = std::get_if<FixedTarget>(&objective)) return dot(f->target, w);
  double sum = 0;
  if (const auto* f = std::get_if<Quadratic>(&objective)) {
    for (std::size_t j = 0; j < w.size(); ++j) sum += f->curvature[j] * w[j] * w[j];
    return sum / 2;
  }
  if (std::holds_alternative<L1Norm>(objective)) {
    for (const double x : w) sum += std::abs(x);
    return sum;
  }
  if (const auto* f = std::get_if<Network>(&objective)) return network_value(*f, w);
  const auto& f = std::get<Regression>(objective);
  for (std::size_t i = 0; i < f.b.size(); ++i) sum += loss(f, dot(row(f, i), w), f.b[i]);
  const double ridge = f.ridge == 0 ? 0 : f.ridge / 2 * dot(w, w);  // |w|^2 may overflow
  return sum / static_cast<double>(f.b.size()) + ridge;
}

void gradient(const Objective& objective, std::span<const double> w, std::span<double> out) {
  assert(w.size() == dimension(objective) && out.size() == w.size());
  if (const auto* fixed = std::get_if<FixedTarget>(&objective)) {
    std::ranges::copy(fixed->target, out.begin());
  } else if (const auto* quadratic = std::get_if<Quadratic>(&objective)) {
    for (std::size_t j = 0; j < w.size(); ++j) out[j] = quadratic->curvature[j] * w[j];
  } else if (std::holds_alternative<L1Norm>(objective)) {
    std::ranges::transform(w, out.begin(), sign);
  } else if (const auto* network = std::get_if<Network>(&objective)) {
    network_gradient(*network, w, out);
  } else {
    const auto& f = std::get<Regression>(objective);
    regression_gradient(
        f, w, f.b.size(), [](std::size_t k) { return k; }, out);
  }
}

void gradient(const Regression& objective, std::span<const double> w,
              std::span<const std::uint32_t> rows, std::span<double> out) {
  assert(!rows.empty());
  regression_gradient(
      objective, w, rows.size(), [&](std::size_t k) { return rows[k]; }, out);
}

}  // namespace medgrad
