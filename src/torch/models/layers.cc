#include "torch/models/layers.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <utility>

#include "medgrad/error.h"
#include "torch/models/affine.h"
#include "torch/models/attention.h"

namespace medgrad::libtorch {

Affine::Affine(std::int64_t in, std::int64_t out, bool with_bias) {
  weight = register_parameter("weight", at::empty({out, in}));
  if (with_bias) bias = register_parameter("bias", at::empty({out}));
}

at::Tensor Affine::forward(const at::Tensor& x) const { return affine(x, weight, bias); }

Norm::Norm(std::int64_t width, double given) : epsilon(given) {
  weight = register_parameter("weight", at::empty({width}));
  bias = register_parameter("bias", at::empty({width}));
}

at::Tensor Norm::forward(const at::Tensor& x) const { return normalise(x, weight, bias, epsilon); }

Table::Table(std::int64_t rows, std::int64_t width) {
  weight = register_parameter("weight", at::empty({rows, width}));
}

at::Tensor Table::forward(const at::Tensor& ids) const {
  if (ids.scalar_type() != at::kLong) throw Error("Tokens must be int64.");
  const std::int64_t least = ids.min().item<std::int64_t>(), most = ids.max().item<std::int64_t>();
  if (least < 0 || most >= weight.size(0)) {
    throw Error(fmt::format("Token {} is not a token; tokens are 0 to {}.",
                            least < 0 ? least : most, weight.size(0) - 1));
  }
  return at::embedding(weight, ids);
}

SelfAttention::SelfAttention(std::int64_t width, std::int64_t given_heads,
                             std::shared_ptr<Dropout> given_dropout)
    : heads(given_heads) {
  in_proj_weight = register_parameter("in_proj_weight", at::empty({3 * width, width}));
  in_proj_bias = register_parameter("in_proj_bias", at::empty({3 * width}));
  out_proj = register_module("out_proj", std::make_shared<Affine>(width, width));
  dropout = register_module("dropout", std::move(given_dropout));
}

at::Tensor SelfAttention::forward(const at::Tensor& x, std::int64_t batch, bool causal,
                                  const at::Tensor& key_bias) const {
  AttentionOptions options;
  options.heads = heads;
  options.causal = causal;
  options.key_bias = key_bias;
  options.dropout = dropout->mask();
  const at::Tensor qkv = affine(x, in_proj_weight, in_proj_bias);
  return out_proj->forward(attention(qkv, batch, options));
}

}  // namespace medgrad::libtorch
