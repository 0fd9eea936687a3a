// What the rules of rules.h and pre_aggregators.h check, and how they run.
#include "medgrad/rules.h"

#include <fmt/core.h>

#include <cmath>
#include <string>

#include "base/text.h"
#include "core/sample/plan.h"
#include "medgrad/error.h"
#include "medgrad/pre_aggregators.h"

namespace medgrad {
namespace {

// "f is 3; with 4 rows it must be at most 1."
void check_most(const char* name, std::size_t value, std::size_t most, std::size_t n) {
  if (value <= most) return;
  throw Error(name, std::to_string(value),
              fmt::format("with {} it must be at most {}", counted(n, "row"), most));
}

template <class M>
void check_f(const M& rule, std::size_t n) {
  if (rule.f != kAutomatic) check_most("f", rule.f, M::bears(n), n);
}

// All pairs of rows have to fit into memory.
void check_pairs(std::string_view name, std::size_t n) {
  constexpr std::size_t kMostRows = 16384;
  if (n > kMostRows) {
    throw Error(
        fmt::format("{} compares all pairs of rows; there are {} rows, and it takes at most {}.",
                    name, n, kMostRows));
  }
}

void check_krum(std::string_view name, std::size_t neighbours, std::size_t n) {
  check_pairs(name, n);
  if (n < 3)
    throw Error(
        fmt::format("{} needs at least 3 rows; there {} {}.", name, n == 1 ? "is" : "are", n));
  check_most("neighbours", neighbours, n - 1, n);
}

// Refuses where there are too many subsets to try.
template <class M>
void check_subsets(const M& rule, std::size_t n) {
  check_pairs(M::about.name, n);
  check_f(rule, n);
  if (rule.f == kAutomatic) return;  // which is checked when it is known
  double subsets = 1;
  for (std::size_t i = 1; i <= rule.f; ++i)
    subsets = std::round(subsets * static_cast<double>(n - rule.f + i) / static_cast<double>(i));
  if (subsets <= M::kMostSubsets) return;
  const double power = std::floor(std::log10(subsets));
  throw Error(
      "f", std::to_string(rule.f),
      fmt::format(
          "{} would have to look at about {} subsets of {}, and does so for at most {}",
          M::about.name,
          std::isfinite(subsets)
              ? fmt::format("{}e{}", number(std::round(subsets / std::pow(10.0, power - 1)) / 10),
                            number(power))
              : "1e308 and more",
          counted(n, "row"), number(M::kMostSubsets)));
}

}  // namespace

void Krum::check(std::size_t n) const {
  check_krum(about.name, neighbours, n);
  check_f(*this, n);
}
void MultiKrum::check(std::size_t n) const {
  check_krum(about.name, neighbours, n);
  check_f(*this, n);
  check_most("select", select, n, n);
}
void MeaMed::check(std::size_t n) const { check_f(*this, n); }
void Mda::check(std::size_t n) const { check_subsets(*this, n); }
void Smea::check(std::size_t n) const { check_subsets(*this, n); }
void Monna::check(std::size_t n) const {
  check_pairs(about.name, n);
  check_f(*this, n);
  if (n > 0 && pivot >= n) {
    throw Error("pivot", std::to_string(pivot),
                fmt::format("rows are counted from 0, and with {} it must be at most {}",
                            counted(n, "row"), n - 1));
  }
}
void Caf::check(std::size_t n) const {
  check_pairs(about.name, n);
  check_f(*this, n);
}
void CenteredClipping::check(std::size_t n) const { check_pairs(about.name, n); }
void Nnm::check(std::size_t n) const {
  check_pairs(about.name, n);
  check_f(*this, n);
}
void Arc::check(std::size_t n) const {
  check_pairs(about.name, n);
  check_f(*this, n);
}
void TrimmedMean::check(std::size_t n) const { check_f(*this, n); }
void MedianOfMeans::check(std::size_t n) const { check_most("blocks", blocks, n, n); }

std::string describe(const Rule& rule, std::string_view skip) {
  std::string line;
  for (const PreAggregator& part : rule.before) line += fmt::format("{} + ", describe(part, skip));
  return line + describe(rule.method, skip);
}

template <Real T>
SampleInfo Krum::estimate(const estimators::Input<T>& in, std::span<T> out) const {
  return estimators::run_rule(Rule(*this), in, out);
}
template <Real T>
SampleInfo MultiKrum::estimate(const estimators::Input<T>& in, std::span<T> out) const {
  return estimators::run_rule(Rule(*this), in, out);
}
template <Real T>
SampleInfo Mda::estimate(const estimators::Input<T>& in, std::span<T> out) const {
  return estimators::run_rule(Rule(*this), in, out);
}
template <Real T>
SampleInfo Smea::estimate(const estimators::Input<T>& in, std::span<T> out) const {
  return estimators::run_rule(Rule(*this), in, out);
}
template <Real T>
SampleInfo Monna::estimate(const estimators::Input<T>& in, std::span<T> out) const {
  return estimators::run_rule(Rule(*this), in, out);
}
template <Real T>
SampleInfo Caf::estimate(const estimators::Input<T>& in, std::span<T> out) const {
  return estimators::run_rule(Rule(*this), in, out);
}
template <Real T>
SampleInfo CenteredClipping::estimate(const estimators::Input<T>& in, std::span<T> out) const {
  return estimators::run_rule(Rule(*this), in, out);
}

template SampleInfo Krum::estimate(const estimators::Input<float>&, std::span<float>) const;
template SampleInfo Krum::estimate(const estimators::Input<double>&, std::span<double>) const;
template SampleInfo MultiKrum::estimate(const estimators::Input<float>&, std::span<float>) const;
template SampleInfo MultiKrum::estimate(const estimators::Input<double>&, std::span<double>) const;
template SampleInfo Mda::estimate(const estimators::Input<float>&, std::span<float>) const;
template SampleInfo Mda::estimate(const estimators::Input<double>&, std::span<double>) const;
template SampleInfo Smea::estimate(const estimators::Input<float>&, std::span<float>) const;
template SampleInfo Smea::estimate(const estimators::Input<double>&, std::span<double>) const;
template SampleInfo Monna::estimate(const estimators::Input<float>&, std::span<float>) const;
template SampleInfo Monna::estimate(const estimators::Input<double>&, std::span<double>) const;
template SampleInfo Caf::estimate(const estimators::Input<float>&, std::span<float>) const;
template SampleInfo Caf::estimate(const estimators::Input<double>&, std::span<double>) const;
template SampleInfo CenteredClipping::estimate(const estimators::Input<float>&,
                                               std::span<float>) const;
template SampleInfo CenteredClipping::estimate(const estimators::Input<double>&,
                                               std::span<double>) const;

}  // namespace medgrad
