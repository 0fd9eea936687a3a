// How a long text becomes batches for a language model.
//
// N tokens become B streams side by side: with n = floor(N/B) rows, stream b is tokens b n … b n +
// n − 1 and the rest is left out. A chunk is `length` successive rows; it starts at 0, length, 2
// length, … while the start is below n − 1, and the last one is shorter where n − 1 is no multiple
// of `length`. The target of a position is the next token of its stream. Batches are never
// shuffled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "text/corpus.h"

namespace medgrad::text {

struct Chunk {
  std::size_t start, length;  // rows
};

class BatchPlan {
 public:
  struct Options {
    std::size_t batch;       // B, streams side by side
    std::size_t length;      // rows of a chunk
    bool drop_last = false;  // leaves out a shorter last chunk
  };
  // Throws Error where the tokens do not make one chunk: each stream needs two of them, or
  // `length` + 1 with drop_last.
  BatchPlan(std::size_t tokens, const Options& options);

  [[nodiscard]] std::size_t batch() const { return options_.batch; }
  [[nodiscard]] std::size_t length() const { return options_.length; }  // of the longest chunk
  [[nodiscard]] std::size_t rows() const { return rows_; }              // n
  [[nodiscard]] std::size_t count() const { return count_; }            // chunks in an epoch
  [[nodiscard]] Chunk chunk(std::size_t i) const;                       // i < count()

  // Writes chunk i as (time, batch): element t B + b is row start + t of stream b, and for the
  // targets the row after it. Both spans have chunk(i).length B elements; `tokens` is what the plan
  // is for.
  void fill(std::span<const TokenId> tokens, std::size_t i, std::span<std::int64_t> inputs,
            std::span<std::int64_t> targets) const;

 private:
  Options options_;
  std::size_t rows_, count_;
};

}  // namespace medgrad::text
