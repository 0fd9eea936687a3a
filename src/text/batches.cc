#include "text/batches.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <string>

#include "base/text.h"
#include "medgrad/error.h"

namespace medgrad::text {

BatchPlan::BatchPlan(std::size_t tokens, const Options& options)
    : options_(options), rows_(options.batch == 0 ? 0 : tokens / options.batch), count_(0) {
  if (options.batch == 0) throw Error("the batch size is 0; it must be 1 or more.");
  if (options.length == 0) throw Error("the length of a chunk is 0; it must be 1 or more.");
  const std::size_t steps = rows_ == 0 ? 0 : rows_ - 1;  // the last row is a target only
  count_ = steps / options.length;
  if (!options.drop_last && steps % options.length != 0) ++count_;
  if (count_ == 0) {
    throw Error(fmt::format(
        "a batch size of {} is too large for {}: the streams get {} each, and {} are needed.",
        options.batch, counted(tokens, "token"), counted(rows_, "token"),
        options.drop_last ? options.length + 1 : 2));
  }
}

Chunk BatchPlan::chunk(std::size_t i) const {
  assert(i < count_);
  const std::size_t start = i * options_.length;
  return {start, std::min(options_.length, rows_ - 1 - start)};
}

void BatchPlan::fill(std::span<const TokenId> tokens, std::size_t i, std::span<std::int64_t> inputs,
                     std::span<std::int64_t> targets) const {
  const auto [start, length] = chunk(i);
  const std::size_t batch = options_.batch;
  assert(tokens.size() / batch == rows_);
  assert(inputs.size() == length * batch && targets.size() == length * batch);
  for (std::size_t b = 0; b < batch; ++b) {
    const TokenId* const stream = tokens.data() + b * rows_ + start;
    for (std::size_t t = 0; t < length; ++t) {
      inputs[t * batch + b] = stream[t];
      targets[t * batch + b] = stream[t + 1];
    }
  }
}

}  // namespace medgrad::text
