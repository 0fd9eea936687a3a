#include "medgrad/large_vector.h"

#include <sys/mman.h>

#include <cstdlib>

namespace medgrad {

void* allocate_large(std::size_t bytes) {
  constexpr std::size_t kPage = std::size_t{2} << 20, kLine = 64;
  const std::size_t unit = bytes >= 2 * kPage ? kPage : kLine;
  const std::size_t size = (bytes + unit - 1) / unit * unit;
  void* const memory = std::aligned_alloc(unit, size == 0 ? unit : size);
  if (memory == nullptr || size < bytes) {
    std::free(memory);
    throw std::bad_alloc();
  }
#ifdef MADV_HUGEPAGE
  // A wish: whether it is granted changes the speed and nothing else.
  if (unit == kPage) (void)::madvise(memory, size, MADV_HUGEPAGE);
#endif
  return memory;
}

void free_large(void* memory) noexcept { std::free(memory); }

}  // namespace medgrad
