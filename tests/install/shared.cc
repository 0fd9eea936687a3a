// Uses something of every public header of the library, as far as it declares what is not in it,
// against the shared library, which must show that.
#include <cmath>
#include <cstdio>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "medgrad/attack.h"
#include "medgrad/bfloat16.h"
#include "medgrad/build_info.h"
#include "medgrad/description.h"
#include "medgrad/dist/aggregate.h"
#include "medgrad/dist/blame.h"
#include "medgrad/dist/catch_up.h"
#include "medgrad/dist/communicator.h"
#include "medgrad/distance.h"
#include "medgrad/distance_list.h"
#include "medgrad/distances.h"
#include "medgrad/elliptical_density.h"
#include "medgrad/error.h"
#include "medgrad/estimator.h"
#include "medgrad/export.h"
#include "medgrad/io.h"
#include "medgrad/large_vector.h"
#include "medgrad/noise.h"
#include "medgrad/non_finite.h"
#include "medgrad/objective.h"
#include "medgrad/optimize.h"
#include "medgrad/peaks.h"
#include "medgrad/pre_aggregators.h"
#include "medgrad/registry.h"
#include "medgrad/rng.h"
#include "medgrad/rows.h"
#include "medgrad/rules.h"
#include "medgrad/sample.h"
#include "medgrad/sample_list.h"
#include "medgrad/sample_methods.h"
#include "medgrad/schedule.h"
#include "medgrad/stable.h"
#include "medgrad/stable_fit.h"
#include "medgrad/stable_moments.h"
#include "medgrad/stable_score.h"
#include "medgrad/stable_table.h"
#include "medgrad/student_fit.h"
#include "medgrad/tail_index.h"
#include "medgrad/tail_sketch.h"
#include "medgrad/tail_summary.h"
#include "medgrad/tail_verdict.h"
#include "medgrad/theory.h"
#include "medgrad/thread_pool.h"
#include "medgrad/version.h"
#include "medgrad/worker.h"

static_assert(MEDGRAD_VERSION_MAJOR >= 0 && MEDGRAD_VERSION_MINOR >= 0 &&
              MEDGRAD_VERSION_PATCH >= 0);

namespace {

int failures = 0;

void expect(bool good, const char* what) {
  if (!good) ++failures;
  if (!good) std::printf("wrong: %s\n", what);
}

// What the headers on tails and stable laws declare.
void see_the_laws(std::span<const double> sample) {
  using namespace medgrad;
  const StableParameters cauchy{.alpha = 1};
  const Stable law(cauchy);
  const auto near = [](double x, double y) { return std::abs(x - y) < 1e-6; };
  expect(law.cdf(0) == 0.5, "a distribution");
  expect(near(StableTable(cauchy).pdf(0), 1 / std::numbers::pi), "a table of densities");
  expect(near(StableScore(cauchy)(0).location, 0), "a score");
  expect(near(absolute_moment(law, 0.5), std::numbers::sqrt2), "a moment");  // 1/cos(pi/4)
  expect(near(EllipticalDensity(1, std::vector<double>{0}, std::vector<double>{1})
                  .log_pdf(std::vector<double>{0}),
              -std::log(std::numbers::pi)),
         "an elliptical density");
  expect(fit_method("ml") == FitMethod::likelihood, "a way to fit");
  expect(fit_student(sample).degrees > 0, "a fit of Student's t");
  expect(hill(sample).alpha > 0, "a tail index");
  expect(peaks_over_threshold(sample).threshold > 0, "peaks over a threshold");
  expect(!judge_tails(sample).sentence().empty(), "a verdict");
  TailSketch sketch;
  sketch.add(sample);
  expect(sketch.summary().log_moment.has_value(), "the tails of a stream");
  expect(tail_summary(sample).log_moment.has_value(), "a summary of tails");
}

// Workers, liars and rules for their vectors.
void see_the_workers() {
  using namespace medgrad;
  const std::vector<double> honest = {1, 2, 3};
  std::vector<double> lie(1), result(1);
  attack<double>(find_attack("sign-flip").make({}), Rows<double>(honest.data(), 3, 1), 1, lie);
  expect(lie[0] == -2, "a lie");
  aggregate<double>(make_rule("nnm+krum:f=0:neighbours=1"), Rows<double>(honest.data(), 3, 1),
                    result);
  expect(result[0] == 2, "a rule of two parts");
  expect(describe(WorkerMethod(Ef21{})).starts_with("ef21"), "a worker's method");
  expect(value_at(find_schedule("constant").make({}), 3, 10) == 1, "a schedule");

  const auto group = dist::make_threads(1);
  dist::aggregate<double>(*group[0], Rule(Mean{}), std::span(honest).first(1), std::span(result));
  expect(result[0] == 1, "a rule over workers");
  const auto save = [] { return std::string(); };
  expect(!dist::catch_up(*group[0], 3, save, [](const std::string&) {}), "nobody is behind");
  dist::Blame blame;
  blame.add(std::vector<dist::WorkerReport>(1));
  expect(blame.table().size() == 1, "a list of whom to look at");
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
  see_the_laws(rows);
  see_the_workers();
  expect(LargeVector<double>(3).size() == 3, "memory in large pages");
  expect(range::positive.text("tau") == "0 < tau < inf", "a range");
  expect(value(AnyDistance(L1{}), centre) >= 0, "a distance of any kind");

  OnlineEstimator<double> online(ProximalPoint{L2{}, 0.1}, 3);
  for (std::size_t i = 0; i < 200; ++i)
    online.update(std::span<const double>(rows).subspan(3 * i, 3));
  expect(norm<double>(2, online.estimate()) < 3, "an online estimate");
  std::vector<BFloat16> narrow(1);
  const std::vector<float> gradient = {8};
  const NarrowBlock block{narrow, gradient};
  Workspace<float> workspace;
  (void)narrow_step(ProximalPoint{L1{}, 0.5}, {&block, 1}, Dither{.seed = 1}, {}, workspace);
  expect(narrow[0].get() == 0.5f, "a step in bfloat16");
  expect(!find_optimizer("sgd").name.empty(), "an optimiser");
  expect(theory::smallest_n(1.0) > 0, "the theory");
  expect(value(Objective(Quadratic{{2}}), std::vector<double>{3}) == 9, "an objective");

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
