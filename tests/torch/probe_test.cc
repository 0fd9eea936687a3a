#include "medgrad/torch/probe.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "medgrad/error.h"
#include "medgrad/noise.h"
#include "medgrad/stable.h"

namespace medgrad::libtorch {
namespace {

// The loss of batch k is <w, x_k>, whose gradient is x_k: its noise is ours to choose.
GradientNoise probe(const at::Tensor& x) {
  const at::Tensor w = at::zeros({x.size(1)}, at::kDouble).set_requires_grad(true);
  return probe_gradient_noise({w}, static_cast<std::size_t>(x.size(0)), [&](std::size_t k) {
    return (w * x[static_cast<std::int64_t>(k)]).sum();
  });
}

TEST(GradientNoise, ErrorsAreDistancesFromTheMean) {
  ::torch::manual_seed(1);
  const at::Tensor x = at::randn({64, 30}, at::kDouble) + 2;
  const GradientNoise noise = probe(x);
  const at::Tensor mean = x.mean(0);
  EXPECT_NEAR(noise.gradient_norm, mean.norm().item<double>(), 1e-12);
  ASSERT_EQ(noise.errors.size(), 64U);
  for (std::int64_t k = 0; k < 64; ++k)
    EXPECT_NEAR(noise.errors[static_cast<std::size_t>(k)], (x[k] - mean).norm().item<double>(),
                1e-12);
  EXPECT_LE(noise.quantile(0), noise.quantile(0.5));
  EXPECT_EQ(noise.quantile(1), *std::max_element(noise.errors.begin(), noise.errors.end()));
}

// 200 x 200 draws: the quantile fit's standard error of alpha is below 0.03, its interval knows.
TEST(GradientNoise, TellsGaussianFromHeavyTails) {
  ::torch::manual_seed(2);
  const GradientNoise gaussian = probe(at::randn({200, 200}, at::kDouble));
  ASSERT_TRUE(gaussian.components.quantiles.has_value());
  EXPECT_GT(gaussian.components.quantiles->parameters.alpha, 1.9);

  at::Tensor heavy = at::empty({200, 200}, at::kDouble);
  heavy.cauchy_();
  const GradientNoise cauchy = probe(heavy);
  ASSERT_TRUE(cauchy.components.quantiles.has_value());
  EXPECT_NEAR(cauchy.components.quantiles->parameters.alpha, 1, 0.15);
  ASSERT_TRUE(cauchy.norms.has_value());
  EXPECT_LT(cauchy.norms->alpha, 1.5);
  EXPECT_NE(cauchy.verdict(), gaussian.verdict());
}

TEST(GradientNoise, RefusesWhatItCannotMeasure) {
  EXPECT_THROW(probe(at::zeros({1, 3}, at::kDouble)), Error);
  at::Tensor bad = at::randn({40, 3}, at::kDouble);
  bad[17][2] = std::nan("");
  EXPECT_THROW(probe(bad), Error);
}

}  // namespace
}  // namespace medgrad::libtorch
