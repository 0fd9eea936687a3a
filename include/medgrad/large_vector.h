// A std::vector for long vectors: in pages of 2 MiB where the system gives them.
//
// A pass over several long vectors at once spends much of its time on finding pages of 4 KiB; on
// large ones it runs at the speed of the memory. Short vectors are allocated as usual.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#pragma GCC visibility push(default)
namespace medgrad {

// Aligned to 64 bytes. Throws std::bad_alloc.
[[nodiscard]] void* allocate_large(std::size_t bytes);
void free_large(void* memory) noexcept;

template <class T>
struct LargeAllocator {
  using value_type = T;

  LargeAllocator() = default;
  template <class U>
  LargeAllocator(const LargeAllocator<U>&) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] T* allocate(std::size_t n) {
    if (n > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(allocate_large(n * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t) noexcept { free_large(memory); }
  friend bool operator==(const LargeAllocator&, const LargeAllocator&) { return true; }
};

template <class T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace medgrad
#pragma GCC visibility pop
