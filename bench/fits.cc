// Fits of stable laws against the bound of Cramér and Rao: the second table of docs/tails.md.
//
// Squared errors of a hundred samples have a mean that is uncertain by 14 %, too much to tell
// whether a fit is within 10 % of the bound. So each sample has a control: the estimate that one
// would make if one knew the law and took one step of Newton's method from it, whose mean squared
// error is the bound exactly. What a fit's squared error is above that of the control is, for a
// good fit, much less uncertain:
//
//     ratio = 1 + mean(error^2 - control^2) / bound.
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

using Four = std::array<double, 4>;  // of alpha, beta, log(scale) and location

// beta = +-1 is known, as it were: the information that one number has of it is infinite there.
std::array<bool, 4> known(double beta) { return {false, std::fabs(beta) == 1, false, false}; }

// The inverse of the information of one number, which is the mean of score score' over the
// quantiles of the law.
noise::Information bounds(double alpha, double beta) {
  constexpr std::size_t kPoints = 20000;
  const Stable law({alpha, beta});
  std::vector<double> x(kPoints);
  for (std::size_t i = 0; i < kPoints; ++i)
    x[i] = law.quantile((static_cast<double>(i) + 0.5) / kPoints);
  const noise::Likelihood found = noise::likelihood(x, {alpha, beta, 0, 0}, known(beta));
  noise::Information inverse = noise::inverse_information(found.information, known(beta));
  for (Four& row : inverse) {
    for (double& v : row) v *= kPoints;
  }
  return inverse;
}

// A running mean with its standard error.
struct Mean {
  double sum = 0, squares = 0, count = 0;
  void add(double x) { sum += x, squares += x * x, count += 1; }
  [[nodiscard]] double value() const { return sum / count; }
  [[nodiscard]] double error() const {
    return std::sqrt(std::max(squares / count - value() * value(), 0.0) / (count - 1));
  }
};

std::string cells(const std::array<Mean, 4>& excess) {
  std::string text;
  for (const Mean& m : excess) {
    if (m.count == 0) {
      text += " |";
      continue;
    }
    char cell[64];
    std::snprintf(cell, sizeof cell, " %.2f ± %.2f |", 1 + m.value(), m.error());
    text += cell;
  }
  return text;
}

}  // namespace

void stable_fits(std::size_t n, int seeds) {
  constexpr std::array<std::pair<double, double>, 16> kShapes = {{{0.5, 0},
                                                                  {0.5, 0.5},
                                                                  {0.8, 0},
                                                                  {0.8, 0.5},
                                                                  {0.95, 0},
                                                                  {0.95, 0.5},
                                                                  {1.05, -0.8},
                                                                  {1.2, 0},
                                                                  {1.2, 0.5},
                                                                  {1.5, 0},
                                                                  {1.5, 0.5},
                                                                  {1.5, 1},
                                                                  {1.8, 0},
                                                                  {1.8, 0.5},
                                                                  {1.9, 0},
                                                                  {1.9, 0.5}}};
  std::printf(
      "| method | alpha, beta | alpha | beta | scale | location | 95 %% intervals of alpha cover | "
      "ms |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  const auto count = static_cast<double>(n);
  for (const std::string_view name : fit_methods()) {
    std::array<Mean, 4> all{};
    std::uint64_t first = 10000;  // other seeds for every law, the same for every method
    for (const auto& [alpha, beta] : kShapes) {
      const noise::Information bound = bounds(alpha, beta);
      std::array<Mean, 4> excess{};
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
        const Four off = {p.alpha - alpha, p.beta - beta, std::log(p.scale), p.location};
        const noise::Score score = noise::likelihood(x, {alpha, beta, 0, 0}, known(beta)).score;
        for (std::size_t a = 0; a < 4; ++a) {
          if (known(beta)[a]) continue;
          double control = 0;
          for (std::size_t b = 0; b < 4; ++b) control += bound[a][b] * score[b] / count;
          const double part = (off[a] * off[a] - control * control) * count / bound[a][a];
          excess[a].add(part);
          all[a].add(part);
        }
        covered += fit.alpha.contains(alpha) ? 1 : 0;
      }
      first += 10000;
      std::printf("| %s | %g, %g |%s %.1f %% | %.0f |\n", std::string(name).c_str(), alpha, beta,
                  cells(excess).c_str(), 100.0 * covered / seeds, time * 1e3 / seeds);
      std::fflush(stdout);
    }
    std::printf("| %s | all |%s  |  |\n", std::string(name).c_str(), cells(all).c_str());
    std::fflush(stdout);
  }
}

}  // namespace medgrad::bench
