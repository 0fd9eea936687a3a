// The gradients of a model's parameters as one long vector, and back.
#pragma once

#include <span>
#include <vector>

#include "torch/models/model.h"

namespace medgrad::language {

[[nodiscard]] std::size_t dimension_of(const std::vector<at::Tensor>& parameters);
// Parameters that have no gradient count as having 0.
void copy_gradient(const std::vector<at::Tensor>& parameters, std::span<float> to);
void put_gradient(std::span<const float> from, const std::vector<at::Tensor>& parameters);

}  // namespace medgrad::language
