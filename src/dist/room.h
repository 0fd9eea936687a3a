// Memory for what will arrive: in large pages, and not filled with zeros first.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "medgrad/large_vector.h"

namespace medgrad::dist {

template <class T>
class Room {
 public:
  Room() = default;
  explicit Room(std::size_t n) { resize(n); }

  // What was there may be lost.
  void resize(std::size_t n) {
    if (n > capacity_) {
      memory_.reset(static_cast<T*>(allocate_large(n * sizeof(T))));
      capacity_ = n;
    }
    size_ = n;
  }
  [[nodiscard]] T* data() { return memory_.get(); }
  [[nodiscard]] const T* data() const { return memory_.get(); }
  [[nodiscard]] std::span<T> all() { return {memory_.get(), size_}; }
  [[nodiscard]] std::span<const T> all() const { return {memory_.get(), size_}; }

 private:
  struct Free {
    void operator()(T* memory) const noexcept { free_large(memory); }
  };
  std::unique_ptr<T, Free> memory_;
  std::size_t capacity_ = 0, size_ = 0;
};

}  // namespace medgrad::dist
