#include "torch/models/transformer_xl.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "medgrad/error.h"
#include "torch/models/attention.h"
#include "torch/models/initialise.h"
#include "torch/models/linear_cross_entropy.h"
#include "torch/models/positions.h"

namespace medgrad::libtorch {

struct TransformerXLLayer : ::torch::nn::Module {
  TransformerXLLayer(const TransformerXLOptions& o, const std::shared_ptr<DropoutStream>& stream)
      : heads(o.heads) {
    const auto dropout = [&](double p) { return std::make_shared<Dropout>(stream, p); };
    qkv = register_module("qkv", std::make_shared<Affine>(o.width, 3 * o.width, false));
    r = register_module("r", std::make_shared<Affine>(o.width, o.width, false));
    out = register_module("out", std::make_shared<Affine>(o.width, o.width, false));
    norm1 = register_module("norm1", std::make_shared<Norm>(o.width));
    linear1 = register_module("linear1", std::make_shared<Affine>(o.width, o.hidden));
    linear2 = register_module("linear2", std::make_shared<Affine>(o.hidden, o.width));
    norm2 = register_module("norm2", std::make_shared<Norm>(o.width));
    on_attention = register_module("on_attention", dropout(o.attention_dropout));
    after_attention = register_module("after_attention", dropout(o.dropout));
    inside = register_module("inside", dropout(o.dropout));
    after = register_module("after", dropout(o.dropout));
  }

  // `context` is what keys and values are made of: the memory, if any, and then x.
  [[nodiscard]] at::Tensor forward(const at::Tensor& x, const at::Tensor& context,
                                   const at::Tensor& positions, const at::Tensor& u,
                                   const at::Tensor& v, std::int64_t batch) const {
    AttentionOptions options;
    options.heads = heads;
    options.queries = x.size(0) / batch;
    options.dropout = on_attention->mask();
    const at::Tensor a =
        attention(qkv->forward(context), batch, options, {r->forward(positions), u, v});
    const at::Tensor y = norm1->forward(after_attention->add(x, out->forward(a)));
    return norm2->forward(after->add(y, linear2->forward(inside->rectify(linear1->forward(y)))));
  }

  std::int64_t heads;
  std::shared_ptr<Affine> qkv, r, out, linear1, linear2;
  std::shared_ptr<Norm> norm1, norm2;
  std::shared_ptr<Dropout> on_attention, after_attention, inside, after;
};

namespace {

void check(const TransformerXLOptions& o) {
  if (o.vocabulary < 1 || o.width < 2 || o.heads < 1 || o.hidden < 1 || o.layers < 0) {
    throw Error(
        "A Transformer-XL needs at least one token, head and hidden unit, and a width of at least "
        "2.");
  }
  if (o.width % o.heads != 0 || o.width % 2 != 0) {
    throw Error(fmt::format(
        "The width of a Transformer-XL is {}; it must be even and a multiple of the heads, {}.",
        o.width, o.heads));
  }
  if (o.memory < 0) {
    throw Error(fmt::format("The memory of a Transformer-XL is {} tokens; it must be at least 0.",
                            o.memory));
  }
}

}  // namespace

TransformerXL::TransformerXL(const TransformerXLOptions& options) : options_(options) {
  check(options);
  const std::int64_t head = options.width / options.heads;
  u_ = register_parameter("r_w_bias", at::empty({options.heads, head}));
  v_ = register_parameter("r_r_bias", at::empty({options.heads, head}));
  drop_input_ = register_module("drop_input", dropout(options.dropout));
  drop_positions_ = register_module("drop_positions", dropout(options.dropout));
  emb_ = register_module("emb", std::make_shared<Table>(options.vocabulary, options.width));
  layers_ = register_module("layers", std::make_shared<LayerList<TransformerXLLayer>>());
  for (std::int64_t i = 0; i < options.layers; ++i)
    layers_->add(std::make_shared<TransformerXLLayer>(options, stream()));
  drop_output_ = register_module("drop_output", dropout(options.dropout));
  dec_ = register_module("dec", std::make_shared<Affine>(options.width, options.vocabulary));

  Initialiser initialiser(options.seed);
  initialiser.modules(*this);
  initialiser.normal(u_, 0, 0.02);
  initialiser.normal(v_, 0, 0.02);
}

at::Tensor TransformerXL::rows(const at::Tensor& tokens, Memory* memory) {
  if (tokens.dim() != 2) throw Error("Tokens must have the shape (time, batch).");
  const std::int64_t time = tokens.size(0), batch = tokens.size(1);
  const std::int64_t remembered =
      memory == nullptr || memory->empty() ? 0 : memory->front().size(0) / batch;
  if (remembered > 0 && memory->front().size(0) != remembered * batch)
    throw Error(
        "The memory of the Transformer-XL has a different batch size; call forget() first.");
  at::Tensor x = emb_->forward(tokens.reshape({time * batch})) * std::sqrt(options_.width);
  const at::Tensor positions = drop_positions_->forward(
      falling_positions(remembered + time, options_.width).to(x.scalar_type()));
  x = drop_input_->forward(x);
  Memory next;
  for (std::size_t i = 0; i < layers_->layers.size(); ++i) {
    const at::Tensor context = remembered > 0 ? at::cat({(*memory)[i], x}) : x;
    if (memory != nullptr) {
      const std::int64_t keep = std::min(options_.memory * batch, context.size(0));
      next.push_back(context.detach().narrow(0, context.size(0) - keep, keep).clone());
    }
    x = layers_->layers[i]->forward(x, context, positions, u_, v_, batch);
  }
  if (memory != nullptr) *memory = std::move(next);
  return drop_output_->forward(x);
}

at::Tensor TransformerXL::hidden(const at::Tensor& tokens, Memory* memory) {
  return rows(tokens, memory).reshape({tokens.size(0), tokens.size(1), options_.width});
}

at::Tensor TransformerXL::loss_of(const Batch& batch) {
  return linear_cross_entropy(rows(batch.tokens, options_.memory > 0 ? &memory_ : nullptr),
                              dec_->weight, dec_->bias, batch.targets);
}

}  // namespace medgrad::libtorch
