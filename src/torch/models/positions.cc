#include "torch/models/positions.h"

#include <torch/torch.h>

#include <cmath>

namespace medgrad::libtorch {
namespace {

// t f_i for given positions t, one row each.
at::Tensor angles(const at::Tensor& positions, std::int64_t width) {
  const double rate = -std::log(10000.0) / static_cast<double>(width);
  const at::Tensor frequencies = at::exp(at::arange(0, width, 2, at::kFloat) * rate);
  return positions.unsqueeze(1) * frequencies;
}

}  // namespace

at::Tensor interleaved_positions(std::int64_t count, std::int64_t width) {
  const at::NoGradGuard no_gradients;
  const at::Tensor a = angles(at::arange(count, at::kFloat), width);
  return at::stack({at::sin(a), at::cos(a)}, 2).reshape({count, width});
}

at::Tensor falling_positions(std::int64_t count, std::int64_t width) {
  const at::NoGradGuard no_gradients;
  const at::Tensor a = angles(at::arange(count - 1, -1, -1, at::kFloat), width);
  return at::cat({at::sin(a), at::cos(a)}, 1);
}

}  // namespace medgrad::libtorch
