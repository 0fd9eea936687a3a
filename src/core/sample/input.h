// What every sample estimator starts from: the rows with their weights, read block by block.
//
// A block is a few columns of all rows, small enough to stay in the cache while it is checked,
// centred and used. Where all of it is finite, a block points into the caller's memory; elsewhere
// it is a cleaned copy: +-Inf becomes the largest finite number of its sign, NaN the median of what
// its column has (or the entry of a vector that the estimator prefers), so that a missing entry
// pulls nowhere. Everything after works on finite numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "core/sample/matrix.h"
#include "core/sample/part.h"
#include "core/small_vector.h"
#include "kernels/columns.h"
#include "kernels/select.h"
#include "kernels/simd.h"
#include "medgrad/sample.h"
#include "medgrad/thread_pool.h"

namespace medgrad::estimators {

// Columns of a block; chunks (thread_pool.h) are multiples of it, and it is one of every SIMD lane
// count.
inline constexpr std::size_t kBlock = 256;

// Those that are done at once where rows are read without being copied.
inline constexpr std::size_t kDirectStep = 4 * kBlock;

// What a tile needs of that for d columns, a multiple of the lanes.
[[nodiscard]] inline std::size_t block_width(std::size_t d) {
  return d >= kBlock ? kBlock : (d + kernels::kLanes - 1) / kernels::kLanes * kernels::kLanes;
}

struct KnownProducts;

template <Real T>
struct Input {
  SmallVector<const T*, 16> rows;
  SmallVector<std::size_t, 16> order;  // their numbers in the caller's order; empty: the same
  std::vector<T> copy;                 // of rows that were sorted, if they are many and short
  std::size_t n = 0, d = 0;
  // omega times a power of two that brings the largest into [1, 2); all one where none were given.
  // What is less than 1e-308 of the largest loses digits, then everything.
  SmallVector<double, 16> weights;
  int weight_exponent = 0;  // of what they were divided by
  double total = 0;         // sum of the weights
  bool weighted = false;
  bool objective = false;  // evaluate it even where that takes a pass of its own
  std::span<const T> center;
  NonFinite policy = NonFinite::reject;
  ThreadPool* pool = nullptr;
  const Part* part = nullptr;  // where d columns are not all: what the estimate is a part of
  // Inner products that were summed up while the rows arrived (gram.h); null: none were.
  const KnownProducts* known = nullptr;

  // The length of the whole rows.
  [[nodiscard]] std::size_t whole() const { return part == nullptr ? d : part->whole().n; }
};

// The chunks of the whole rows; those that are here.
template <Real T>
[[nodiscard]] Chunks chunks_of(const Input<T>& input) {
  return chunks_for(input.whole());
}
template <Real T>
[[nodiscard]] std::size_t chunks_here(const Input<T>& input) {
  return input.part == nullptr ? chunks_for(input.d).count : input.part->chunks().size();
}
// The k-th of them: its number among all, and its columns among those that are here.
struct ChunkHere {
  std::size_t number, begin, end;
};
template <Real T>
[[nodiscard]] ChunkHere chunk_here(const Input<T>& input, std::size_t k) {
  const Chunks chunks = chunks_of(input);
  const std::size_t c = input.part == nullptr ? k : input.part->chunks()[k];
  const std::size_t begin = input.part == nullptr ? chunks.begin(c) : input.part->begin(k);
  return {c, begin, begin + chunks.end(c) - chunks.begin(c)};
}
// Where columns are in different places: completes what is known chunk by chunk. `parts` has `each`
// values for every chunk (every `group` chunks) of the whole.
template <Real T, class V>
void share(const Input<T>& input, V* parts, std::size_t each, std::size_t group = 1) {
  static_assert(std::is_trivially_copyable_v<V>);
  if (input.part != nullptr && each > 0)
    input.part->share(reinterpret_cast<std::byte*>(parts), each * sizeof(V), group);
}
// The same for one value that is known where the first chunk is.
template <Real T, class V>
void share_first(const Input<T>& input, V& value) {
  if (input.part == nullptr) return;
  std::vector<V> parts(chunks_of(input).count, value);
  share(input, parts.data(), 1);
  value = parts.front();
}
// Refuses to work on a part.
template <Real T>
void need_all_columns(const Input<T>& input) {
  if (input.part != nullptr) throw NotInParts();
}

// n rows of one matrix, without weights.
template <Real T>
[[nodiscard]] Input<T> unweighted(std::size_t n, std::size_t d, const T* rows, std::size_t stride) {
  Input<T> input;
  input.n = n;
  input.d = d;
  input.rows.resize(n);
  for (std::size_t i = 0; i < n; ++i) input.rows[i] = rows + i * stride;
  input.weights.assign(n, 1.0);
  input.total = static_cast<double>(n);
  return input;
}

// Divides the weights by a power of two and adds them up.
template <Real T>
void normalise_weights(Input<T>& input);

// Puts the rows into an order that depends on their contents and weights alone: that of their
// columns, the first one first. Whatever follows does not depend on the order in which they came,
// to the bit.
template <Real T>
void sort_rows(Input<T>& input);

struct Count {
  std::size_t nan = 0, inf = 0;
  Count& operator+=(const Count& other) {
    nan += other.nan;
    inf += other.inf;
    return *this;
  }
};

// +-Inf becomes the largest finite number of its sign; NaN stays.
template <Real T>
[[nodiscard]] inline T clamp_to_finite(T x) {
  constexpr T kMost = std::numeric_limits<T>::max();
  return x > kMost ? kMost : x < -kMost ? -kMost : x;
}
// All of a result, which is nearly always finite.
template <Real T>
void clamp_all(T* x, std::size_t count) {
  const T* const row = x;
  if (kernels::all_finite(&row, 1, 0, count)) return;
  for (std::size_t j = 0; j < count; ++j) x[j] = clamp_to_finite(x[j]);
}

// Medians of the columns of n rows with finite entries: up to kernels::kRegisterRows and
// kernels::kSortedRows rows by networks, beyond by counting (kernels/select.h). Scratch belongs to
// a Block.
template <Real T>
class ColumnMedian {
 public:
  explicit ColumnMedian(std::size_t n) : n_(n) {}
  void operator()(const T* const* rows, std::size_t count, T* out, MatrixOf<T>& scratch) const;

