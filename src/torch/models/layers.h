// The modules that the models share. They hold parameters, which start uninitialised: drawing them
// is initialise.h's, so that they come from one seed and no time is spent on drawing them twice.
//
// Hidden states are matrices of one row per token, in the order of time and then of the sequence.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torch/models/dropout.h"

namespace medgrad::libtorch {

// x W' + b.
struct Affine : ::torch::nn::Module {
  Affine(std::int64_t in, std::int64_t out, bool with_bias = true);
  [[nodiscard]] at::Tensor forward(const at::Tensor& x) const;
  at::Tensor weight, bias;  // (out, in), (out); no bias is undefined
};

// (x - mean) / sqrt(variance + epsilon), by rows, times weight plus bias.
struct Norm : ::torch::nn::Module {
  explicit Norm(std::int64_t width, double epsilon = 1e-5);
  [[nodiscard]] at::Tensor forward(const at::Tensor& x) const;
  at::Tensor weight, bias;
  double epsilon;
};

// One row per token. Throws Error for ids that have none.
struct Table : ::torch::nn::Module {
  Table(std::int64_t rows, std::int64_t width);
  [[nodiscard]] at::Tensor forward(const at::Tensor& ids) const;
  at::Tensor weight;
};

// Attention with the usual parameters: one projection to queries, keys and values, and one back.
struct SelfAttention : ::torch::nn::Module {
  SelfAttention(std::int64_t width, std::int64_t heads, std::shared_ptr<Dropout> dropout);
  // key_bias as in attention.h.
  [[nodiscard]] at::Tensor forward(const at::Tensor& x, std::int64_t batch, bool causal,
                                   const at::Tensor& key_bias = {}) const;
  at::Tensor in_proj_weight, in_proj_bias;  // (3 width, width), (3 width)
  std::shared_ptr<Affine> out_proj;
  std::int64_t heads;
  std::shared_ptr<Dropout> dropout;  // on the probabilities
};

// Numbered modules under one name.
template <class Layer>
struct LayerList : ::torch::nn::Module {
  void add(std::shared_ptr<Layer> layer) {
    layers.push_back(register_module(std::to_string(layers.size()), std::move(layer)));
  }
  std::vector<std::shared_ptr<Layer>> layers;
};

}  // namespace medgrad::libtorch
