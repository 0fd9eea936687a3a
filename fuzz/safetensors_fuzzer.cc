// Any bytes as a safetensors file. Two inputs of three get the length of a header in front: of all
// that follows, or up to the last brace, so that the fuzzer reaches what comes after it.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/safetensors.h"
#include "medgrad/error.h"

namespace {

void check(std::string_view bytes) {
  try {
    const medgrad::SafeTensors file("fuzz.safetensors", bytes);
    for (const medgrad::StoredTensor& tensor : file.tensors()) {
      const char* const begin = tensor.bytes.data();
      if (begin < bytes.data() || begin + tensor.bytes.size() > bytes.data() + bytes.size())
        std::abort();
      if (file.find(tensor.name) != &tensor) std::abort();
      try {
        if (file.read(tensor.name).size() != tensor.elements) std::abort();
      } catch (const medgrad::Error&) {  // not of real numbers
        if (tensor.type.starts_with("F3") || tensor.type == "BF16") std::abort();
      }
    }
  } catch (const medgrad::Error& error) {
    // One sentence, whatever the file holds.
    const std::string_view what = error.what();
    if (!what.ends_with('.') || what.find('\n') != std::string_view::npos) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string file;
  if (data[0] % 3 != 0) {
    const std::size_t brace = bytes.rfind('}');
    const std::uint64_t length =
        data[0] % 3 == 1 || brace == std::string_view::npos ? bytes.size() : brace + 1;
    file.resize(8);
    std::memcpy(file.data(), &length, 8);
  }
  file += bytes;
  check(file);
  return 0;
}