  // Is it by counting, which finds entries that are not finite as it copies them? Then
  // try_counting() is false where there is one, and `out` is of no use.
  [[nodiscard]] bool by_counting() const;
  [[nodiscard]] bool try_counting(const T* const* rows, std::size_t count, T* out,
                                  MatrixOf<T>& scratch) const;

 private:
  std::size_t n_;
};

// Calls visit(column, values) for the columns of `rows`, values being the n entries in row order,
// in memory that may be reordered. Rows are read in runs of 16 columns.
template <Real T, class Visit>
void visit_columns(const T* const* rows, std::size_t n, std::size_t count, MatrixOf<T>& scratch,
                   Visit&& visit) {
  constexpr std::size_t kRun = 16;
  scratch.resize(kRun * n);
  for (std::size_t begin = 0; begin < count; begin += kRun) {
    const std::size_t run = begin + kRun < count ? kRun : count - begin;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < run; ++j) scratch[j * n + i] = rows[i][begin + j];
    }
    for (std::size_t j = 0; j < run; ++j) visit(begin + j, std::span<T>(scratch).subspan(j * n, n));
  }
}

template <Real T>
class Block {
 public:
  explicit Block(const Input<T>& input) : input_(&input), pointers_(input.n) {}

  // Points rows() at columns [begin, end), end <= begin + kBlock. NaN is replaced by fill[j], or
  // the column's median where `fill` is null. Throws Error for what the policy does not allow.
  void load(std::size_t begin, std::size_t end, const T* fill = nullptr);

  // The same for columns that are known to be finite: they are not looked at.
  void point_at(std::size_t begin, std::size_t end);

  [[nodiscard]] const T* const* rows() const { return pointers_.data(); }
  [[nodiscard]] std::size_t count() const { return count_; }
  // Is every entry of this block finite in the input?
  [[nodiscard]] bool finite() const { return finite_; }
  // Non-finite entries in all that was loaded so far.
  [[nodiscard]] const Count& seen() const { return seen_; }
  [[nodiscard]] MatrixOf<T>& scratch() { return scratch_; }

 private:
  void clean(std::size_t begin, std::size_t end, const T* fill);
  [[noreturn]] void reject_column(std::size_t j) const;

  const Input<T>* input_;
  SmallVector<const T*, 16> pointers_;
  MatrixOf<T> copy_, scratch_;
  std::size_t count_ = 0;
  bool finite_ = true;
  Count seen_;
};

// NonFiniteInput and NoObservation, for rows and columns counted from 0.
[[noreturn]] void reject_entry(std::size_t row, std::size_t column, double value);
[[noreturn]] void fail_unobserved(std::size_t column);

// The median of m > 0 values, which are reordered; even m: the midpoint of the two middle ones.
template <Real T>
[[nodiscard]] T median_of(std::span<T> values);

// Many rows that are cut into few chunks are worth cutting further: pieces of a chunk, by the
// number of rows and the length of the whole ones alone.
template <Real T>
[[nodiscard]] std::size_t pieces_of_chunks(const Input<T>& input) {
  constexpr std::size_t kWorth = std::size_t{1} << 18, kEnough = 8;
  const Chunks chunks = chunks_of(input);
  if (input.n * chunks.n < kWorth || chunks.count >= kEnough) return 1;
  const std::size_t columns = std::min(chunks.n, chunks.size);
  return std::clamp<std::size_t>(columns / kDirectStep, 1, kEnough / chunks.count);
}

