// Stable laws: samples, densities, probabilities, quantiles and fits.
#include "medgrad/stable.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "bench.h"
#include "medgrad/stable_fit.h"
#include "medgrad/stable_table.h"

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
  std::vector<double> p(n / 10), q(p.size());
  for (std::size_t i = 0; i < p.size(); ++i)
    p[i] = 0.02 + 0.96 * static_cast<double>(i) / static_cast<double>(p.size() - 1);
  std::printf("{\"pdf\": %.3f, \"cdf\": %.3f, \"quantile\": %.3f}\n",
              nanoseconds(rounds, n, [&] { law.pdf(x, y); }),
              nanoseconds(rounds, n, [&] { law.cdf(x, y); }), nanoseconds(rounds, p.size(), [&] {
                for (std::size_t i = 0; i < p.size(); ++i) q[i] = law.quantile(p[i]);
              }));
}

void stable_fit(double alpha, double beta, std::size_t n, int rounds) {
  std::vector<double> x(n);
  Stable({alpha, beta}).sample(x, 1, 2);
  std::printf("{\"ms\": %.3f}\n", 1e-6 * nanoseconds(rounds, 1, [&] { (void)fit_stable(x, {}); }));
}

void stable_table(double alpha, double beta, std::size_t n, int rounds) {
  std::vector<double> x(n), far(n), y(n);
  for (std::size_t i = 0; i < n; ++i) {
    // No two neighbours in one interval of the table: as data come.
    const double part = static_cast<double>(i * 7919 % n) / static_cast<double>(n - 1);
    x[i] = -20 + 40 * part;
    far[i] = std::sinh(7 + 13 * part) * (i % 2 == 0 ? 1 : -1);
  }
  double milliseconds = 1e300;
  for (int i = 0; i < rounds; ++i) {
    milliseconds = std::min(milliseconds, 1e3 * seconds([&] {
                                            StableTable({alpha, beta}, 1e-10);
                                          }));
  }
  const StableTable table({alpha, beta}, 1e-10);
  const Stable law({alpha, beta});
  std::printf(
      "{\"build_ms\": %.3f, \"table\": %.3f, \"tails\": %.3f, \"log_tails\": %.3f, "
      "\"integral\": %.3f}\n",
      milliseconds, nanoseconds(rounds, n, [&] { table.pdf(x, y); }),
      nanoseconds(rounds, n, [&] { table.pdf(far, y); }),
      nanoseconds(rounds, n, [&] { table.log_pdf(far, y); }),
      nanoseconds(1, n, [&] { law.pdf(x, y); }));
}

}  // namespace medgrad::bench
