#include "torch/tensor_file.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstring>

#include "medgrad/error.h"

namespace medgrad::libtorch {
namespace {

constexpr std::pair<std::string_view, at::ScalarType> kStoredTypes[] = {
    {"F64", at::kDouble}, {"F32", at::kFloat}, {"F16", at::kHalf},  {"BF16", at::kBFloat16},
    {"I64", at::kLong},   {"I32", at::kInt},   {"I16", at::kShort}, {"I8", at::kChar},
    {"U8", at::kByte},    {"BOOL", at::kBool}};

std::string_view type_name(at::ScalarType type) {
  const auto* const found =
      std::ranges::find(kStoredTypes, type, [](const auto& t) { return t.second; });
  if (found == std::end(kStoredTypes))
    throw Error(fmt::format("a tensor has the type {}, for which there is none in safetensors.",
                            c10::toString(type)));
  return found->first;
}

}  // namespace

StoredTensors::StoredTensors(const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor& held = memory_.emplace_back(tensor.detach().to(at::kCPU).contiguous());
    StoredTensor& stored = stored_.emplace_back();
    stored.name = name;
    stored.type = type_name(held.scalar_type());
    stored.shape.assign(held.sizes().begin(), held.sizes().end());
    stored.elements = static_cast<std::size_t>(held.numel());
    stored.bytes = {static_cast<const char*>(held.data_ptr()), held.nbytes()};
  }
}

at::Tensor tensor_of(const StoredTensor& stored) {
  const auto* const type =
      std::ranges::find(kStoredTypes, stored.type, [](const auto& t) { return t.first; });
  if (type == std::end(kStoredTypes))
    throw Error(fmt::format("'{}' has the type {}, which libtorch does not have.", stored.name,
                            stored.type));
  const std::vector<std::int64_t> shape(stored.shape.begin(), stored.shape.end());
  at::Tensor tensor = at::empty(shape, type->second);
  if (!stored.bytes.empty())
    std::memcpy(tensor.data_ptr(), stored.bytes.data(), stored.bytes.size());
  return tensor;
}

NamedTensors tensors_of(const SafeTensors& file, std::string_view prefix) {
  NamedTensors found;
  for (const StoredTensor& one : file.tensors())
    if (one.name.starts_with(prefix))
      found.emplace_back(one.name.substr(prefix.size()), tensor_of(one));
  return found;
}

}  // namespace medgrad::libtorch
