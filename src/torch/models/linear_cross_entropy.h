// The output layer of a language model and its loss in one.
//
//     loss = 1/n sum_i ( log sum_v e^(z_iv) - z_i,t_i ),     z = H W' + b.
//
// The n x V logits z are the largest thing of a training step: 0.36 GB for Penn Treebank at batch
// 256, and a plain implementation holds them three times. Here they exist for a few rows at a time.
// With P = softmax(z) by rows and Y the targets as unit vectors, the gradients are
//
//     dH = (P - Y) W / n,    dW = (P - Y)' H / n,    db = (P - Y)' 1 / n,
//
// linear in P, so that they can be taken while a chunk of P is in cache: in the forward pass, and
// backward has only to scale them. P is never normalised: its rows are E_i / s_i, and the 1 / s_i
// multiply the rows of E W and of H instead, which are 50 to 65 times shorter. Y touches one row
// of W per token.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace medgrad::libtorch {

// hidden (n, d), weight (V, d), bias (V) of one floating type; targets (n) int64 in [0, V), else an
// Error. Returns a scalar of that type. Where no gradients are recorded only the loss is computed.
// Gradients belong to the loss until backward(), which can be called once.
[[nodiscard]] at::Tensor linear_cross_entropy(const at::Tensor& hidden, const at::Tensor& weight,
                                              const at::Tensor& bias, const at::Tensor& targets);

// The same with a given number of rows at a time, for measuring; 0 chooses.
[[nodiscard]] at::Tensor linear_cross_entropy(const at::Tensor& hidden, const at::Tensor& weight,
                                              const at::Tensor& bias, const at::Tensor& targets,
                                              std::int64_t rows);

}  // namespace medgrad::libtorch
