// Any bytes as text.
#include <cstddef>
#include <cstdint>

#include "read_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  medgrad::fuzz::check("fuzz.csv", {reinterpret_cast<const char*>(data), size});
  return 0;
}
