// Fits of stable laws against the bound of Cramér and Rao: the second table of docs/tails.md.
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "bench.h"
#include "medgrad/stable_fit.h"
#include "noise/laws.h"
#include "noise/likelihood.h"

namespace medgrad::bench {
namespace {

// Of alpha, beta, log(scale) and location: the inverse of the information of one number, which is
// the mean of score score' over the quantiles of the law.
std::array<double, 4> bounds(double alpha, double beta) {
  constexpr std::size_t kPoints = 4000;
  const Stable law({alpha, beta});
  std::vector<double> x(kPoints);
  for (std::size_t i = 0; i < kPoints; ++i)
    x[i] = law.quantile((static_cast<double>(i) + 0.5) / kPoints);
  const noise::Likelihood found = noise::likelihood(x, {alpha, beta, 0, 0});
  const noise::Information inverse = noise::inverse_information(found.information, {});
  std::array<double, 4> variance{};
  for (std::size_t a = 0; a < 4; ++a) variance[a] = inverse[a][a] * kPoints;
  return variance;
}

}  // namespace

void stable_fits(std::size_t n, int seeds) {
  constexpr std::array<std::pair<double, double>, 8> kShapes = {
      {{0.8, 0}, {0.8, 0.5}, {1.2, 0}, {1.2, 0.5}, {1.5, 0}, {1.5, 0.5}, {1.8, 0}, {1.8, 0.5}}};
  std::printf(
      "| method | alpha, beta | alpha | beta | scale | location | 95 %% intervals of alpha cover | "
      "ms |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const std::string_view name : fit_methods()) {
    std::array<double, 4> all{};
    std::uint64_t first = 10000;  // other seeds for every law, the same for every method
    for (const auto& [alpha, beta] : kShapes) {
      const std::array<double, 4> bound = bounds(alpha, beta);
      std::array<double, 4> ratio{};
      int covered = 0;
      double time = 0;
      for (int seed = 0; seed < seeds; ++seed) {
        laws::Random r(first + static_cast<std::uint64_t>(seed));
        std::vector<double> x(n);
        for (double& v : x) v = laws::stable(r, alpha, beta);
        const double start = processor_seconds();
        const StableFit fit = fit_stable(x, {.method = fit_method(name)});
        time += processor_seconds() - start;
        const StableParameters& p = fit.parameters;
        const double off[] = {p.alpha - alpha, p.beta - beta, std::log(p.scale), p.location};
        for (std::size_t a = 0; a < 4; ++a) {
          const double part = off[a] * off[a] * static_cast<double>(n) / bound[a] / seeds;
          ratio[a] += part;
          all[a] += part / kShapes.size();
        }
        covered += fit.alpha.contains(alpha) ? 1 : 0;
      }
      first += 10000;
      std::printf("| %s | %g, %g | %.2f | %.2f | %.2f | %.2f | %.1f %% | %.0f |\n",
                  std::string(name).c_str(), alpha, beta, ratio[0], ratio[1], ratio[2], ratio[3],
                  100.0 * covered / seeds, time * 1e3 / seeds);
      std::fflush(stdout);
    }
    std::printf("| %s | all | %.2f | %.2f | %.2f | %.2f |  |  |\n", std::string(name).c_str(),
                all[0], all[1], all[2], all[3]);
  }
}

}  // namespace medgrad::bench
