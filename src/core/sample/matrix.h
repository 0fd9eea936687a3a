// Room for matrices as large as there are pairs of rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "medgrad/thread_pool.h"

namespace medgrad::estimators {

// By operator new, aligned to a cache line; from a few megabytes on in large pages, as those of 4
// KiB would take longer to come by than most of what is done with a matrix once.
[[nodiscard]] void* allocate_matrix(std::size_t bytes);
void free_matrix(void* memory, std::size_t bytes) noexcept;

// As long as there is one, large matrices that its thread frees are kept for the next ones of the
// same size: the system would fill what it hands out again with zeros first, which takes a quarter
// as long as all else that is done with neighbours among a thousand rows.
class KeptMatrices {
 public:
  KeptMatrices();
  ~KeptMatrices();
  KeptMatrices(const KeptMatrices&) = delete;
  KeptMatrices& operator=(const KeptMatrices&) = delete;

 private:
  friend void* allocate_matrix(std::size_t bytes);
  friend void free_matrix(void* memory, std::size_t bytes) noexcept;
  struct Piece {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };
  std::array<Piece, 4> pieces_;
  KeptMatrices* outer_;
};

// Entries have no value before they are given one.
template <class T>
struct MatrixAllocator {
  static_assert(std::is_trivial_v<T>);
  using value_type = T;

  MatrixAllocator() = default;
  template <class U>
  MatrixAllocator(const MatrixAllocator<U>&) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] T* allocate(std::size_t n) {
    if (n > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(allocate_matrix(n * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t n) noexcept { free_matrix(memory, n * sizeof(T)); }
  template <class U>
  void construct(U*) noexcept {}
  template <class U, class... A>
  void construct(U* at, A&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<A>(arguments)...);
  }
  friend bool operator==(const MatrixAllocator&, const MatrixAllocator&) { return true; }
};

template <class T>
using MatrixOf = std::vector<T, MatrixAllocator<T>>;
using Matrix = MatrixOf<double>;

// Runs body(begin, end) for bands of the n rows of a matrix, in parallel. They depend on n alone,
// and so few rows that they fit into a cache are one.
template <class Body>
void for_each_band(ThreadPool* pool, std::size_t n, Body&& body) {
  constexpr std::size_t kBand = 128;
  for_each(pool, (n + kBand - 1) / kBand,
           [&](std::size_t band) { body(band * kBand, std::min((band + 1) * kBand, n)); });
}

}  // namespace medgrad::estimators
