// One piece of code for tensors of floats and of doubles.
#pragma once

#include <ATen/core/Tensor.h>
#include <fmt/core.h>

#include <string>

#include "medgrad/error.h"

namespace medgrad::libtorch {

// f(T{}) with T the element type of x: float or double.
template <class F>
void for_real(const at::Tensor& x, const F& f) {
  if (x.scalar_type() == at::kFloat) {
    f(0.0F);
  } else if (x.scalar_type() == at::kDouble) {
    f(0.0);
  } else {
    throw Error(fmt::format("A tensor of type {} was given; models work in Float or Double.",
                            c10::toString(x.scalar_type())));
  }
}

}  // namespace medgrad::libtorch