// Runs body(c, walk) for every chunk c that is here, chunks in parallel; walk(task) calls
// task(block, begin, end) for the blocks of that chunk in order. Returns what was not finite.
// `fill` (length d, or null) as in Block::load. What is summed up by c has to be shared. `finite`:
// all entries are known to be; blocks may then have kDirectStep columns. With `pieces`, c counts
// pieces of chunks, so many of each.
template <Real T, class Body>
Count for_each_chunk(const Input<T>& input, const T* fill, Body&& body, bool finite = false,
                     std::size_t pieces = 1) {
  // Blocks that are read twice are to stay in the second-level cache.
  constexpr std::size_t kManyRows = 128;
  const std::size_t step = finite && input.n <= kManyRows ? kDirectStep : kBlock;
  const std::size_t here = chunks_here(input) * pieces;
  SmallVector<Count, 2> seen(here);
  for_each(input.pool, here, [&](std::size_t k) {
    const ChunkHere chunk = chunk_here(input, k / pieces);
    const std::size_t blocks = (chunk.end - chunk.begin + kBlock - 1) / kBlock;
    const auto cut = [&](std::size_t piece) {
      return std::min(chunk.begin + piece * blocks / pieces * kBlock, chunk.end);
    };
    const std::size_t piece = k % pieces, last = cut(piece + 1);
    Block<T> block(input);
    body(chunk.number * pieces + piece, [&](auto&& task) {
      for (std::size_t begin = cut(piece); begin < last; begin += step) {
        const std::size_t end = std::min(begin + step, last);
        if (finite) {
          block.point_at(begin, end);
        } else {
          block.load(begin, end, fill == nullptr ? nullptr : fill + begin);
        }
        task(block, begin, end);
      }
    });
    seen[k] = block.seen();
  });
  Count all;
  for (const Count& one : seen) all += one;
  return all;
}

// The same where a chunk has nothing of its own: task(c, block, begin, end).
template <Real T, class Task>
Count for_each_block(const Input<T>& input, const T* fill, Task&& task) {
  return for_each_chunk(input, fill, [&](std::size_t c, auto&& walk) {
    walk([&](Block<T>& block, std::size_t begin, std::size_t end) { task(c, block, begin, end); });
  });
}

// For estimators that take each column by itself, whose results do not depend on where the columns
// are cut: task(block, begin, end) for runs of at most `step` columns, a multiple of kLanes, in
// parallel. The block is loaded by the task.
template <Real T, class Task>
Count for_each_step(const Input<T>& input, std::size_t step, Task&& task) {
  // Cut as finely as pays: rows may be many and short, and every part makes room for its blocks.
  constexpr std::size_t kWorth = std::size_t{1} << 16, kPartsOfThread = 16;
  const std::size_t threads = input.pool == nullptr ? 1 : input.pool->size();
  const std::size_t steps = (input.d + step - 1) / step, most = threads * kPartsOfThread;
  const std::size_t parts =
      threads == 1 ? 1
                   : std::max<std::size_t>(1, std::min({steps, most, input.n * input.d / kWorth}));
  SmallVector<Count, 2> seen(parts);
  for_each(input.pool, parts, [&](std::size_t part) {
    Block<T> block(input);
    for (std::size_t s = part * steps / parts; s < (part + 1) * steps / parts; ++s)
      task(block, s * step, std::min((s + 1) * step, input.d));
    seen[part] = block.seen();
  });
  Count all;
  for (const Count& one : seen) all += one;
  return all;
}

// For up to `most` rows, whose kernel finds non-finite entries under way: direct(begin, end) reads
// the caller's rows, once. Where it returns false, and for more rows, careful(block, begin, end),
// which loads the block.
template <Real T, class Direct, class Careful>
Count for_each_direct_step(const Input<T>& input, Direct&& direct, Careful&& careful,
                           std::size_t most = kernels::kRegisterRows) {
  if (input.n > most) return for_each_step(input, kernels::tile_columns(input.n), careful);
  return for_each_step(input, kDirectStep,
                       [&](Block<T>& block, std::size_t begin, std::size_t end) {
                         if (direct(begin, end)) return;
                         for (std::size_t b = begin; b < end; b += kBlock)
                           careful(block, b, std::min(b + kBlock, end));
                       });
}

// For estimators that write as they read: calls write(out), and if vectors are short, `out` is
// again what it was if an Error comes.
template <Real T, class Write>
auto write_whole(const Input<T>& input, std::span<T> out, Write&& write) {
  constexpr std::size_t kShort = 1024;
  if (input.d > kShort) return write(out);
  T before[kShort];
  std::copy(out.begin(), out.end(), before);
  try {
    return write(out);
  } catch (...) {
    std::copy_n(before, input.d, out.begin());
    throw;
  }
}

}  // namespace medgrad::estimators
