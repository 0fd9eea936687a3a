// A vector of plain values whose first N are in the object itself: problems of a handful of rows
// are solved without a single allocation. Aligned to cache lines, as SIMD code likes it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace medgrad {

template <class T, std::size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;

  SmallVector() = default;
  explicit SmallVector(std::size_t n, T value = T{}) { assign(n, value); }
  template <class Iterator>
  requires(!std::is_arithmetic_v<Iterator>) SmallVector(Iterator first, Iterator last) {
    assign(first, last);
  }
  SmallVector(const SmallVector& other) { assign(other.begin(), other.end()); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }
  ~SmallVector() = default;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T* data() { return heap_ ? heap_.get() : inline_; }
  [[nodiscard]] const T* data() const { return heap_ ? heap_.get() : inline_; }
  [[nodiscard]] T* begin() { return data(); }
  [[nodiscard]] T* end() { return data() + size_; }
  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] const T* end() const { return data() + size_; }
  [[nodiscard]] T& operator[](std::size_t i) { return data()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return data()[i]; }

  void assign(std::size_t n, T value) {
    size_ = 0;
    reserve(n);
    std::fill_n(data(), n, value);
    size_ = n;
  }
  template <class Iterator>
  requires(!std::is_arithmetic_v<Iterator>) void assign(Iterator first, Iterator last) {
    const auto n = static_cast<std::size_t>(last - first);
    size_ = 0;
    reserve(n);
    std::copy(first, last, data());
    size_ = n;
  }
  void resize(std::size_t n) {
    reserve(n);
    if (n > size_) std::fill(data() + size_, data() + n, T{});
    size_ = n;
  }
  void push_back(T value) {
    if (size_ == capacity_) reserve(2 * capacity_);
    data()[size_++] = value;
  }
  void reserve(std::size_t n) {
    if (n <= capacity_) return;
    Heap larger(static_cast<T*>(::operator new(n * sizeof(T), kLine)));
    std::copy_n(data(), size_, larger.get());
    heap_ = std::move(larger);
    capacity_ = n;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  static constexpr std::align_val_t kLine{64};
  struct Free {
    void operator()(T* memory) const { ::operator delete(memory, kLine); }
  };
  using Heap = std::unique_ptr<T[], Free>;

  void take(SmallVector& other) noexcept {
    if (!other.heap_) std::copy_n(other.inline_, other.size_, inline_);
    heap_ = std::move(other.heap_);
    size_ = other.size_;
    capacity_ = other.capacity_;
    other.size_ = 0;
    other.capacity_ = N;
  }

  std::size_t size_ = 0, capacity_ = N;
  Heap heap_;
  alignas(64) T inline_[N];  // NOLINT: left uninitialised on purpose
};

}  // namespace medgrad
