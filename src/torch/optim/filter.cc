#include "medgrad/torch/filter.h"

#include <torch/torch.h>

#include <algorithm>

#include "medgrad/error.h"

namespace medgrad::libtorch {
namespace {

bool contains(const std::vector<Tensor>& all, const Tensor& one) {
  return std::ranges::any_of(all, [&](const Tensor& x) { return x.is_same(one); });
}

std::vector<Tensor> without(const std::vector<Tensor>& parameters,
                            const std::vector<Tensor>& leave_out) {
  for (const Tensor& one : leave_out)
    if (!contains(parameters, one))
      throw Error("the filter is to leave out a tensor that the optimiser does not have.");
  std::vector<Tensor> rest;
  for (const Tensor& w : parameters)
    if (!contains(leave_out, w)) rest.push_back(w);
  return rest;
}

}  // namespace

GradientFilter::GradientFilter(const std::vector<Tensor>& parameters, const FilterOptions& options)
    : parameters_(without(parameters, options.leave_out)),
      // A learning rate of 0 leaves w to the optimiser.
      tracker_(parameters_, MedianSGDOptions(0, options.method)
                                .scope(options.scope)
                                .bad_gradient(options.bad_gradient)) {}

void GradientFilter::apply() {
  const ::torch::NoGradGuard no_grad;
  tracker_.step();
  for (const Tensor& w : parameters_) {
    const Tensor& g = w.grad();
    if (g.defined()) g.copy_(tracker_.estimate(w));
  }
}

std::vector<Tensor> internal::parameters_of(
    const std::vector<::torch::optim::OptimizerParamGroup>& groups) {
  std::vector<Tensor> all;
  for (const auto& group : groups)
    all.insert(all.end(), group.params().begin(), group.params().end());
  return all;
}

}  // namespace medgrad::libtorch
