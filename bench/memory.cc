// The memory that rules take beside the rows and the result: what is allocated, as the library
// allocates everything by new.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "bench.h"
#include "medgrad/sample.h"

namespace {

// Of the one thread that is measured.
struct Allocated {
  bool counting = false;
  std::size_t now = 0, most = 0;
};
thread_local Allocated allocated;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void* noted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  if (allocated.counting) {
    allocated.now += malloc_usable_size(memory);
    allocated.most = std::max(allocated.most, allocated.now);
  }
  return memory;
}
void release(void* memory) {
  if (allocated.counting) allocated.now -= std::min(allocated.now, malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return noted(std::malloc(std::max<std::size_t>(size, 1))); }
void* operator new(std::size_t size, std::align_val_t align) {
  const auto unit = static_cast<std::size_t>(align);
  return noted(std::aligned_alloc(unit, (std::max<std::size_t>(size, 1) + unit - 1) / unit * unit));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace medgrad::bench {

template <class T>
void memory_of(std::size_t n, std::size_t d) {
  const LargeVector<T> values = make_rows<T>(n, d);
  const Rows<T> rows(values.data(), n, d);
  LargeVector<T> out(d);
  for (const auto& [name, rule] : rules_for(n)) {
    allocated = {.counting = true};
    (void)aggregate(rule, rows, std::span<T>(out));
    allocated.counting = false;
    std::printf(R"({"what": "%s", "n": %zu, "d": %zu, "bytes": %zu})"
                "\n",
                name.c_str(), n, d, allocated.most);
  }
}

template void memory_of<float>(std::size_t, std::size_t);
template void memory_of<double>(std::size_t, std::size_t);

}  // namespace medgrad::bench
