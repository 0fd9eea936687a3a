// Time per point of stable densities and distribution functions on one thread, over a grid of
// 10,000 points. bench/peers/stable_scipy.py runs this and scipy.stats.levy_stable, and prints the
// ratio.
//
//   stable_density_bench [repetitions]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "medgrad/stable.h"

namespace {

using Clock = std::chrono::steady_clock;

// The best of some runs, in microseconds per point.
template <class F>
double time_of(int repetitions, std::size_t points, const F& f) {
  double best = 1e300;
  for (int i = 0; i < repetitions; ++i) {
    const auto start = Clock::now();
    f();
    const std::chrono::duration<double, std::micro> taken = Clock::now() - start;
    best = std::min(best, taken.count() / static_cast<double>(points));
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 3;
  constexpr std::size_t kPoints = 10000;
  std::vector<double> x(kPoints), y(kPoints);
  for (std::size_t i = 0; i < kPoints; ++i) {
    x[i] = -20 + 40 * static_cast<double>(i) / (kPoints - 1);
  }
  std::printf("alpha beta us_pdf us_cdf us_quantile\n");
  for (const double alpha : {0.5, 0.9, 1.0, 1.1, 1.5, 1.9}) {
    for (const double beta : {0.0, 0.5, 1.0}) {
      const medgrad::Stable stable({alpha, beta, 1, 0, medgrad::StableForm::S1});
      const double pdf = time_of(repetitions, kPoints, [&] { stable.pdf(x, y); });
      const double cdf = time_of(repetitions, kPoints, [&] { stable.cdf(x, y); });
      const double quantile = time_of(1, 200, [&] {
        for (int i = 0; i < 200; ++i) y[0] = stable.quantile((i + 0.5) / 200);
      });
      std::printf("%g %g %.3f %.3f %.3f\n", alpha, beta, pdf, cdf, quantile);
    }
  }
}
