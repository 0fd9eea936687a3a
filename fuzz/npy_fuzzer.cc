// Any bytes as an NPY file. Two inputs of three get a right beginning, so that the fuzzer reaches
// what comes after it: magic and version, or a whole frame around a dictionary.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "read_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string file;
  if (data[0] % 3 == 1) file = std::string("\x93NUMPY\x01\x00", 8);
  if (data[0] % 3 == 2) {
    const std::size_t length = std::min<std::size_t>(bytes.size(), 80);
    file = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(length) + '\0';
  }
  file += bytes;
  medgrad::fuzz::check("fuzz.npy", file);
  return 0;
}
