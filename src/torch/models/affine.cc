#include "torch/models/affine.h"

#include <torch/torch.h>

#include "torch/models/products.h"
#include "torch/models/real.h"
#include "torch/versions.h"

namespace medgrad::libtorch {
namespace {

using ::torch::autograd::AutogradContext;
using ::torch::autograd::variable_list;

template <class T>
MatrixView<T> view(const at::Tensor& x) {
  return {x.data_ptr<T>(), x.size(1)};
}

at::Tensor affine_value(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const std::int64_t n = x.size(0), in = x.size(1), out = weight.size(0);
  TORCH_CHECK(weight.size(1) == in, "affine: shapes do not fit");
  at::Tensor y = at::empty({n, out}, x.options());
  if (bias.defined()) y.copy_(bias.expand({n, out}));
  for_real(x, [&]<class T>(T) {
    multiply_shared<T>(n, out, in, view<T>(x), transposed(view<T>(weight)), bias.defined() ? 1 : 0,
                       y.data_ptr<T>(), out);
  });
  return y;
}

class AffineMap : public ::torch::autograd::Function<AffineMap> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const Optional<at::Tensor>& bias) {
    const at::Tensor rows = x.contiguous(), matrix = weight.contiguous();
    context->save_for_backward({rows, matrix});
    context->saved_data["bias"] = bias.has_value();
    context->saved_data["x"] = x.requires_grad();
    return affine_value(rows, matrix, bias.value_or(at::Tensor()));
  }

  static variable_list backward(AutogradContext* context, const variable_list& outer) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], g = outer[0].contiguous();
    const std::int64_t n = x.size(0), in = x.size(1), out = weight.size(0);
    variable_list inner(3);
    inner[1] = at::empty_like(weight);
    for_real(x, [&]<class T>(T) {
      multiply_shared<T>(out, in, n, transposed(view<T>(g)), view<T>(x), 0, inner[1].data_ptr<T>(),
                         in);
      if (context->saved_data["x"].toBool()) {
        inner[0] = at::empty_like(x);
        multiply_shared<T>(n, in, out, view<T>(g), view<T>(weight), 0, inner[0].data_ptr<T>(), in);
      }
      if (context->saved_data["bias"].toBool()) {
        inner[2] = at::empty({out}, g.options());
        const T* const from = g.data_ptr<T>();
        column_sums<T>(
            n, out, [=](std::int64_t i, std::int64_t j) { return from[i * out + j]; }, T{0},
            inner[2].data_ptr<T>());
      }
    });
    return inner;
  }
};

class RowNorm : public ::torch::autograd::Function<RowNorm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, double epsilon) {
    const at::Tensor rows = x.contiguous();
    auto [y, mean, scale] = at::native_layer_norm(rows, {x.size(1)}, weight, bias, epsilon);
    context->save_for_backward({rows, weight, bias, mean, scale});
    return y;
  }

  // By rows as libtorch does it; the sums over the rows are ours.
  static variable_list backward(AutogradContext* context, const variable_list& outer) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], g = outer[0].contiguous();
    const std::int64_t n = x.size(0), width = x.size(1);
    variable_list inner(4);
    inner[0] = std::get<0>(at::native_layer_norm_backward(
        g, x, {width}, saved[3], saved[4], saved[1], saved[2], {true, false, false}));
    inner[1] = at::empty({width}, g.options());
    inner[2] = at::empty({width}, g.options());
    for_real(x, [&]<class T>(T) {
      const T *const from = g.data_ptr<T>(), *const of = x.data_ptr<T>(),
                     *const mean = saved[3].data_ptr<T>(), *const scale = saved[4].data_ptr<T>();
      column_sums<T>(
          n, width,
          [=](std::int64_t i, std::int64_t j) {
            const std::int64_t at = i * width + j;
            return from[at] * ((of[at] - mean[i]) * scale[i]);
          },
          T{0}, inner[1].data_ptr<T>());
      column_sums<T>(
          n, width, [=](std::int64_t i, std::int64_t j) { return from[i * width + j]; }, T{0},
          inner[2].data_ptr<T>());
    });
    return inner;
  }
};

bool wants_gradients(std::initializer_list<const at::Tensor*> inputs) {
  if (!at::GradMode::is_enabled()) return false;
  for (const at::Tensor* x : inputs)
    if (x->defined() && x->requires_grad()) return true;
  return false;
}

}  // namespace

at::Tensor affine(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (wants_gradients({&x, &weight, &bias}))
    return AffineMap::apply(x, weight,
                            bias.defined() ? Optional<at::Tensor>(bias) : Optional<at::Tensor>());
  return affine_value(x.contiguous(), weight.contiguous(), bias);
}

at::Tensor normalise(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                     double epsilon) {
  if (wants_gradients({&x, &weight, &bias})) return RowNorm::apply(x, weight, bias, epsilon);
  return at::layer_norm(x, {weight.size(0)}, weight, bias, epsilon);
}

}  // namespace medgrad::libtorch
