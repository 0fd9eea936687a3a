// Sinusoidal positions: position t has the features sin(t f_i) and cos(t f_i) for the frequencies
// f_i = 10000^(-2i / width), i = 0, ..., width / 2 - 1.
//
// They are computed in float by libtorch's own functions, as the models this one is compared with
// do: at frequencies near one a float's rounding of t f_i is worth 1e-6, and models of doubles get
// these floats as well.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace medgrad::libtorch {

// (count, width) floats for positions 0, 1, ..., features sin, cos, sin, cos, ... Width is even.
[[nodiscard]] at::Tensor interleaved_positions(std::int64_t count, std::int64_t width);

// (count, width) floats for positions count - 1, ..., 1, 0, all sines before all cosines.
[[nodiscard]] at::Tensor falling_positions(std::int64_t count, std::int64_t width);

}  // namespace medgrad::libtorch
