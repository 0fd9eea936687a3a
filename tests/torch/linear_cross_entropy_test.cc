#include "torch/models/linear_cross_entropy.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <vector>

#include "medgrad/torch/runtime.h"
#include "model_checks.h"
#include "testing.h"

namespace medgrad::libtorch {
namespace {

struct LossCase {
  at::Tensor hidden, weight, bias, targets;
  [[nodiscard]] std::vector<at::Tensor> inputs() const { return {hidden, weight, bias}; }
};

LossCase random_case(std::int64_t n, std::int64_t width, std::int64_t vocabulary,
                     at::ScalarType type, double size = 1) {
  auto generator = at::detail::createCPUGenerator(5);
  const auto draw = [&](at::IntArrayRef shape) {
    return (size * at::randn(shape, generator, at::kDouble)).to(type).set_requires_grad(true);
  };
  return {draw({n, width}), draw({vocabulary, width}), draw({vocabulary}),
          testing::random_tokens(vocabulary, {n})};
}

at::Tensor plain(const LossCase& c) {
  return ::torch::nn::functional::nll_loss(
      at::log_softmax(at::linear(c.hidden, c.weight, c.bias), 1), c.targets);
}

std::vector<at::Tensor> gradients(const LossCase& c, const at::Tensor& loss) {
  return ::torch::autograd::grad({loss}, c.inputs());
}

double error(const at::Tensor& got, const at::Tensor& want) {
  return ((got - want).norm() / want.norm()).item<double>();
}

TEST(LinearCrossEntropy, IsLinearLogSoftmaxAndNll) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    const double tolerance = type == at::kFloat ? 1e-5 : 1e-12;
    for (const std::int64_t n : {1, 2, 37, 200}) {
      for (const std::int64_t vocabulary : {1, 5, 33, 1003}) {
        for (const std::int64_t rows : {0, 1, 16, 37}) {
          const LossCase c = random_case(n, 12, vocabulary, type);
          const at::Tensor got = linear_cross_entropy(c.hidden, c.weight, c.bias, c.targets, rows);
          const at::Tensor want = plain(c);
          EXPECT_EQ(got.scalar_type(), type);
          EXPECT_NEAR(got.item<double>(), want.item<double>(),
                      tolerance * (1 + want.item<double>()));
          const auto got_g = gradients(c, got), want_g = gradients(c, want);
          if (vocabulary == 1) continue;  // all zero
          for (std::size_t k = 0; k < 3; ++k) EXPECT_LT(error(got_g[k], want_g[k]), tolerance);
        }
      }
    }
  }
}

// The real size of a vocabulary, where rounding adds up, against double.
TEST(LinearCrossEntropy, FloatsOfAFullVocabularyAreRightToRounding) {
  const LossCase c = random_case(300, 64, 10000, at::kFloat, 0.3);
  const auto wide = [](const at::Tensor& x) {
    return x.detach().to(at::kDouble).set_requires_grad(true);
  };
  const LossCase d = {wide(c.hidden), wide(c.weight), wide(c.bias), c.targets};
  const at::Tensor got = linear_cross_entropy(c.hidden, c.weight, c.bias, c.targets);
  const at::Tensor want = plain(d);
  EXPECT_NEAR(got.item<double>(), want.item<double>(), 1e-5 * want.item<double>());
  const auto got_g = gradients(c, got), want_g = gradients(d, want);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_LT(error(got_g[k], want_g[k]), 1e-5);
}

// As many tokens as a large batch has, one word in four the same: what a frequent word gets is the
// small difference of long sums.
TEST(LinearCrossEntropy, FloatsOfFrequentWordsAreRightToRounding) {
  LossCase c = random_case(20000, 8, 50, at::kFloat, 0.3);
  c.targets.slice(0, 0, 20000, 4).fill_(7);
  const auto wide = [](const at::Tensor& x) {
    return x.detach().to(at::kDouble).set_requires_grad(true);
  };
  const LossCase d = {wide(c.hidden), wide(c.weight), wide(c.bias), c.targets};
  const auto got = gradients(c, linear_cross_entropy(c.hidden, c.weight, c.bias, c.targets));
  const auto want = gradients(d, plain(d));
  // MKL adds to the gradient of the weights term by term: a walk of 20,000 roundings of 2^-24,
  // where OpenBLAS adds up blocks of some hundred first.
  const double walk = at::hasMKL() ? std::sqrt(20000.0) * 0x1p-24 : 5e-7;
  for (std::size_t k = 0; k < 3; ++k) EXPECT_LT(error(got[k], want[k]), k == 1 ? walk : 5e-7) << k;
}

