// What HACKING.md adds to the library in its example, used: nothing but the lists knows of it.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "medgrad/optimize.h"
#include "medgrad/registry.h"

namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("not so: %s\n", what);
  std::exit(1);
}

}  // namespace

int main() {
  using namespace medgrad;
  // The distance: in the registry with its parameter, its default and its range; a prox that is
  // optimal: x - y is tau times a subgradient at y.
  const AnyDistance elastic = find_distance("elastic").make({{"kappa", 2}});
  expect(describe(find_distance("elastic").make({})) == "elastic kappa=1", "the default");
  bool refused = false;
  try {
    (void)find_distance("elastic").make({{"kappa", -1}});
  } catch (const Error& error) {
    refused = error.subject() == "kappa";
  }
  expect(refused, "the range");
  const std::vector<double> x = {3, -0.5, -7};
  std::vector<double> y(3), u(3);
  prox(elastic, 0.75, x, y);
  elastic.subgradient(std::span<const double>(y), std::span(u));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double step = (x[i] - y[i]) / 0.75;
    expect(y[i] == 0 ? std::abs(step) <= 1 : std::abs(step - u[i]) < 1e-14, "the prox");
  }
  // Following a stream by it, and descending along it: by its name alone.
  OnlineEstimator<float> estimator(find_online_method("elastic").make({{"tau", 0.5}, {"kappa", 1}}),
                                   1);
  for (int t = 0; t < 200; ++t) estimator.update(std::vector<float>{2});
  expect(std::abs(estimator.estimate()[0] - 2) < 1e-3, "the online method");
  expect(find_optimizer("elastic").find("kappa") != nullptr, "the optimiser");

  // The sample estimator, on one column with an outlier, and missing entries.
  const std::vector<double> rows = {1, 2, 3, 4, 1e300};
  std::vector<double> center(1);
  aggregate(find_sample_method("hodges-lehmann").make({}), Rows(rows, 5, 1), center);
  expect(center[0] == 3, "the sample estimator");  // of 1 1.5 2 2 2.5 2.5 3 3 3.5 4 ...
  expect(find_optimizer("smgd-hodges-lehmann").find("n") != nullptr, "its optimiser");
  std::printf("the example of HACKING.md works\n");
}
