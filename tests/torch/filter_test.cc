// A filter in front of torch's own optimisers: they get m, and nothing else changes.
#include "medgrad/torch/filter.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <sstream>

#include "medgrad/error.h"
#include "torch/models.h"

namespace medgrad::libtorch {
namespace {

using medgrad::testing::parameters;
using medgrad::testing::same_bits;
using medgrad::testing::set_gradients;

// SGD after the filter is MedianSGD.
TEST(Filtered, SgdIsMedianSgd) {
  std::vector<Tensor> a = parameters(at::kDouble), b = parameters(at::kDouble);
  Filtered<::torch::optim::SGD> filtered(a, FilterOptions{}, ::torch::optim::SGDOptions(0.1));
  MedianSGD ours(b, MedianSGDOptions(0.1, ProximalPoint{L2{}, kAutomaticNumber}));
  for (int t = 0; t < 6; ++t) {
    set_gradients(a, t);
    set_gradients(b, t);
    if (t == 3) a[0].grad()[1][2] = b[0].grad()[1][2] = std::nan("");
    filtered.step();
    ours.step();
    EXPECT_EQ(filtered.filter().tracker().last_step()[0].info.tau, ours.last_step()[0].info.tau);
  }
  EXPECT_LT(medgrad::testing::largest_difference(a, b), 1e-14);
  EXPECT_TRUE(at::equal(a[1].grad(), ours.estimate(b[1]))) << "gradients hold m";
}

// Adam gets m where there is a filter and g where it is left out.
TEST(Filtered, AdamAndWhatIsLeftOut) {
  std::vector<Tensor> a = parameters(at::kDouble), b = parameters(at::kDouble);
  const OnlineMethod method = ProximalPoint{L1{}, 0.05};
  Filtered<::torch::optim::Adam> filtered(
      a, FilterOptions{.method = method, .scope = Scope::tensor, .leave_out = {a[1]}},
      ::torch::optim::AdamOptions(0.1));
  ::torch::optim::Adam adam(b, ::torch::optim::AdamOptions(0.1));
  std::vector<Tensor> m;
  for (const Tensor& w : b) m.push_back(at::zeros_like(w));
  for (int t = 0; t < 5; ++t) {
    set_gradients(a, t);
    set_gradients(b, t);
    for (std::size_t i = 0; i < b.size(); ++i) {
      if (i == 1) continue;
      m[i] = m[i] + (b[i].grad() - m[i]).clamp(-0.05, 0.05);
      b[i].mutable_grad() = m[i].clone();
    }
    filtered.step([&] { return at::zeros({}); });
    adam.step();
  }
  EXPECT_LT(medgrad::testing::largest_difference(a, b), 1e-13);
  EXPECT_THROW(Filtered<::torch::optim::Adam>(a, FilterOptions{.leave_out = {b[0]}},
                                              ::torch::optim::AdamOptions(0.1)),
               Error);
}

TEST(Filtered, GoesOnAsIfNeverStopped) {
  std::vector<Tensor> straight = parameters(at::kFloat), broken = parameters(at::kFloat);
  const auto make = [](std::vector<Tensor> p) {
    return std::make_unique<Filtered<::torch::optim::SGD>>(
        p, FilterOptions{}, ::torch::optim::SGDOptions(0.1).momentum(0.5));
  };
  const auto whole = make(straight);
  const auto run = [](::torch::optim::Optimizer& optimizer, const std::vector<Tensor>& p, int from,
                      int to) {
    for (int t = from; t < to; ++t) {
      set_gradients(p, t);
      optimizer.step();
    }
  };
  run(*whole, straight, 0, 8);
  std::stringstream file;
  {
    const auto first = make(broken);
    run(*first, broken, 0, 3);
    ::torch::save(*first, file);
  }
  const auto second = make(broken);
  ::torch::load(*second, file);
  run(*second, broken, 3, 8);
  EXPECT_TRUE(same_bits(straight, broken));
}

}  // namespace
}  // namespace medgrad::libtorch
