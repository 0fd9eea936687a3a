// What the tasks ask of a model: parameters, a loss, and random numbers that can be put back.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>

#include "torch/models/dropout.h"

namespace medgrad::libtorch {

// Language models read (time, batch) tokens and predict targets of the same shape. Question
// answering reads (batch, length) tokens and predicts (batch, 2): the first and the last token of
// the answer; a position outside the tokens does not count. All are int64.
struct Batch {
  at::Tensor tokens, targets;
  at::Tensor types;        // question answering: 0 question, 1 context; undefined: all 0
  at::Tensor mask;         // question answering: 1 token, 0 padding; undefined: all tokens
  at::Tensor inputs = {};  // numbers in rows, for a model that reads those
};

// parameters(), train(bool), eval() and to(dtype) are nn::Module's.
class Model : public ::torch::nn::Module {
 public:
  // The mean loss of a batch. In training mode it uses up one step of the dropout stream, so that
  // every batch has masks of its own.
  [[nodiscard]] at::Tensor loss(const Batch& batch) {
    at::Tensor value = loss_of(batch);
    if (is_training()) ++stream_->step;
    return value;
  }

  // The next loss draws what the one after `step` training losses from `seed` on draws: resuming a
  // run is a call of this.
  void reseed(std::uint64_t seed, std::uint64_t step) {
    stream_->seed = seed;
    stream_->step = step;
  }
  [[nodiscard]] std::uint64_t step() const { return stream_->step; }

 protected:
  [[nodiscard]] virtual at::Tensor loss_of(const Batch& batch) = 0;
  [[nodiscard]] std::shared_ptr<Dropout> dropout(double p) const {
    return std::make_shared<Dropout>(stream_, p);
  }
  [[nodiscard]] const std::shared_ptr<DropoutStream>& stream() const { return stream_; }

 private:
  std::shared_ptr<DropoutStream> stream_ = std::make_shared<DropoutStream>();
};

}  // namespace medgrad::libtorch
