// Affine maps and norms of the rows of a matrix, with gradients that are the same to the last bit
// for every number of threads.
#pragma once

#include <ATen/core/Tensor.h>

namespace medgrad::libtorch {

// x W' + b for rows x (n, in), weight (out, in) and bias (out), which may be undefined.
[[nodiscard]] at::Tensor affine(const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& bias);

// (x - mean) / sqrt(variance + epsilon) * weight + bias, by rows.
[[nodiscard]] at::Tensor normalise(const at::Tensor& x, const at::Tensor& weight,
                                   const at::Tensor& bias, double epsilon);

}  // namespace medgrad::libtorch
