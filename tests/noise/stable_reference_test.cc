// Stable densities, probabilities and quantiles against independent values: golden/stable.json (by
// another program, absolute accuracy 1e-15) and golden/stable_edges.json (made by
// golden/make_stable_edges.py: contour integrals and series in 60 digits).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/simd.h"
#include "medgrad/stable.h"
#include "testing.h"

namespace medgrad {
namespace {

using nlohmann::json;

json load(const std::string& name) { return json::parse(std::ifstream(testing::golden(name))); }

StableForm form_of(const json& text) { return text == "S0" ? StableForm::S0 : StableForm::S1; }

TEST(StableReference, GridInBothForms) {
  const json reference = load("stable.json");
  ASSERT_GE(reference["grid"].size(), 20U);
  for (const json& row : reference["grid"]) {
    const Stable stable({row["alpha"], row["beta"], 1, 0, form_of(row["param"])});
    const auto xs = row["x"].get<std::vector<double>>();
    for (std::size_t i = 0; i < xs.size(); ++i) {
      SCOPED_TRACE(row["param"].dump() + " alpha " + row["alpha"].dump() + " beta " +
                   row["beta"].dump() + " x " + std::to_string(xs[i]));
      const double pdf = row["pdf"][i], cdf = row["cdf"][i];
      EXPECT_NEAR(stable.pdf(xs[i]), pdf, 1e-8 * pdf + 2e-15);
      EXPECT_NEAR(stable.cdf(xs[i]), cdf, 1e-8 * cdf + 2e-15);
      EXPECT_NEAR(stable.survival(xs[i]), 1 - cdf, 1e-8 * (1 - cdf) + 2e-15);
    }
  }
}

TEST(StableReference, Quantiles) {
  const json reference = load("stable.json");
  for (const json& row : reference["quantiles"]) {
    const Stable s0({row["alpha"], row["beta"], 1, 0, StableForm::S0});
    const Stable s1({row["alpha"], row["beta"], 1, 0, StableForm::S1});
    const auto probabilities = row["probs"].get<std::vector<double>>();
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
      SCOPED_TRACE(row["alpha"].dump() + " " + row["beta"].dump());
      const double q0 = row["q_S0"][i], q1 = row["q_S1"][i];
      // The reference is good to 1e-9.
      EXPECT_NEAR(s0.quantile(probabilities[i]), q0, 1e-8 * std::max(1.0, std::fabs(q0)));
      EXPECT_NEAR(s1.quantile(probabilities[i]), q1, 1e-8 * std::max(1.0, std::fabs(q1)));
    }
  }
}

// Relative error of a value, by its logarithm; what a double cannot hold only has to be small.
void expect_log(double got, double want, bool underflows) {
  if (underflows && want < -700) {
    EXPECT_LT(got, -699);
  } else if (want > -1e-3) {  // all but 1: the value itself
    EXPECT_NEAR(got, want, 1e-13);
  } else {
    EXPECT_NEAR(got, want, 2e-9 + 1e-14 * std::fabs(want));
  }
}

// Every alpha from 0.1 to 2 and beta from -1 to 1, the body, |x| up to 1e100, light tails to
// 1e-300; on every SIMD target.
TEST(StableReference, Edges) {
  const json points = load("stable_edges.json")["points"];
  ASSERT_GT(points.size(), 1200U);
  const std::string before = kernels::simd_target();
  for (const std::string& target : kernels::simd_targets()) {
    kernels::force_simd_target(target);
    for (const json& p : points) {
      SCOPED_TRACE(target + " " + p.dump());
      const Stable stable({p["alpha"], p["beta"], 1, 0, form_of(p["form"])});
      const double x = p["x"];
      expect_log(stable.log_pdf(x), p["log_pdf"], false);
      expect_log(std::log(stable.cdf(x)), p["log_cdf"], true);
      expect_log(std::log(stable.survival(x)), p["log_sf"], true);
    }
  }
  kernels::force_simd_target(before);
}

// Survival probabilities of 1e-12 and less, and their quantiles, far out in heavy tails.
TEST(StableReference, TailQuantilesAtTheEdges) {
  const json points = load("stable_edges.json")["points"];
  for (const json& p : points) {
    const double log_sf = p["log_sf"], log_cdf = p["log_cdf"], x = p["x"];
    const double alpha = p["alpha"];
    if (std::fabs(x) < 1 || std::min(log_sf, log_cdf) < -690) continue;
    SCOPED_TRACE(p.dump());
    const Stable stable({alpha, p["beta"], 1, 0, form_of(p["form"])});
    const bool right = log_sf < log_cdf;
    const double got =
        right ? stable.survival_quantile(std::exp(log_sf)) : stable.quantile(std::exp(log_cdf));
    // x moves by 1/alpha of what the probability does, which exp() knows to 1e-16 |log p|; S1's z
    // is zeta away from x.
    EXPECT_NEAR(got, x, 1e-8 * std::fabs(x)) << "error " << got / x - 1;
  }
}

}  // namespace
}  // namespace medgrad
