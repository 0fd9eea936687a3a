// The encoder of the Penn Treebank task (and, with another vocabulary, of a smaller WikiText-2
// one).
//
//     x_t = dropout(sqrt(width) E[token_t] + position_t)
//     each layer:  x <- norm1(x + dropout(attention(x))),
//                  x <- norm2(x + dropout(linear2(dropout(max(0, linear1(x)))))),
//     logits = dec(x),
//
// attention looking back only, and dropping probabilities as well. Parameters are named and ordered
// as torch's TransformerEncoder has them, between emb.weight and dec.weight, dec.bias.
#pragma once

#include <cstdint>
#include <memory>

#include "torch/models/layers.h"
#include "torch/models/model.h"

namespace medgrad::libtorch {

struct EncoderOptions {
  std::int64_t vocabulary = 10000;
  std::int64_t width = 200;
  std::int64_t heads = 2;
  std::int64_t hidden = 200;  // of the feed-forward part
  std::int64_t layers = 2;
  double dropout = 0.2;
  std::uint64_t seed = 0;  // of the initial weights
};

struct EncoderLayer;

class EncoderModel : public Model {
 public:
  // The first weights are drawn by kind (initialise.h). Projections to queries, keys and values are
  // Xavier-uniform and the same in all layers, which is what copying one layer comes to.
  explicit EncoderModel(const EncoderOptions& options);

  // (time, batch) tokens to hidden states (time, batch, width).
  [[nodiscard]] at::Tensor hidden(const at::Tensor& tokens);

  [[nodiscard]] const EncoderOptions& options() const { return options_; }

 protected:
  [[nodiscard]] at::Tensor loss_of(const Batch& batch) override;

 private:
  [[nodiscard]] at::Tensor rows(const at::Tensor& tokens);

  EncoderOptions options_;
  std::shared_ptr<Dropout> drop_;
  std::shared_ptr<Table> emb_;
  std::shared_ptr<LayerList<EncoderLayer>> layers_;
  std::shared_ptr<Affine> dec_;
};

}  // namespace medgrad::libtorch
