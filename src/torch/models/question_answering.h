// Extractive question answering: which tokens of a text the answer begins and ends at.
//
// A BERT encoder (bert.h), then one linear layer to two numbers per token: the logits of being the
// first and the last token of the answer. With CE the cross-entropy over the tokens of a sequence,
// padding included,
//
//     loss = 1/2 (CE(first) + CE(last)),
//
// each the mean over the sequences of a batch. Targets are clamped to [0, length], and length
// itself does not count: an answer that was cut off.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "torch/models/bert.h"
#include "torch/models/model.h"

namespace medgrad::libtorch {

// What became of a checkpoint.
struct LoadReport {
  std::vector<std::string> missing;     // weights of the encoder that it does not have
  std::vector<std::string> unexpected;  // tensors of it that are of no model known here
  std::vector<std::string> ignored;     // known, but of no use here: other heads, the pooler
  bool head = false;                    // was the head there? Else it is as it was drawn.
};

class QuestionAnswering : public Model {
 public:
  // Weights are drawn as everywhere (initialise.h); the encoder's are meant to be replaced.
  explicit QuestionAnswering(const BertOptions& options);

  // Copies the weights of a published checkpoint, by its names: with or without "bert." or
  // "distilbert." in front, in any floating type. Throws Error for a tensor of another shape, and
  // leaves the model as it was then.
  LoadReport load(const std::map<std::string, at::Tensor>& tensors);

  // (batch, length) tokens to hidden states (batch, length, width).
  [[nodiscard]] at::Tensor hidden(const Batch& batch);
  // (batch, length, 2): the first and the last token.
  [[nodiscard]] at::Tensor logits(const Batch& batch);
  // The loss of the header from them; targets as in Batch.
  [[nodiscard]] static at::Tensor loss_of_logits(const at::Tensor& logits,
                                                 const at::Tensor& targets);

  [[nodiscard]] const BertOptions& options() const { return options_; }

 protected:
  [[nodiscard]] at::Tensor loss_of(const Batch& batch) override;

 private:
  BertOptions options_;
  std::shared_ptr<BertEncoder> encoder_;
  std::shared_ptr<Dropout> drop_;
  std::shared_ptr<Affine> head_;
};

}  // namespace medgrad::libtorch
