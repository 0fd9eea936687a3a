// Tensors and texts as a .safetensors file with a checksum: what base/safetensors.h and every other
// reader of the format read.
//
// The header begins with the checksum of all other bytes of the file,
//   {"__metadata__":{"checksum":"0123456789abcdef",…
// so that it stands at the same place in every file, and a file is checked before it is understood.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/safetensors.h"

namespace medgrad {

using StoredTexts = std::vector<std::pair<std::string, std::string>>;  // UTF-8, of different names

// Replaces the file in one step. The bytes of a tensor are those of its type and shape; what
// `elements` says does not matter. Throws Error where the place cannot be written,
// std::system_error where writing fails; the file that was there is still there then.
void write_safetensors(const std::filesystem::path& file, std::vector<StoredTensor> tensors,
                       const StoredTexts& texts);
// The same as bytes.
[[nodiscard]] std::string safetensors_of(std::vector<StoredTensor> tensors,
                                         const StoredTexts& texts);

// Whether these are the bytes of such a file, whole and unchanged.
[[nodiscard]] bool has_its_checksum(std::string_view bytes);

}  // namespace medgrad
