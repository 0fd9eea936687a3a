// The kernels behind Philox and the noise models: plain functions over a source of words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "medgrad/thread_pool.h"
#include "noise/source.h"

namespace medgrad::noise {

void draw_bits(const Source& source, std::uint64_t first, std::span<std::uint32_t> out);
void draw_uniform(const Source& source, std::uint64_t first, std::span<double> out);
void draw_uniform(const Source& source, std::uint64_t first, std::span<float> out);
void draw_normal(const Source& source, std::uint64_t first, std::span<double> out);
void draw_normal(const Source& source, std::uint64_t first, std::span<float> out);

// fill(begin, end) over pieces of [0, n): every index names its number, so how the range is cut
// makes no difference.
template <class Fill>
void in_pieces(std::size_t n, ThreadPool* pool, const Fill& fill) {
  const Chunks chunks = chunks_for(n);
  for_each(pool, chunks.count, [&](std::size_t c) { fill(chunks.begin(c), chunks.end(c)); });
}

}  // namespace medgrad::noise
