// How often is the verdict on tails right? The tables of docs/tails.md.
#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "bench.h"
#include "medgrad/tail_summary.h"
#include "noise/verdict_counts.h"

namespace medgrad::bench {

void tail_table(int seeds) {
  constexpr std::uint64_t kFirstSeed = 61000;  // none that the tests use, nor anything was tuned on
  std::printf(
      "| law | n | infinite variance: yes / no / unclear | a stable law fits | skewed | advice: "
      "mean / median / Huber / unclear | right | index below 2 claimed | interval covers |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const laws::Law& law : laws::all()) {
    for (const std::size_t n : {300U, 3000U, 30000U}) {
      const laws::Counts c = laws::judged(law, n, kFirstSeed, seeds);
      const bool power = std::isfinite(law.index);
      std::printf("| %s | %zu | %d / %d / %d | %d | %d | %d / %d / %d / %d | %d | %d | %s |\n",
                  std::string(law.name).c_str(), n, c.yes, c.no, c.unclear, c.stable, c.skewed,
                  c.mean, c.median, c.huber, c.undecided, c.right, c.claimed,
                  power ? std::to_string(c.covered).c_str() : "");
      std::fflush(stdout);
    }
  }
}

namespace {

double draw(laws::Random& r, double alpha, double beta) {
  if (alpha == 2) return laws::normal(r);
  return alpha == 1 ? std::tan(M_PI * (laws::uniform(r) - 0.5)) : laws::stable(r, alpha, beta);
}

// Rows of independent stable components; one of them, which is none of eight evenly spaced ones,
// may have another index.
struct RowsCase {
  std::size_t n, d;
  double alpha, beta;
  std::optional<double> other;
};

bool stable_fits(const RowsCase& c, std::uint64_t seed) {
  constexpr std::size_t kOther = 3;
  laws::Random r(seed);
  std::vector<double> x(c.n * c.d);
  for (std::size_t i = 0; i < c.n; ++i) {
    for (std::size_t j = 0; j < c.d; ++j)
      x[i * c.d + j] = draw(r, j == kOther ? c.other.value_or(c.alpha) : c.alpha, c.beta);
  }
  return tail_summary(Rows<double>(x.data(), c.n, c.d)).judged->stable_fits();
}

}  // namespace

void tail_rows_table(int seeds) {
  constexpr std::uint64_t kFirstSeed = 9000;
  constexpr RowsCase kCases[] = {
      {1000, 20, 2, 0, {}},  {100, 500, 2, 0, {}},   {40, 50, 2, 0, {}},     {500, 100, 1.9, 0, {}},
      {500, 20, 1.5, 0, {}}, {100, 300, 1.5, 0, {}}, {300, 30, 1.3, 1, {}},  {300, 30, 1, 0, {}},
      {800, 12, 2, 0, 1},    {1000, 20, 2, 0, 1.5},  {600, 64, 1.8, 0, 1.2}, {300, 200, 2, 0, 1.5},
      {100, 1000, 2, 0, 1},  {600, 64, 2, 0, 1.8}};
  std::printf(
      "| rows | index of the components | beta | one of them has | a stable law fits |\n"
      "| --- | --- | --- | --- | --- |\n");
  for (const RowsCase& c : kCases) {
    int fits = 0;
    for (int s = 0; s < seeds; ++s)
      fits += stable_fits(c, kFirstSeed + static_cast<std::uint64_t>(s)) ? 1 : 0;
    std::printf("| %zu x %zu | %g | %g | ", c.n, c.d, c.alpha, c.beta);
    if (c.other) std::printf("%g", *c.other);
    std::printf(" | %d |\n", fits);
    std::fflush(stdout);
  }
}

// How often the interval of the tail index has the index of the law, of 3,000 numbers.
void tail_coverage_table(int seeds) {
  constexpr std::uint64_t kFirstSeed = 7100;
  constexpr std::array<double, 16> kIndices = {0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9,
                                               1,   1.1,  1.2, 1.3,  1.5, 1.6,  1.7, 1.9};
  const auto share = [&](double index, const auto& draw_one) {
    int covered = 0;
    for (int s = 0; s < seeds; ++s) {
      laws::Random r(kFirstSeed + static_cast<std::uint64_t>(s));
      std::vector<double> x(3000);
      for (double& v : x) v = draw_one(r);
      covered += judge_tails(x).index_interval.contains(index) ? 1 : 0;
    }
    return 100.0 * covered / seeds;
  };
  const auto pareto = [](laws::Random& r, double index) {
    return std::pow(laws::uniform(r), -1 / index) - 1;
  };
  std::printf(
      "| index | stable | stable, beta 0.7 | stable, beta 1 | Lomax, two-sided | Lomax, one-sided "
      "| "
      "Pareto, two-sided |\n| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const double a : kIndices) {
    const auto stable = [&](double beta) {
      if (a == 1 && beta != 0) return std::string();  // no transform for them in laws.h
      return fmt::format("{:.1f} %", share(a, [&](laws::Random& r) { return draw(r, a, beta); }));
    };
    std::printf("| %g | %s | %s | %s | %.1f %% | %.1f %% | %.1f %% |\n", a, stable(0).c_str(),
                stable(0.7).c_str(), stable(1).c_str(),
                share(a, [&](laws::Random& r) { return laws::sign(r) * pareto(r, a); }),
                share(a, [&](laws::Random& r) { return pareto(r, a); }),
                share(a, [&](laws::Random& r) { return laws::sign(r) * (1 + pareto(r, a)); }));
    std::fflush(stdout);
  }
}

}  // namespace medgrad::bench
