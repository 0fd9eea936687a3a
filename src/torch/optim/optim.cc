#include "medgrad/torch/optim.h"

#include "medgrad/error.h"
#include "torch/optim/engine.h"
#include "torch/versions.h"

namespace medgrad::libtorch {

using ::torch::optim::OptimizerOptions;
using ::torch::optim::OptimizerParamGroup;

TrackingOptimizer::TrackingOptimizer(const std::vector<OptimizerParamGroup>& groups,
                                     std::unique_ptr<OptimizerOptions> defaults, const char* kind)
    : Optimizer(groups, std::move(defaults)), engine_(std::make_unique<Engine>(kind)) {
  for (std::size_t k = 0; k < groups.size(); ++k) {
    keep_options(param_groups_[k], groups[k]);
    Engine::options_of(param_groups_[k]).validate();
  }
}

void TrackingOptimizer::add_param_group(const OptimizerParamGroup& group) {
  if (group.has_options()) Engine::options_of(group).validate();
  Optimizer::add_param_group(group);
  keep_options(param_groups_.back(), group);
}

TrackingOptimizer::~TrackingOptimizer() = default;

Tensor TrackingOptimizer::step(LossClosure closure) {
  const ::torch::NoGradGuard no_grad;
  Tensor loss;
  if (closure != nullptr) {
    const at::AutoGradMode with_grad(true);
    loss = closure();
  }
  engine_->step(param_groups_);
  return loss;
}

const std::vector<ScopeReport>& TrackingOptimizer::last_step() const { return engine_->reports; }
std::uint64_t TrackingOptimizer::steps() const { return engine_->steps; }
std::uint64_t TrackingOptimizer::skipped() const { return engine_->skipped; }

Tensor TrackingOptimizer::estimate(const Tensor& parameter) const {
  const ParameterState* const state = engine_->find(parameter);
  if (state == nullptr) return {};
  return state->m.scalar_type() == at::kBFloat16 ? state->m.to(at::kFloat) : state->m;
}

void TrackingOptimizer::name_parameters(const ::torch::nn::Module& module) {
  for (const auto& item : module.named_parameters())
    engine_->names[item.value().unsafeGetTensorImpl()] = item.key();
}

MedianSGD::MedianSGD(std::vector<OptimizerParamGroup> groups, MedianSGDOptions defaults)
    : TrackingOptimizer(std::move(groups), std::make_unique<MedianSGDOptions>(std::move(defaults)),
                        "MedianSGD") {}

ClippedSGD::ClippedSGD(std::vector<OptimizerParamGroup> groups, ClippedSGDOptions defaults)
    : TrackingOptimizer(std::move(groups), std::make_unique<ClippedSGDOptions>(std::move(defaults)),
                        "ClippedSGD") {}

SignSGD::SignSGD(std::vector<OptimizerParamGroup> groups, SignSGDOptions defaults)
    : TrackingOptimizer(std::move(groups), std::make_unique<SignSGDOptions>(std::move(defaults)),
                        "SignSGD") {}

MedianAdam::MedianAdam(std::vector<OptimizerParamGroup> groups, MedianAdamOptions defaults)
    : TrackingOptimizer(std::move(groups), std::make_unique<MedianAdamOptions>(std::move(defaults)),
                        "MedianAdam") {}

std::unique_ptr<TrackingOptimizer> make_optimizer(const GradientMethod& method,
                                                  std::vector<Tensor> parameters, double lr) {
  validate(method);
  if (const auto* online = std::get_if<OnlineGradient>(&method))
    return std::make_unique<MedianSGD>(std::move(parameters),
                                       MedianSGDOptions(lr, online->method).start(online->start));
  if (const auto* adaptive = std::get_if<AdaptiveGradient>(&method))
    return std::make_unique<MedianAdam>(std::move(parameters), MedianAdamOptions(lr, *adaptive));
  if (const auto* workers = std::get_if<WorkerGradient>(&method))
    return std::make_unique<SampleMedianSGD>(
        std::move(parameters),
        SampleMedianSGDOptions(lr, workers->rule).n(workers->n).worker(workers->worker));
  const auto& sample = std::get<SampleGradient>(method);
  if (sample.inexact > 0)
    throw Error("inexact sample estimators are not available as libtorch optimisers.");
  // One gradient as it comes: m = g in one pass, without a matrix of samples.
  if (sample.n == 1 && sample.estimator.before.empty() &&
      std::holds_alternative<Mean>(sample.estimator.method))
    return std::make_unique<MedianSGD>(
        std::move(parameters), MedianSGDOptions(lr, Subgradient{Squared{}, 1}).start(Start::cold));
  return std::make_unique<SampleMedianSGD>(
      std::move(parameters), SampleMedianSGDOptions(lr, sample.estimator).n(sample.n));
}

}  // namespace medgrad::libtorch
