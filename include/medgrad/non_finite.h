// Numbers that are not finite: what to do with them, and how they are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "medgrad/error.h"

#pragma GCC visibility push(default)
namespace medgrad {

// What a NaN or an infinity in the input means. Estimators refuse by default: what enters a
// computation by mistake should be seen. The libtorch optimisers take such gradients robustly by
// default: a training run of days should outlive one of them, and they are counted.
enum class NonFinite : std::uint8_t {
  reject,  // an Error that names the place; nothing else changes
  robust,  // NaN is a missing observation and leaves its component as it was; +-Inf counts as the
           // largest finite number of its sign. Both are counted.
};

// The Error of NonFinite::reject: which component it was, and of which row where there are several;
// both counted from 0.
class NonFiniteInput : public Error {
 public:
  static constexpr std::size_t kOneVector = std::numeric_limits<std::size_t>::max();

  NonFiniteInput(const std::string& sentence, std::size_t index, std::size_t row = kOneVector)
      : Error(sentence), index_(index), row_(row) {}
  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] std::size_t row() const { return row_; }  // kOneVector where there is only one

 private:
  std::size_t index_, row_;
};

// No row has an observation of this component (counted from 0): every one of them is NaN.
class NoObservation : public Error {
 public:
  NoObservation(const std::string& sentence, std::size_t index) : Error(sentence), index_(index) {}
  [[nodiscard]] std::size_t index() const { return index_; }

 private:
  std::size_t index_;
};

}  // namespace medgrad
#pragma GCC visibility pop
