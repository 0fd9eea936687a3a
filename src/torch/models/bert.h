// Encoders of the BERT family: BERT itself, MiniLM, DistilBERT.
//
//     x = dropout(norm(word + position (+ token type)))
//     each layer:  x <- norm(x + [dropout](attention(x))),
//                  x <- norm(x + dropout(W_2 gelu(W_1 x + b_1) + b_2)),
//
// gelu being the exact one (with erf), attention looking both ways but not at padding. DistilBERT
// has no token types and no dropout after attention. Which of them it is, and its sizes, are read
// from the config.json that is published with the weights.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "torch/models/layers.h"
#include "torch/models/model.h"

namespace medgrad::libtorch {

enum class BertKind : std::uint8_t { bert, distilbert };

// The defaults are distilbert-base-uncased.
struct BertOptions {
  BertKind kind = BertKind::distilbert;
  std::int64_t vocabulary = 30522;
  std::int64_t positions = 512;  // the longest sequence
  std::int64_t types = 0;        // token types; DistilBERT has none
  std::int64_t width = 768;
  std::int64_t heads = 12;
  std::int64_t hidden = 3072;  // of the feed-forward part
  std::int64_t layers = 6;
  double epsilon = 1e-12;  // of the norms
  double dropout = 0.1;
  double attention_dropout = 0.1;  // on the probabilities
  double head_dropout = 0.1;       // before the head that answers questions; BERT has none there
  std::uint64_t seed = 0;          // of weights that no checkpoint gives
};

struct BertLayer;

class BertEncoder : public ::torch::nn::Module {
 public:
  BertEncoder(const BertOptions& options, const std::shared_ptr<DropoutStream>& stream);

  // (batch, length) tokens, and optionally types and mask as in Batch, to one row per token, in the
  // order of time and then of the sequence: (length * batch, width).
  [[nodiscard]] at::Tensor forward(const at::Tensor& tokens, const at::Tensor& types,
                                   const at::Tensor& mask);

  // The names under which the weights are published, without a prefix like "bert.", and the memory
  // that each of them is kept in here.
  [[nodiscard]] std::vector<std::pair<std::string, at::Tensor>> published() const;

 private:
  BertOptions options_;
  std::shared_ptr<Table> words_, positions_, types_;
  std::shared_ptr<Norm> norm_;
  std::shared_ptr<Dropout> drop_;
  std::shared_ptr<LayerList<BertLayer>> layers_;
};

}  // namespace medgrad::libtorch
