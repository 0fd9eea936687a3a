// The paper's optimisers for libtorch, as drop-ins for torch::optim's own.
//
//     medgrad::libtorch::MedianSGD optimizer(model->parameters(),
//     medgrad::libtorch::MedianSGDOptions(0.1));
//
// Parameter groups with their own options, step(closure), zero_grad(), torch::save and torch::load
// work as with torch::optim::SGD. Dense float and double tensors on the CPU go through the fused
// kernels of the core, all tensors of a scope in one pass; other types, strides and devices through
// ATen operations with the same result. Parameters whose gradient is undefined are skipped, sparse
// gradients are refused.
//
// Memory beside the model: m (MedianAdam: m and v; SampleMedianSGD: n gradients, m and the vectors
// of workers). For half and bfloat16 parameters m is kept in float, as increments of a few permille
// would vanish otherwise.
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "medgrad/estimator.h"
#include "medgrad/optimize.h"
#include "medgrad/sample.h"
#include "medgrad/torch/options.h"

namespace medgrad::libtorch {

using ::torch::Tensor;

// What the step of one scope saw.
struct ScopeReport {
  std::string what;      // "all", "group 2", or a parameter's name
  StepInfo info;         // online optimisers
  SampleInfo sample;     // SampleMedianSGD
  bool skipped = false;  // it was left out for a gradient that is not finite
};

// All that an optimiser needs to go on: options and counts as JSON, tensors by name ("0.3.m" is the
// m of the fourth parameter of the first group).
struct SavedState {
  std::string json;
  std::vector<std::pair<std::string, Tensor>> tensors;
};

class Engine;  // internal

// What they all do. One idea: the estimator decides m, w <- w - lr m follows.
class TrackingOptimizer : public ::torch::optim::Optimizer {
 public:
  ~TrackingOptimizer() override;

  // Parameters that come later, with options of their own or the optimiser's.
  void add_param_group(const ::torch::optim::OptimizerParamGroup& group);

  // One step; the closure, where given, is called with gradients enabled and its loss returned.
  Tensor step(LossClosure closure = nullptr) override;

  // The last step, one entry per scope.
  [[nodiscard]] const std::vector<ScopeReport>& last_step() const;
  // Steps taken, and steps of scopes that were left out for a gradient that is not finite.
  [[nodiscard]] std::uint64_t steps() const;
  [[nodiscard]] std::uint64_t skipped() const;

  // m of a parameter: the tracked estimate of its gradient. Undefined before its first step.
  [[nodiscard]] Tensor estimate(const Tensor& parameter) const;

  // Names for reports and errors; without them it is "parameter 3 of group 1".
  void name_parameters(const ::torch::nn::Module& module);

  // Everything needed to go on bit for bit: m (and v), step counts, and every option that may have
  // been moved (lr, tau, decay, …), as a safetensors file, which is replaced in one step, has a
  // checksum, and is read by Python too (medgrad.load_checkpoint). Parameters are told apart by
  // their place, so files of two equal runs are equal. load() throws Error, and changes nothing,
  // where the file is damaged or belongs to another optimiser, method or model.
  void save(const std::filesystem::path& file) const;
  void load(const std::filesystem::path& file);
  // The same bytes inside an archive of libtorch: for torch::save and torch::load.
  void save(::torch::serialize::OutputArchive& archive) const override;
  void load(::torch::serialize::InputArchive& archive) override;
  // The same for a file of one's own.
  [[nodiscard]] SavedState saved_state() const;
  void restore(const SavedState& state);

 protected:
  TrackingOptimizer(const std::vector<::torch::optim::OptimizerParamGroup>& groups,
                    std::unique_ptr<::torch::optim::OptimizerOptions> defaults, const char* kind);
  [[nodiscard]] Engine& engine() { return *engine_; }

 private:
  std::unique_ptr<Engine> engine_;
};

// Any online estimator: momentum (damped), VClip, CClip, Huber, Lp, their subgradient versions.
class MedianSGD : public TrackingOptimizer {
 public:
  MedianSGD(std::vector<::torch::optim::OptimizerParamGroup> groups, MedianSGDOptions defaults);
  MedianSGD(std::vector<Tensor> parameters, MedianSGDOptions defaults)
      : MedianSGD({::torch::optim::OptimizerParamGroup(std::move(parameters))},
                  std::move(defaults)) {}
};

// Momentum over clipped gradients.
class ClippedSGD : public TrackingOptimizer {
 public:
  ClippedSGD(std::vector<::torch::optim::OptimizerParamGroup> groups, ClippedSGDOptions defaults);
  ClippedSGD(std::vector<Tensor> parameters, ClippedSGDOptions defaults)
      : ClippedSGD({::torch::optim::OptimizerParamGroup(std::move(parameters))},
                   std::move(defaults)) {}
};

// The sign of every component.
class SignSGD : public TrackingOptimizer {
 public:
  SignSGD(std::vector<::torch::optim::OptimizerParamGroup> groups, SignSGDOptions defaults);
  SignSGD(std::vector<Tensor> parameters, SignSGDOptions defaults)
      : SignSGD({::torch::optim::OptimizerParamGroup(std::move(parameters))}, std::move(defaults)) {
  }
};

// Adam whose increments are cut in its own metric, or whose first moment is any online estimator.
class MedianAdam : public TrackingOptimizer {
 public:
  explicit MedianAdam(std::vector<::torch::optim::OptimizerParamGroup> groups,
                      MedianAdamOptions defaults = {});
  explicit MedianAdam(std::vector<Tensor> parameters, MedianAdamOptions defaults = {})
      : MedianAdam({::torch::optim::OptimizerParamGroup(std::move(parameters))},
                   std::move(defaults)) {}
};

// A robust centre of n gradients at the same w, any sample estimator; or of what n workers make of
// their gradients. Holds the n gradients: n times the memory of the parameters that have one, and
// as much again for the vectors of workers, which are saved with the rest. A parameter without any
// gradient in a step leaves its part of them as it was.
//
// step(closure) calls the closure n times, each on the next micro-batch, with the gradients zeroed
// before, and returns the mean of its losses. Or, without a closure: backward(), observe(), n
// times, then step().
class SampleMedianSGD : public TrackingOptimizer {
 public:
  SampleMedianSGD(std::vector<::torch::optim::OptimizerParamGroup> groups,
                  SampleMedianSGDOptions defaults);
  SampleMedianSGD(std::vector<Tensor> parameters, SampleMedianSGDOptions defaults)
      : SampleMedianSGD({::torch::optim::OptimizerParamGroup(std::move(parameters))},
                        std::move(defaults)) {}

  ~SampleMedianSGD() override;

  // Takes the gradients as they are now as one of the n, and zeroes them.
  void observe();
  [[nodiscard]] std::size_t observed() const;
  Tensor step(LossClosure closure = nullptr) override;

 private:
  struct Samples;
  std::unique_ptr<Samples> samples_;
};

// Any method of the registry (medgrad/optimize.h: find_optimizer("vclip").make({{"tau", 0.1}})) as
// an optimiser of these parameters. Throws Error for the inexact sample estimators, which have
// none.
[[nodiscard]] std::unique_ptr<TrackingOptimizer> make_optimizer(const GradientMethod& method,
                                                                std::vector<Tensor> parameters,
                                                                double lr);

}  // namespace medgrad::libtorch
