// Tensors of libtorch in safetensors files.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/safetensors_writer.h"

namespace medgrad::libtorch {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Tensors of any device and layout as the format has them: in one piece and in the order of their
// axes. It holds what it had to copy.
class StoredTensors {
 public:
  explicit StoredTensors(const NamedTensors& tensors);
  [[nodiscard]] const std::vector<StoredTensor>& tensors() const { return stored_; }

 private:
  std::vector<at::Tensor> memory_;
  std::vector<StoredTensor> stored_;
};

// A copy. Throws Error for types that libtorch does not have.
[[nodiscard]] at::Tensor tensor_of(const StoredTensor& stored);

// Those whose names begin with `prefix`, without it.
[[nodiscard]] NamedTensors tensors_of(const SafeTensors& file, std::string_view prefix);

}  // namespace medgrad::libtorch
