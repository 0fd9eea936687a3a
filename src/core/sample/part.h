// Columns that are a part of longer rows, whose other columns are in other places.
//
// An estimator runs in all places at once, each with columns of its own. What it does to a column
// it does where the column is. What it sums up over columns it sums up chunk by chunk, cut by the
// length of the whole rows alone (thread_pool.h); the sums are shared, and added up in the order of
// the chunks everywhere. So all places come to the same decisions, with the bits of one place that
// has all columns.
#pragma once

#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include "medgrad/thread_pool.h"

namespace medgrad::estimators {

class Part {
 public:
  // The chunks of rows of length d that are here, in ascending order; here they follow each other.
  Part(std::size_t d, std::vector<std::size_t> chunks)
      : whole_(chunks_for(d)), chunks_(std::move(chunks)) {
    for (const std::size_t c : chunks_) {
      begins_.push_back(here_);
      here_ += whole_.end(c) - whole_.begin(c);
    }
  }
  virtual ~Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  [[nodiscard]] const Chunks& whole() const { return whole_; }
  [[nodiscard]] const std::vector<std::size_t>& chunks() const { return chunks_; }
  [[nodiscard]] std::size_t columns() const { return here_; }
  // The first column of the k-th chunk that is here, among those that are here.
  [[nodiscard]] std::size_t begin(std::size_t k) const { return begins_[k]; }

  // `parts` has `bytes` bytes for every `group` chunks of the whole, and those are filled in that
  // belong to chunks here; afterwards all are. Every place has whole groups, and calls this in the
  // same order as the others.
  virtual void share(std::byte* parts, std::size_t bytes, std::size_t group) const = 0;

 private:
  Chunks whole_;
  std::vector<std::size_t> chunks_, begins_;
  std::size_t here_ = 0;
};

// Thrown by estimators that need all columns in one place, in all places alike.
class NotInParts : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override {
    return "This estimator needs all columns in one place.";
  }
};

}  // namespace medgrad::estimators
