// Tensors and texts from a .safetensors file: weights of a model, checkpoints of training.
//
// The file: eight bytes with the length of the header (little-endian), the header as a JSON object,
// then the data. The header maps each tensor's name to its type, its shape, and where its bytes
// begin and end in the data, in row-major order; "__metadata__" maps texts to texts. Tensors lie
// end to end: they neither overlap nor leave holes.
//
// Files come from anywhere, so everything is checked when one is opened: afterwards no tensor
// reaches out of the file. The data is mapped, and read when a tensor is.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace medgrad {

struct StoredTensor {
  std::string name;
  std::string type;  // "F32", "F16", "BF16", "I64", …
  std::vector<std::size_t> shape;
  std::size_t elements;    // the product of the shape; 1 for a scalar
  std::string_view bytes;  // into the file
};

// 4 for "F32"; 0 for what is no type of the format.
[[nodiscard]] std::size_t bytes_per_element(std::string_view type);

class SafeTensors {
 public:
  // Throws Error, with the file and the tensor, where something is wrong.
  explicit SafeTensors(const std::filesystem::path& file);
  // The same on bytes in memory, which must outlive the object.
  SafeTensors(std::string name, std::string_view bytes);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::span<const StoredTensor> tensors() const { return tensors_; }  // by name
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const { return metadata_; }
  [[nodiscard]] const StoredTensor* find(
      std::string_view name) const;  // nullptr where there is none

  // The elements of an F32, F16, BF16 or F64 tensor. Throws Error where it is missing, of another
  // type, or not of the length of `out`.
  void read(std::string_view name, std::span<float> out) const;
  [[nodiscard]] std::vector<float> read(std::string_view name) const;

 private:
  void parse(std::string_view bytes);
  void check_places(std::size_t data_size) const;
  [[nodiscard]] const StoredTensor& must(std::string_view name) const;

  std::string file_;
  std::optional<MappedFile> mapped_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, std::string> metadata_;
  std::string_view data_;
};

// IEEE half precision, and the upper half of a float, as float: exact.
[[nodiscard]] float float_of_half(std::uint16_t bits);
[[nodiscard]] float float_of_bfloat16(std::uint16_t bits);

}  // namespace medgrad
