// A filter in front of any optimiser: it gets m, the tracked estimate of the gradient, in place of
// g.
//
//     medgrad::libtorch::Filtered<torch::optim::AdamW> optimizer(
//         net->parameters(), medgrad::libtorch::FilterOptions{},    // VClip, tau = auto
//         torch::optim::AdamWOptions(1e-3));
//
// step() updates m from the gradients (as MedianSGD does, scope by scope), writes it over them, and
// lets the optimiser take its step; gradients then hold m until they are zeroed. Tensors that are
// left out keep their gradients, and are no part of the vector that is clipped.
#pragma once

#include <torch/optim/optimizer.h>

#include <utility>
#include <vector>

#include "medgrad/estimator.h"
#include "medgrad/torch/optim.h"

namespace medgrad::libtorch {

struct FilterOptions {
  OnlineMethod method = ProximalPoint{L2{}, kAutomaticNumber};
  Scope scope = Scope::global;
  BadGradient bad_gradient = BadGradient::robust;  // skip: what is bad is replaced by m as it was
  std::vector<Tensor> leave_out = {};              // layers whose gradients go through as they are
};

// The filter by itself.
class GradientFilter {
 public:
  // Throws Error where the options are out of range, or leave out what is no parameter.
  GradientFilter(const std::vector<Tensor>& parameters, const FilterOptions& options);

  // m <- estimator(g), g <- m, for every parameter that has a gradient.
  void apply();
  // What it saw, and everything about m (medgrad/torch/optim.h).
  [[nodiscard]] const MedianSGD& tracker() const { return tracker_; }
  [[nodiscard]] MedianSGD& tracker() { return tracker_; }

 private:
  std::vector<Tensor> parameters_;  // those that are not left out
  MedianSGD tracker_;
};

namespace internal {
[[nodiscard]] std::vector<Tensor> parameters_of(
    const std::vector<::torch::optim::OptimizerParamGroup>& groups);
}  // namespace internal

template <class Optimizer>
class Filtered : public Optimizer {
 public:
  // `arguments` are those of the optimiser after its parameters.
  template <class... Arguments>
  Filtered(std::vector<::torch::optim::OptimizerParamGroup> groups, const FilterOptions& filter,
           Arguments&&... arguments)
      : Optimizer(std::move(groups), std::forward<Arguments>(arguments)...),
        filter_(internal::parameters_of(this->param_groups()), filter) {}
  template <class... Arguments>
  Filtered(std::vector<Tensor> parameters, const FilterOptions& filter, Arguments&&... arguments)
      : Filtered({::torch::optim::OptimizerParamGroup(std::move(parameters))}, filter,
                 std::forward<Arguments>(arguments)...) {}

  Tensor step(::torch::optim::Optimizer::LossClosure closure = nullptr) override {
    Tensor loss;
    if (closure != nullptr) {
      const at::AutoGradMode with_grad(true);
      loss = closure();
    }
    filter_.apply();
    Optimizer::step();
    return loss;
  }

  [[nodiscard]] const GradientFilter& filter() const { return filter_; }

  // The optimiser's own state and the filter's, side by side.
  void save(::torch::serialize::OutputArchive& archive) const override {
    ::torch::serialize::OutputArchive own(archive.compilation_unit()),
        filter(archive.compilation_unit());
    Optimizer::save(own);
    filter_.tracker().save(filter);
    archive.write("optimizer", own);
    archive.write("filter", filter);
  }
  void load(::torch::serialize::InputArchive& archive) override {
    ::torch::serialize::InputArchive own, filter;
    archive.read("filter", filter);
    archive.read("optimizer", own);
    filter_.tracker().load(filter);
    Optimizer::load(own);
  }

 private:
  GradientFilter filter_;
};

}  // namespace medgrad::libtorch
