// Stable laws: samples, densities and probabilities.
#include "medgrad/stable.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "bench.h"

namespace medgrad::bench {
namespace {

// The shortest of several runs, the least disturbed one, in nanoseconds per item.
template <class F>
double nanoseconds(int rounds, std::size_t items, const F& f) {
  double best = 1e300;
  for (int i = 0; i < rounds; ++i) best = std::min(best, seconds(f));
  return best * 1e9 / static_cast<double>(items);
}

}  // namespace

template <class T>
void stable_samples(double alpha, double beta, std::size_t n, int rounds) {
  std::vector<T> x(n);
  const Stable law({alpha, beta});
  std::printf("{\"ns\": %.3f}\n", nanoseconds(rounds, n, [&] { law.sample(x, 1, 2); }));
}
template void stable_samples<float>(double, double, std::size_t, int);
template void stable_samples<double>(double, double, std::size_t, int);

void stable_functions(double alpha, double beta, std::size_t n, int rounds) {
  std::vector<double> x(n), y(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = -20 + 40 * static_cast<double>(i) / static_cast<double>(n - 1);
  }
  const Stable law({alpha, beta, 1, 0, StableForm::S1});
  std::printf("{\"pdf\": %.3f, \"cdf\": %.3f}\n", nanoseconds(rounds, n, [&] { law.pdf(x, y); }),
              nanoseconds(rounds, n, [&] { law.cdf(x, y); }));
}

}  // namespace medgrad::bench
