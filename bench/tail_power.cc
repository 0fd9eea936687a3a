// How well could any rule tell 300 numbers of a stable law from Gaussian ones?
//
// Neyman and Pearson: of all tests that call at most 5 % of the samples of one law another one,
// none finds more samples of the other law than that of their likelihood ratio. A rule that is to
// leave Gaussian noise of any scale in peace in 95 % finds at most what that test finds against the
// normal law that is hardest to tell apart: the smallest power over its scales.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include "bench.h"
#include "medgrad/stable_table.h"
#include "medgrad/tail_verdict.h"
#include "noise/laws.h"

namespace medgrad::bench {
namespace {

constexpr std::size_t kNumbers = 300;
constexpr double kFalseAlarms = 0.05;
constexpr std::uint64_t kFirstSeed = 31000;

// Of each sample the sums of log f of the stable law, and of squares.
struct Sums {
  double log_stable = 0, squares = 0;
};

// log f / phi_sigma, but for what is the same for all samples.
double ratio(const Sums& s, double sigma) { return s.log_stable + s.squares / (2 * sigma * sigma); }

double power(const StableTable& stable, const std::vector<Sums>& alternative, double sigma) {
  std::vector<double> null(alternative.size());
  for (std::size_t i = 0; i < null.size(); ++i) {
    laws::Random r(2 * kFirstSeed + i);
    Sums s;
    for (std::size_t j = 0; j < kNumbers; ++j) {
      const double x = sigma * laws::normal(r);
      s.log_stable += stable.log_pdf(x);
      s.squares += x * x;
    }
    null[i] = ratio(s, sigma);
  }
  const auto above = static_cast<std::ptrdiff_t>(kFalseAlarms * static_cast<double>(null.size()));
  std::nth_element(null.begin(), null.begin() + above, null.end(), std::greater<>());
  const auto found = std::count_if(alternative.begin(), alternative.end(), [&](const Sums& s) {
    return ratio(s, sigma) > null[static_cast<std::size_t>(above)];
  });
  return static_cast<double>(found) / static_cast<double>(alternative.size());
}

// The share of samples that the advice does not send to the mean.
template <class F>
double advised(std::size_t samples, const F& draw) {
  std::size_t count = 0;
  std::vector<double> x(kNumbers);
  for (std::size_t i = 0; i < samples; ++i) {
    laws::Random r(kFirstSeed + i);
    for (double& v : x) v = draw(r);
    const Advice advice = judge_tails(x).advice;
    count += advice == Advice::median || advice == Advice::huber ? 1 : 0;
  }
  return static_cast<double>(count) / static_cast<double>(samples);
}

}  // namespace

void tail_power_table(int seeds) {
  constexpr std::array<double, 3> kIndices = {1.95, 1.9, 1.8};
  const auto samples = static_cast<std::size_t>(std::max(seeds, 20));
  std::printf(
      "Gaussian, 300 numbers: not sent to the mean %.1f %%\n\n| stable law | sigma of the normal "
      "law of the same quartiles: most powerful test | the hardest sigma: most powerful test | the "
      "advice |\n| --- | --- | --- | --- |\n",
      100 * advised(samples, laws::normal));
  for (const double alpha : kIndices) {
    const StableTable stable({alpha}, 1e-8);
    std::vector<Sums> alternative(samples);
    for (std::size_t i = 0; i < samples; ++i) {
      laws::Random r(kFirstSeed + i);
      for (std::size_t j = 0; j < kNumbers; ++j) {
        const double x = laws::stable(r, alpha, 0);
        alternative[i].log_stable += stable.log_pdf(x);
        alternative[i].squares += x * x;
      }
    }
    constexpr double kQuartile = 0.6744897501960817;
    const double same = Stable({alpha}).quantile(0.75) / kQuartile;
    const double at_same = power(stable, alternative, same);
    double hardest = same, lowest = at_same;
    for (double sigma = same; sigma < 1.3 * same; sigma += 0.01) {
      const double found = power(stable, alternative, sigma);
      if (found < lowest) {
        lowest = found;
        hardest = sigma;
      }
    }
    std::printf("| %g | %.3f: %.1f %% | %.3f: %.1f %% | %.1f %% |\n", alpha, same, 100 * at_same,
                hardest, 100 * lowest,
                100 * advised(samples, [&](laws::Random& r) { return laws::stable(r, alpha, 0); }));
    std::fflush(stdout);
  }
}

}  // namespace medgrad::bench
