#include "core/sample/matrix.h"

#include <sys/mman.h>

#include <utility>

namespace medgrad::estimators {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20, kLine = 64;
constexpr std::size_t kLarge = std::size_t{1} << 20;  // worth keeping

std::align_val_t alignment(std::size_t bytes) {
  return std::align_val_t{bytes >= 2 * kPage ? kPage : kLine};
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local KeptMatrices* kept = nullptr;

}  // namespace

KeptMatrices::KeptMatrices() : outer_(std::exchange(kept, this)) {}
KeptMatrices::~KeptMatrices() {
  kept = outer_;
  for (const Piece& piece : pieces_)
    if (piece.memory != nullptr) ::operator delete(piece.memory, alignment(piece.bytes));
}

void* allocate_matrix(std::size_t bytes) {
  if (kept != nullptr && bytes >= kLarge) {
    for (KeptMatrices::Piece& piece : kept->pieces_)
      if (piece.bytes == bytes) return std::exchange(piece, {}).memory;
  }
  void* const memory = ::operator new(bytes, alignment(bytes));
#ifdef MADV_HUGEPAGE
  // A wish: whether it is granted changes the speed and nothing else.
  if (bytes >= 2 * kPage) (void)::madvise(memory, bytes / kPage * kPage, MADV_HUGEPAGE);
#endif
  return memory;
}

void free_matrix(void* memory, std::size_t bytes) noexcept {
  if (kept != nullptr && bytes >= kLarge) {
    for (KeptMatrices::Piece& piece : kept->pieces_) {
      if (piece.memory != nullptr) continue;
      piece = {memory, bytes};
      return;
    }
  }
  ::operator delete(memory, alignment(bytes));
}

}  // namespace medgrad::estimators
