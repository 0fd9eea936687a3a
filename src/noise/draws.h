// Whole numbers to draw batches by: always the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "medgrad/rng.h"

namespace medgrad::noise {

class Draws {
 public:
  std::size_t below(std::size_t n) {
    if (at_ % words_.size() == 0) Philox(0x7461696c, 1).fill_uniform(words_, at_);
    const double u = words_[at_++ % words_.size()];
    return std::min(static_cast<std::size_t>(u * static_cast<double>(n)), n - 1);
  }

 private:
  std::size_t at_ = 0;
  std::vector<double> words_ = std::vector<double>(4096);
};

}  // namespace medgrad::noise
