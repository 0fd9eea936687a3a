#include "torch/models/dropout.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <vector>

#include "medgrad/error.h"
#include "medgrad/torch/runtime.h"
#include "model_checks.h"

namespace medgrad::libtorch {
namespace {

std::shared_ptr<DropoutStream> stream(std::uint64_t seed = 5, std::uint64_t step = 2) {
  return std::make_shared<DropoutStream>(DropoutStream{seed, step, 0});
}

// Kept elements are scaled by one number, c. Of n elements of 1 the share kept is 1/c, with
// standard deviation sqrt((1 - 1/c) / (c n)); 5 of them are exceeded once in 2e6. Then mean and
// variance are right as well.
TEST(Dropout, KeepsTheRightShareAndTheMean) {
  for (const double p : {1e-4, 0.1, 0.2, 0.5, 0.9, 0.999}) {
    SCOPED_TRACE(p);
    const std::int64_t n = 1000003;
    const Dropout dropout(stream(), p);
    const at::Tensor y = dropout.forward(at::ones({n}, at::kDouble));
    const at::Tensor kept = y.index({y != 0});
    const double c = kept[0].item<double>();
    EXPECT_EQ(kept.min().item<double>(), kept.max().item<double>());
    EXPECT_NEAR(1 / c, 1 - p, 1.0 / 65536);
    const double deviation = std::sqrt((1 - 1 / c) / (c * static_cast<double>(n)));
    EXPECT_NEAR(static_cast<double>(kept.numel()) / static_cast<double>(n), 1 / c, 5 * deviation);
    EXPECT_NEAR(y.mean().item<double>(), 1, 5 * deviation * c);
  }
}

// Neighbours, and the two elements that share a word, are uncorrelated: of n products of centred
// masks with variance s the mean has standard deviation s / sqrt(n).
TEST(Dropout, ElementsAreIndependent) {
  const std::int64_t n = 1000000;
  const at::Tensor y = Dropout(stream(), 0.3).forward(at::ones({n}, at::kDouble)) - 1;
  const double variance = y.square().mean().item<double>();
  for (const std::int64_t lag : {1, 2, 3, 4, 8, 16, 4096}) {
    const double product =
        (y.narrow(0, 0, n - lag) * y.narrow(0, lag, n - lag)).mean().item<double>();
    EXPECT_NEAR(product / variance, 0, 5 / std::sqrt(static_cast<double>(n - lag))) << lag;
  }
}

TEST(Dropout, MasksAreFunctionsOfSeedStepAndSite) {
  const at::Tensor x = at::ones({10001});
  const auto shared = stream();
  const Dropout first(shared, 0.5), second(shared, 0.5);
  const at::Tensor y = first.forward(x);
  EXPECT_TRUE(first.forward(x).equal(y));
  EXPECT_FALSE(second.forward(x).equal(y));
  shared->step = 3;
  EXPECT_FALSE(first.forward(x).equal(y));
  *shared = {6, 2, 2};
  EXPECT_FALSE(first.forward(x).equal(y));
  *shared = {5, 2, 2};
  use_threads(2);
  EXPECT_TRUE(first.forward(x).equal(y));
  use_threads(1);
  EXPECT_TRUE(first.forward(x.to(at::kDouble)).equal(y.to(at::kDouble)));
  // Any part of a mask can be made by itself.
  std::vector<std::uint16_t> all(10001), part(777);
  mask_bits(first.mask(), 0, 10001, all.data());
  mask_bits(first.mask(), 4242, 777, part.data());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 4242));
}

TEST(Dropout, IsTheIdentityInEvaluationAndAtZero) {
  const at::Tensor x = at::randn({100});
  EXPECT_TRUE(Dropout(stream(), 0).forward(x).equal(x));
  Dropout dropout(stream(), 0.5);
  dropout.eval();
  EXPECT_TRUE(dropout.forward(x).equal(x));
  EXPECT_TRUE(dropout.add(x, x).equal(2 * x));
  EXPECT_TRUE(dropout.rectify(x.clone()).equal(at::relu(x)));
}

TEST(Dropout, BackwardUsesTheSameMask) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    const at::Tensor x = at::randn({33, 301}, type).set_requires_grad(true);
    const at::Tensor base = at::randn({33, 301}, type).set_requires_grad(true);
    const at::Tensor g = at::randn({33, 301}, type);
    const Dropout dropout(stream(), 0.3);
    const at::Tensor mask = dropout.forward(at::ones({33, 301}, type));

    auto got = ::torch::autograd::grad({dropout.forward(x)}, {x}, {g});
    EXPECT_TRUE(got[0].equal(g * mask));

    const at::Tensor sum = dropout.add(base, x);
    EXPECT_TRUE(sum.equal(base + x * mask));
    got = ::torch::autograd::grad({sum}, {base, x}, {g});
    EXPECT_TRUE(got[0].equal(g));
    EXPECT_TRUE(got[1].equal(g * mask));

    const at::Tensor y = dropout.rectify(x * 1);
    EXPECT_TRUE(y.equal(at::relu(x) * mask));
    got = ::torch::autograd::grad({y}, {x}, {g});
    EXPECT_TRUE(got[0].equal(g * mask * (x > 0)));
  }
}

TEST(Dropout, SaysWhatIsWrong) {
  for (const double p : {-0.1, 1.0, 1.5, std::nan("")}) EXPECT_THROW(Dropout(stream(), p), Error);
}

}  // namespace
}  // namespace medgrad::libtorch
