// Memory of long arrays, in large pages.
#include <algorithm>
#include <utility>

#include "medgrad/large_vector.h"
#include "parts.h"

namespace medgrad::python {
namespace {

constexpr std::size_t kLong = std::size_t{2} << 20;   // bytes from which an array is a long one
constexpr std::size_t kMost = std::size_t{64} << 20;  // bytes that may wait for the next result

struct Memory {
  void* at = nullptr;
  std::size_t bytes = 0;
};

// The last result that was thrown away: memory that the system has to give anew, page by page,
// takes as long as the median of five rows. Used by those who hold the GIL; never destroyed, as the
// interpreter may be gone before.
Memory& spare() {
  static auto* const kept = new Memory;
  return *kept;
}

Memory taken(std::size_t bytes) {
  if (Memory& kept = spare(); kept.at != nullptr && bytes <= kept.bytes && kept.bytes / 2 < bytes)
    return std::exchange(kept, {});
  bytes = std::max(bytes, 2 * kLong);  // from there on pages are large
  return {allocate_large(bytes), bytes};
}

void give_back(Memory memory) {
  if (memory.bytes <= kMost) std::swap(memory, spare());
  free_large(memory.at);
}

template <Real T>
py::array_t<T> zeros(std::size_t size) {
  // Half a page in: weights and gradients of this size begin with a page, and where the last twelve
  // bits of their addresses agree, a load waits for a store to another array.
  constexpr std::size_t kShift = 2048;
  T* const memory = static_cast<T*>(allocate_large(size * sizeof(T) + kShift));
  const py::capsule owner(memory, &free_large);
  T* const data = memory + kShift / sizeof(T);
  std::fill_n(data, size, T{0});
  return py::array_t<T>(static_cast<py::ssize_t>(size), data, owner);
}

}  // namespace

template <Real T>
py::array_t<T> room_for(std::size_t size) {
  if (size * sizeof(T) < kLong) return py::array_t<T>(static_cast<py::ssize_t>(size));
  auto* const memory = new Memory(taken(size * sizeof(T)));
  const py::capsule owner(memory, [](void* p) {
    auto* const mine = static_cast<Memory*>(p);
    give_back(*mine);
    delete mine;
  });
  return py::array_t<T>(static_cast<py::ssize_t>(size), static_cast<T*>(memory->at), owner);
}

template py::array_t<float> room_for(std::size_t);
template py::array_t<double> room_for(std::size_t);

void add_memory(py::module_& m) {
  m.def("zeros_in_large_pages", [](std::size_t size, bool is_double) -> py::array {
    if (is_double) return zeros<double>(size);
    return zeros<float>(size);
  });
}

}  // namespace medgrad::python