TEST(LinearCrossEntropy, GradientsAreThoseOfFiniteDifferences) {
  const LossCase c = random_case(9, 4, 11, at::kDouble);
  const auto loss = [&] { return linear_cross_entropy(c.hidden, c.weight, c.bias, c.targets, 4); };
  const auto got = gradients(c, 3 * loss());
  const at::NoGradGuard no_gradients;
  for (std::size_t k = 0; k < 3; ++k) {
    at::Tensor flat = c.inputs()[k].view({-1});
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      const double at = flat[i].item<double>(), step = 1e-6;
      flat[i] = at + step;
      const double up = loss().item<double>();
      flat[i] = at - step;
      const double down = loss().item<double>();
      flat[i] = at;
      EXPECT_NEAR(got[k].view({-1})[i].item<double>(), 3 * (up - down) / (2 * step), 1e-8);
    }
  }
}

TEST(LinearCrossEntropy, LargeLogitsNeitherOverflowNorVanish) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    const LossCase c = random_case(20, 8, 50, type, 60);
    const at::Tensor got = linear_cross_entropy(c.hidden, c.weight, c.bias, c.targets);
    EXPECT_NEAR(got.item<double>() / plain(c).item<double>(), 1, 1e-5);
  }
}

// A diverging run is to be seen as one.
TEST(LinearCrossEntropy, NotANumberStaysNotANumber) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const std::int64_t where : {0, 17, 99}) {
      const at::NoGradGuard no_gradients;
      const LossCase c = random_case(3, 4, 100, at::kFloat);
      at::Tensor bias = c.bias.detach().clone();
      bias[where] = bad;
      EXPECT_TRUE(
          std::isnan(linear_cross_entropy(c.hidden, c.weight, bias, c.targets).item<double>()));
    }
  }
}

TEST(LinearCrossEntropy, WithoutGradientsTheSameLoss) {
  const LossCase c = random_case(50, 8, 301, at::kFloat);
  const double with = linear_cross_entropy(c.hidden, c.weight, c.bias, c.targets).item<double>();
  const at::NoGradGuard no_gradients;
  const at::Tensor loss = linear_cross_entropy(c.hidden, c.weight, c.bias, c.targets);
  EXPECT_FALSE(loss.requires_grad());
  EXPECT_EQ(loss.item<double>(), with);
}

TEST(LinearCrossEntropy, ThreadsChangeNothing) {
  const LossCase c = random_case(200, 16, 301, at::kDouble);
  const auto run = [&](int threads) {
    use_threads(threads);
    const at::Tensor loss = linear_cross_entropy(c.hidden, c.weight, c.bias, c.targets, 50);
    auto all = gradients(c, loss);
    all.push_back(loss.detach());
    use_threads(1);
    return all;
  };
  const auto one = run(1), two = run(2);
  // The products are the BLAS's, and it may cut them differently.
  for (std::size_t k = 0; k < one.size(); ++k)
    EXPECT_LE(testing::largest_difference(one[k], two[k]), 1e-13);
}

// The gradient of the weights is the largest tensor there is: it must become `grad`, not its copy.
TEST(LinearCrossEntropy, HandsItsGradientsOver) {
  const LossCase c = random_case(5, 4, 11, at::kFloat);
  const void* arrived = nullptr;
  c.weight.register_hook([&](const at::Tensor& gradient) { arrived = gradient.data_ptr(); });
  linear_cross_entropy(c.hidden, c.weight, c.bias, c.targets).backward();
  EXPECT_EQ(c.weight.grad().data_ptr(), arrived);
  const at::Tensor first = c.weight.grad().clone();
  linear_cross_entropy(c.hidden, c.weight, c.bias, c.targets).backward();
  EXPECT_TRUE(at::allclose(c.weight.grad(), 2 * first));
  const at::Tensor loss = linear_cross_entropy(c.hidden, c.weight, c.bias, c.targets);
  loss.backward({}, /*retain_graph=*/true);
  EXPECT_THROW(loss.backward(), Error);
}

TEST(LinearCrossEntropy, TargetsAreTokens) {
  LossCase c = random_case(5, 4, 11, at::kFloat);
  for (const std::int64_t bad : {-1, 11, 1000}) {
    c.targets[3] = bad;
    EXPECT_EQ(
        medgrad::testing::message_of(
            [&] { return linear_cross_entropy(c.hidden, c.weight, c.bias, c.targets); }),
        "Target 3 is token " + std::to_string(bad) + ", but the vocabulary has tokens 0 to 10.");
  }
}

}  // namespace
}  // namespace medgrad::libtorch
