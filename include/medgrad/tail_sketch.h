// The tails of a stream of numbers, in constant memory.
//
// Up to `held` numbers, 2^22 unless told otherwise, all are held, and the answers are those of
// tail_summary, bit for bit. Of more there are
//
//   - the 10,240 largest and the 10,240 smallest, exactly: tails are read off these, so that they
//   are
//     those of the whole stream (but for the centre, which is the median of the sample);
//   - a sample of held/2 to held numbers, chosen by a hash of their place in the stream: stable
//   laws,
//     quantiles, Hill's and the log-moment estimator, skewness and the errors of median and Huber
//     are those of the sample, and so are their intervals;
//   - counts, mean and variance of all, from which the mean's error follows.
//
// The result depends on the numbers and their order alone, not on the pieces they come in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "medgrad/tail_summary.h"

#pragma GCC visibility push(default)
namespace medgrad {

class TailSketch {
 public:
  static constexpr std::size_t kHeld = std::size_t{1} << 22;
  // Error for fewer than 2^16.
  explicit TailSketch(std::size_t held = kHeld);

  // NaN is left out and counted; +-Inf counts as in tail_verdict.h.
  void add(std::span<const double> numbers);

  [[nodiscard]] std::size_t n() const { return n_; }
  [[nodiscard]] std::size_t missing() const { return missing_; }
  [[nodiscard]] std::size_t infinite() const { return infinite_; }
  // All of them, or a sample; in their order.
  [[nodiscard]] std::span<const double> sample() const { return sample_; }
  [[nodiscard]] bool exact() const { return sample_.size() == n_; }

  // Errors as those of tail_summary.
  [[nodiscard]] TailSummary summary(const VerdictOptions& options = {}) const;

 private:
  void thin_out();

  std::size_t held_;
  std::size_t n_ = 0, missing_ = 0, infinite_ = 0;
  std::vector<double> sample_;
  std::vector<std::uint64_t> hashes_;  // of their places; those below the limit stay
  std::uint64_t limit_ = ~std::uint64_t{0};
  std::vector<double> largest_, smallest_;  // of -x
  double large_ = 0, small_ = 0;            // what a number has to exceed, once there are enough
  double mean_ = 0, squares_ = 0;           // of the finite ones, times
  double scale_ = 1;                        // this
  double beyond_ = 0;                       // the sum of the others
};

}  // namespace medgrad
#pragma GCC visibility pop
