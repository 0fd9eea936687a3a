// The training loop of sgd.cc with VClip, which tracks the geometric median of the gradients: one
// include, and one line where the optimiser is made.
#include <torch/torch.h>

#include <cstdio>

#include "medgrad/torch/optim.h"

struct Net : torch::nn::Module {
  Net() {
    first = register_module("first", torch::nn::Linear(20, 64));
    second = register_module("second", torch::nn::Linear(64, 1));
  }
  torch::Tensor forward(const torch::Tensor& x) { return second(torch::tanh(first(x))); }
  torch::nn::Linear first{nullptr}, second{nullptr};
};

int main() {
  torch::manual_seed(0);
  const torch::Tensor x = torch::randn({4096, 20});
  const torch::Tensor truth = torch::sin(x.sum(1, true) / 3);
  const torch::Tensor y = truth + 0.1 * torch::empty({4096, 1}).cauchy_();

  Net net;
  medgrad::libtorch::MedianSGD optimizer(net.parameters(), 0.05);
  for (int step = 0; step < 2000; ++step) {
    const torch::Tensor rows = torch::randint(4096, {32}, torch::kLong);
    optimizer.zero_grad();
    torch::mse_loss(net.forward(x.index({rows})), y.index({rows})).backward();
    optimizer.step();
  }
  torch::NoGradGuard no_grad;
  const double error = torch::mse_loss(net.forward(x), truth).item<double>();
  std::printf("mean squared distance from the truth: %.4f\n", error);
}
