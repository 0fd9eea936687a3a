#include "core/sample/matrix.h"

#include <sys/mman.h>

namespace medgrad::estimators {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20, kLine = 64;

std::align_val_t alignment(std::size_t bytes) {
  return std::align_val_t{bytes >= 2 * kPage ? kPage : kLine};
}

}  // namespace

void* allocate_matrix(std::size_t bytes) {
  void* const memory = ::operator new(bytes, alignment(bytes));
#ifdef MADV_HUGEPAGE
  // A wish: whether it is granted changes the speed and nothing else.
  if (bytes >= 2 * kPage) (void)::madvise(memory, bytes / kPage * kPage, MADV_HUGEPAGE);
#endif
  return memory;
}

void free_matrix(void* memory, std::size_t bytes) noexcept {
  ::operator delete(memory, alignment(bytes));
}

}  // namespace medgrad::estimators
