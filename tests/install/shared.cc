// Uses something of every public header against the shared library, which must show what they
// declare.
#include <cstdio>
#include <string>
#include <vector>

#include "medgrad/build_info.h"
#include "medgrad/distance.h"
#include "medgrad/error.h"
#include "medgrad/estimator.h"
#include "medgrad/io.h"
#include "medgrad/noise.h"
#include "medgrad/objective.h"
#include "medgrad/optimize.h"
#include "medgrad/registry.h"
#include "medgrad/rng.h"
#include "medgrad/sample.h"
#include "medgrad/stable.h"
#include "medgrad/tail_summary.h"
#include "medgrad/theory.h"
#include "medgrad/thread_pool.h"
#include "medgrad/version.h"

static_assert(MEDGRAD_VERSION_MAJOR >= 0 && MEDGRAD_VERSION_MINOR >= 0 &&
              MEDGRAD_VERSION_PATCH >= 0);

namespace {

int failures = 0;

void expect(bool good, const char* what) {
  if (!good) ++failures;
  if (!good) std::printf("wrong: %s\n", what);
}

}  // namespace

int main() {
  using namespace medgrad;
  const std::string version = std::to_string(MEDGRAD_VERSION_MAJOR) + "." +
                              std::to_string(MEDGRAD_VERSION_MINOR) + "." +
                              std::to_string(MEDGRAD_VERSION_PATCH);
  expect(build_info().version == version && version == kVersion, "the version");

  ThreadPool pool(2);
  std::vector<double> rows(600);
  sample(NoiseModel(Cauchy{}), rows, 3, 1, 0, 0, &pool);
  std::vector<double> centre(3);
  aggregate<double>(find_sample_method("median").make({}), Rows<double>(rows.data(), 200, 3),
                    centre);
  expect(norm<double>(2, centre) < 1, "the median of 200 rows of Cauchy noise");
  expect(tail_summary(std::span<const double>(rows)).log_moment.has_value(), "a tail index");

  OnlineEstimator<double> online(ProximalPoint{L2{}, 0.1}, 3);
  for (std::size_t i = 0; i < 200; ++i)
    online.update(std::span<const double>(rows).subspan(3 * i, 3));
  expect(norm<double>(2, online.estimate()) < 3, "an online estimate");
  expect(!find_optimizer("sgd").name.empty(), "an optimiser");
  expect(theory::smallest_n(1.0) > 0, "the theory");
  expect(value(Objective(Quadratic{{2}}), std::vector<double>{3}) == 9, "an objective");
  expect(Stable({.alpha = 1}).cdf(0) == 0.5, "a distribution");

  std::vector<double> uniform(4);
  Philox(1).fill_uniform(uniform);
  expect(uniform[0] > 0 && uniform[0] < 1, "random numbers");
  std::string text;
  append_number(text, 0.5);
  expect(text == "0.5", "a number as text");
  const std::string csv = "1,2\n3,4\n";
  RowReader reader("memory", csv);
  std::vector<double> row(2);
  expect(reader.next<double>(row) && row[1] == 2, "a row of a file");

  try {
    (void)find_distance("l22");
    expect(false, "an error");
  } catch (const Error& error) {
    expect(std::string(error.what()).find("l22") != std::string::npos, "the sentence of an error");
  }
  if (failures == 0) std::printf("all of the library is visible\n");
  return failures;
}
