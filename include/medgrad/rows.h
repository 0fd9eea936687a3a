// A view of n vectors of length d: rows of one matrix, or separate arrays. Nothing is copied or
// owned.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "medgrad/distances.h"

#pragma GCC visibility push(default)
namespace medgrad {

template <Real T>
class Rows {
 public:
  // Rows of a row-major matrix; `stride` elements from one row to the next (d where left out).
  Rows(const T* data, std::size_t n, std::size_t d) : Rows(data, n, d, d) {}
  Rows(const T* data, std::size_t n, std::size_t d, std::size_t stride)
      : base_(data), n_(n), d_(d), stride_(stride) {}
  // The same, of a vector.
  Rows(const std::vector<T>& data, std::size_t n, std::size_t d) : Rows(data.data(), n, d) {}
  // Separate arrays, each of length d. The array of pointers must outlive the view.
  Rows(std::span<const T* const> rows, std::size_t d)
      : rows_(rows.data()), n_(rows.size()), d_(d) {}

  [[nodiscard]] std::size_t n() const { return n_; }
  [[nodiscard]] std::size_t d() const { return d_; }
  [[nodiscard]] const T* row(std::size_t i) const {
    return rows_ != nullptr ? rows_[i] : base_ + i * stride_;
  }

 private:
  const T* const* rows_ = nullptr;
  const T* base_ = nullptr;
  std::size_t n_, d_, stride_ = 0;
};

}  // namespace medgrad
#pragma GCC visibility pop
