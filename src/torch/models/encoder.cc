#include "torch/models/encoder.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <cmath>

#include "medgrad/error.h"
#include "torch/models/initialise.h"
#include "torch/models/linear_cross_entropy.h"
#include "torch/models/positions.h"

namespace medgrad::libtorch {

struct EncoderLayer : ::torch::nn::Module {
  EncoderLayer(const EncoderOptions& o, const std::shared_ptr<DropoutStream>& stream) {
    const auto dropout = [&] { return std::make_shared<Dropout>(stream, o.dropout); };
    self_attn =
        register_module("self_attn", std::make_shared<SelfAttention>(o.width, o.heads, dropout()));
    linear1 = register_module("linear1", std::make_shared<Affine>(o.width, o.hidden));
    linear2 = register_module("linear2", std::make_shared<Affine>(o.hidden, o.width));
    norm1 = register_module("norm1", std::make_shared<Norm>(o.width));
    norm2 = register_module("norm2", std::make_shared<Norm>(o.width));
    after_attention = register_module("after_attention", dropout());
    inside = register_module("inside", dropout());
    after = register_module("after", dropout());
  }

  [[nodiscard]] at::Tensor forward(const at::Tensor& x, std::int64_t batch) const {
    const at::Tensor y =
        norm1->forward(after_attention->add(x, self_attn->forward(x, batch, /*causal=*/true)));
    return norm2->forward(after->add(y, linear2->forward(inside->rectify(linear1->forward(y)))));
  }

  std::shared_ptr<SelfAttention> self_attn;
  std::shared_ptr<Affine> linear1, linear2;
  std::shared_ptr<Norm> norm1, norm2;
  std::shared_ptr<Dropout> after_attention, inside, after;
};

namespace {

void check(const EncoderOptions& o) {
  if (o.vocabulary < 1 || o.width < 2 || o.heads < 1 || o.hidden < 1 || o.layers < 0) {
    throw Error(
        "An encoder needs at least one token, head and hidden unit, and a width of at least 2.");
  }
  if (o.width % o.heads != 0 || o.width % 2 != 0) {
    throw Error(fmt::format(
        "The width of an encoder is {}; it must be even and a multiple of the heads, {}.", o.width,
        o.heads));
  }
}

}  // namespace

EncoderModel::EncoderModel(const EncoderOptions& options) : options_(options) {
  check(options);
  drop_ = register_module("drop", dropout(options.dropout));
  emb_ = register_module("emb", std::make_shared<Table>(options.vocabulary, options.width));
  layers_ = register_module("layers", std::make_shared<LayerList<EncoderLayer>>());
  for (std::int64_t i = 0; i < options.layers; ++i)
    layers_->add(std::make_shared<EncoderLayer>(options, stream()));
  dec_ = register_module("dec", std::make_shared<Affine>(options.width, options.vocabulary));

  Initialiser initialiser(options.seed);
  initialiser.modules(*this);
  const std::uint64_t shared = initialiser.new_stream();
  for (const auto& layer : layers_->layers)
    initialiser.xavier(layer->self_attn->in_proj_weight, shared);
}

at::Tensor EncoderModel::rows(const at::Tensor& tokens) {
  if (tokens.dim() != 2) throw Error("Tokens must have the shape (time, batch).");
  const std::int64_t time = tokens.size(0), batch = tokens.size(1);
  const at::Tensor found = emb_->forward(tokens);
  const at::Tensor positions = interleaved_positions(time, options_.width).to(found.scalar_type());
  const at::Tensor scaled = at::add(positions.unsqueeze(1), found, std::sqrt(options_.width));
  at::Tensor x = drop_->forward(scaled.reshape({time * batch, options_.width}));
  for (const auto& layer : layers_->layers) x = layer->forward(x, batch);
  return x;
}

at::Tensor EncoderModel::hidden(const at::Tensor& tokens) {
  return rows(tokens).reshape({tokens.size(0), tokens.size(1), options_.width});
}

at::Tensor EncoderModel::loss_of(const Batch& batch) {
  return linear_cross_entropy(rows(batch.tokens), dec_->weight, dec_->bias, batch.targets);
}

}  // namespace medgrad::libtorch
