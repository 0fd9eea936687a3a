// Transformer-XL (Dai et al., ACL 2019), the model of the WikiText-2 task.
//
//     h = dropout(sqrt(width) E[token])
//     each layer:  h <- norm_a(h + dropout(W_o attention(W_qkv h, W_r R, u, v))),
//                  h <- norm_f(h + dropout(W_2 dropout(max(0, W_1 h + b_1)) + b_2)),
//     logits = W dropout(h) + b,
//
// attention with relative positions (attention.h): R = dropout(sinusoids of distances), u and v are
// shared by all layers. A memory of the hidden states of earlier tokens can be kept; the task runs
// without, so that the context is the chunk.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "torch/models/layers.h"
#include "torch/models/model.h"

namespace medgrad::libtorch {

struct TransformerXLOptions {
  std::int64_t vocabulary = 33278;
  std::int64_t width = 512;
  std::int64_t heads = 8;
  std::int64_t hidden = 2048;  // of the feed-forward part
  std::int64_t layers = 6;
  double dropout = 0.1;
  double attention_dropout = 0;  // on the probabilities
  std::int64_t memory = 0;       // tokens that loss() remembers from the batches before
  std::uint64_t seed = 0;        // of the initial weights
};

struct TransformerXLLayer;

class TransformerXL : public Model {
 public:
  // The input of every layer at the last tokens: (tokens * batch, width) each, without gradients.
  using Memory = std::vector<at::Tensor>;

  explicit TransformerXL(const TransformerXLOptions& options);

  // (time, batch) tokens to hidden states (time, batch, width). With a memory, tokens see the ones
  // that it holds as well, and it holds the last options().memory tokens afterwards.
  [[nodiscard]] at::Tensor hidden(const at::Tensor& tokens, Memory* memory = nullptr);

  // The next loss() starts without a memory: to be called where the text does not go on.
  void forget() { memory_.clear(); }

  [[nodiscard]] const TransformerXLOptions& options() const { return options_; }

 protected:
  [[nodiscard]] at::Tensor loss_of(const Batch& batch) override;

 private:
  [[nodiscard]] at::Tensor rows(const at::Tensor& tokens, Memory* memory);

  TransformerXLOptions options_;
  Memory memory_;
  at::Tensor u_, v_;
  std::shared_ptr<Dropout> drop_input_, drop_positions_, drop_output_;
  std::shared_ptr<Table> emb_;
  std::shared_ptr<LayerList<TransformerXLLayer>> layers_;
  std::shared_ptr<Affine> dec_;
};

}  // namespace medgrad::libtorch
