#include "torch/models/bert.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <limits>

#include "medgrad/error.h"

namespace medgrad::libtorch {

struct BertLayer : ::torch::nn::Module {
  BertLayer(const BertOptions& o, const std::shared_ptr<DropoutStream>& stream) {
    const auto dropout = [&](double p) { return std::make_shared<Dropout>(stream, p); };
    attention = register_module("attention", std::make_shared<SelfAttention>(
                                                 o.width, o.heads, dropout(o.attention_dropout)));
    norm1 = register_module("norm1", std::make_shared<Norm>(o.width, o.epsilon));
    linear1 = register_module("linear1", std::make_shared<Affine>(o.width, o.hidden));
    linear2 = register_module("linear2", std::make_shared<Affine>(o.hidden, o.width));
    norm2 = register_module("norm2", std::make_shared<Norm>(o.width, o.epsilon));
    after_attention =
        register_module("after_attention", dropout(o.kind == BertKind::distilbert ? 0 : o.dropout));
    after = register_module("after", dropout(o.dropout));
  }

  [[nodiscard]] at::Tensor forward(const at::Tensor& x, std::int64_t batch,
                                   const at::Tensor& key_bias) const {
    const at::Tensor a = attention->forward(x, batch, /*causal=*/false, key_bias);
    const at::Tensor y = norm1->forward(after_attention->add(x, a));
    const at::Tensor f = linear2->forward(at::gelu(linear1->forward(y)));
    return norm2->forward(after->add(y, f));
  }

  std::shared_ptr<SelfAttention> attention;
  std::shared_ptr<Norm> norm1, norm2;
  std::shared_ptr<Affine> linear1, linear2;
  std::shared_ptr<Dropout> after_attention, after;
};

namespace {

void check(const BertOptions& o) {
  if (o.vocabulary < 1 || o.positions < 1 || o.types < 0 || o.width < 1 || o.heads < 1 ||
      o.hidden < 1 || o.layers < 0 || !(o.epsilon > 0)) {
    throw Error("The sizes of a BERT model and the epsilon of its norms must be above 0.");
  }
  if (o.width % o.heads != 0) {
    throw Error(
        fmt::format("The width of a BERT model is {}; it must be a multiple of the heads, {}.",
                    o.width, o.heads));
  }
}

// 0 where there is a token and -Inf where there is padding, which no sequence consists of.
at::Tensor key_bias_of(const at::Tensor& mask, at::ScalarType type) {
  const at::Tensor padding = mask == 0;
  if (padding.all(1).any().item<bool>()) throw Error("A sequence consists of padding only.");
  return at::zeros(mask.sizes(), type)
      .masked_fill_(padding, -std::numeric_limits<double>::infinity());
}

// What the parts of a layer are published as.
struct Names {
  const char *layer, *query, *key, *value, *out, *norm1, *linear1, *linear2, *norm2;
};
constexpr Names kBert = {
    "encoder.layer.",       "attention.self.query",   "attention.self.key",
    "attention.self.value", "attention.output.dense", "attention.output.LayerNorm",
    "intermediate.dense",   "output.dense",           "output.LayerNorm"};
constexpr Names kDistilBert = {"transformer.layer.", "attention.q_lin",   "attention.k_lin",
                               "attention.v_lin",    "attention.out_lin", "sa_layer_norm",
                               "ffn.lin1",           "ffn.lin2",          "output_layer_norm"};

}  // namespace

BertEncoder::BertEncoder(const BertOptions& options, const std::shared_ptr<DropoutStream>& stream)
    : options_(options) {
  check(options);
  words_ = register_module("words", std::make_shared<Table>(options.vocabulary, options.width));
  positions_ =
      register_module("positions", std::make_shared<Table>(options.positions, options.width));
  if (options.types > 0)
    types_ = register_module("types", std::make_shared<Table>(options.types, options.width));
  norm_ = register_module("norm", std::make_shared<Norm>(options.width, options.epsilon));
  drop_ = register_module("drop", std::make_shared<Dropout>(stream, options.dropout));
  layers_ = register_module("layers", std::make_shared<LayerList<BertLayer>>());
  for (std::int64_t i = 0; i < options.layers; ++i)
    layers_->add(std::make_shared<BertLayer>(options, stream));
}

at::Tensor BertEncoder::forward(const at::Tensor& tokens, const at::Tensor& types,
                                const at::Tensor& mask) {
  if (tokens.dim() != 2) throw Error("Tokens must have the shape (batch, length).");
  const std::int64_t batch = tokens.size(0), length = tokens.size(1);
  if (length > options_.positions) {
    throw Error(fmt::format("A sequence has {} tokens, but the model has positions for {}.", length,
                            options_.positions));
  }
  const at::Tensor ids = tokens.t();
  // Looked up, not broadcast: the gradient of a broadcast depends on the number of threads.
  const at::Tensor places = at::arange(length).unsqueeze(1).expand({length, batch});
  at::Tensor x = words_->forward(ids) + positions_->forward(places);
  if (types_) x = x + types_->forward(types.defined() ? types.t() : at::zeros_like(ids));
  x = drop_->forward(norm_->forward(x.reshape({length * batch, options_.width})));
  const at::Tensor key_bias = mask.defined() ? key_bias_of(mask, x.scalar_type()) : at::Tensor();
  for (const auto& layer : layers_->layers) x = layer->forward(x, batch, key_bias);
  return x;
}

std::vector<std::pair<std::string, at::Tensor>> BertEncoder::published() const {
  std::vector<std::pair<std::string, at::Tensor>> all;
  const auto add = [&](const std::string& name, const at::Tensor& weight, const at::Tensor& bias) {
    all.emplace_back(name + ".weight", weight);
    if (bias.defined()) all.emplace_back(name + ".bias", bias);
  };
  add("embeddings.word_embeddings", words_->weight, {});
  add("embeddings.position_embeddings", positions_->weight, {});
  if (types_) add("embeddings.token_type_embeddings", types_->weight, {});
  add("embeddings.LayerNorm", norm_->weight, norm_->bias);
  const Names& names = options_.kind == BertKind::bert ? kBert : kDistilBert;
  for (std::size_t i = 0; i < layers_->layers.size(); ++i) {
    const BertLayer& layer = *layers_->layers[i];
    const std::string prefix = fmt::format("{}{}.", names.layer, i);
    const auto part = [&](const char* name) { return prefix + name; };
    std::int64_t row = 0;
    for (const char* name : {names.query, names.key, names.value}) {
      add(part(name), layer.attention->in_proj_weight.detach().narrow(0, row, options_.width),
          layer.attention->in_proj_bias.detach().narrow(0, row, options_.width));
      row += options_.width;
    }
    add(part(names.out), layer.attention->out_proj->weight, layer.attention->out_proj->bias);
    add(part(names.norm1), layer.norm1->weight, layer.norm1->bias);
    add(part(names.linear1), layer.linear1->weight, layer.linear1->bias);
    add(part(names.linear2), layer.linear2->weight, layer.linear2->bias);
    add(part(names.norm2), layer.norm2->weight, layer.norm2->bias);
  }
  return all;
}

}  // namespace medgrad::libtorch
