// The steps of a run whose gradient is wrong, which ones and how: a function of the seed and the
// step, the same for every method.
//
//     scaled            g is multiplied by a factor
//     bit-flip          a bit of an exponent of g is flipped, g being the gradient of all
//     parameters
//                       as one vector: BitFlip of attack.h with the run's seed, its round being the
//                       number of the gradient, counted over the run
//     shuffled-labels   g is that of the same inputs with the batch's labels in another order
//
// Step t is one of them where uniform number t of Philox(seed, 0xc0) is below the share.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/corruption.h"
#include "language/task.h"
#include "medgrad/large_vector.h"

namespace medgrad::language {

class CorruptedSteps {
 public:
  // Throws Error where a batch of the task has no labels to shuffle that are asked to be.
  CorruptedSteps(const lab::Corruption& how, std::uint64_t seed, const Task& task);

  [[nodiscard]] bool contains(std::uint64_t step) const;
  [[nodiscard]] bool shuffles_labels() const {
    return how_.kind == lab::Corruption::Kind::shuffled_labels;
  }
  // The batch with its labels in another order; `number` counts the batches of the run.
  [[nodiscard]] libtorch::Batch shuffled(libtorch::Batch batch, std::uint64_t number) const;
  // Corrupts gradient `number` of the run, which the parameters have; nothing where it is that of
  // shuffled labels.
  void corrupt(const std::vector<at::Tensor>& parameters, std::uint64_t number);

 private:
  lab::Corruption how_;
  std::uint64_t seed_;
  const Task& task_;
  LargeVector<float> gradient_, flipped_;  // of flipped bits
};

}  // namespace medgrad::language
