#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "medgrad/error.h"
#include "medgrad/stable_fit.h"
#include "medgrad/thread_pool.h"
#include "noise/stable_test.h"
#include "noise/tail_parts.h"

namespace medgrad {

double bootstrap_p_value(const StableTest& test, const BootstrapOptions& options,
                         ThreadPool* pool) {
  if (options.resamples == 0) throw Error("a bootstrap needs at least one resample.");
  const std::size_t n = std::min(test.fit.n, options.most);
  if (n < noise::kFewest) {
    throw Error(fmt::format("a resample has {}; it must have at least {}.", counted(n, "number"),
                            noise::kFewest));
  }
  // The test knows neither scale nor location, nor which way the law leans.
  const StableParameters& found = test.fit.parameters;
  const Stable law({found.alpha, std::fabs(found.beta)});
  std::vector<double> p_values(options.resamples, 1);
  for_each(pool, options.resamples, [&](std::size_t i) {
    std::vector<double> x(n);
    law.sample(x, options.seed, i);
    try {
      p_values[i] = noise::test_of_fit(x).p_of_fit;
    } catch (const Error&) {  // alpha next to 0: half of them are one double
    }
  });
  const auto smaller =
      std::count_if(p_values.begin(), p_values.end(), [&](double p) { return p <= test.p_of_fit; });
  const double p_value =
      static_cast<double>(smaller + 1) / static_cast<double>(options.resamples + 1);
  return smaller > 0 ? p_value : std::min(p_value, test.p_value);
}

}  // namespace medgrad
