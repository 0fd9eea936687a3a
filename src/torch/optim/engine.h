// The machine behind the libtorch optimisers: which parameters form a vector, what is remembered
// for each, and the step of one vector.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "medgrad/optimize.h"
#include "medgrad/thread_pool.h"
#include "medgrad/torch/optim.h"

namespace medgrad::libtorch {

using ParamGroups = std::vector<::torch::optim::OptimizerParamGroup>;

// What is remembered for a parameter.
struct ParameterState {
  Tensor m, v;  // v for MedianAdam only
  std::int64_t steps = 0;
};

// A parameter in a step, with how its w follows (see Block in estimator.h).
struct Slot {
  Tensor w, g;
  ParameterState* state = nullptr;
  double eta = 0, shrink = 1, decay = 0;
  std::size_t group = 0, index = 0;  // its place
};

// The parameters that are one vector to the estimator.
struct Unit {
  const GroupOptions* options = nullptr;
  Scope scope = Scope::global;
  std::vector<Slot> slots;
};

class Engine {
 public:
  explicit Engine(const char* kind) : kind_(kind) {}

  // One step of all units, for options that are OnlineOptions.
  void step(const ParamGroups& groups);

  // One step of all units along a robust centre of the rows' columns [from, from + d), which
  // `centre_of` writes to m; `seen` tells which parameters had a gradient at all.
  using Centre =
      std::function<SampleInfo(const Rule&, std::int64_t from, std::int64_t d, NonFinite)>;
  void take_samples(const std::vector<Unit>& units, const Tensor& rows, const Tensor& m,
                    const std::vector<bool>& seen, const Centre& centre_of);

  // The estimates so far, side by side as the units have them; 0 for parameters without one.
  void gather_estimates(const std::vector<Unit>& units, const Tensor& m) const;

  // The parameters that have a gradient, cut into units. Throws Error for sparse gradients and for
  // groups that cannot share a vector.
  [[nodiscard]] std::vector<Unit> units(const ParamGroups& groups, bool with_undefined = false);
  [[nodiscard]] static const GroupOptions& options_of(
      const ::torch::optim::OptimizerParamGroup& group);

  ParameterState& state_of(const Tensor& w);  // created, with m = 0, where there is none
  [[nodiscard]] const ParameterState* find(const Tensor& w) const;
  [[nodiscard]] std::string name_of(const Slot& slot) const;
  [[nodiscard]] std::string name_of(const Unit& unit) const;
  // The parameter that holds component `index` of the unit's vector.
  [[nodiscard]] static const Slot& slot_at(const Unit& unit, std::size_t index);
  [[noreturn]] void refuse(const Slot& slot) const;  // for BadGradient::raise

  // Threads for the fused kernels: as many as libtorch's, none where that is one.
  [[nodiscard]] ThreadPool* pool();

  void save(::torch::serialize::OutputArchive& archive, const ParamGroups& groups) const;
  void load(::torch::serialize::InputArchive& archive, ParamGroups& groups);

  std::vector<ScopeReport> reports;
  std::uint64_t steps = 0, skipped = 0;
  std::unordered_map<const void*, std::string> names;

 private:
  void step(const Unit& unit);
  void refuse_any(const std::vector<Unit>& units) const;

  std::string kind_;
  std::unordered_map<const void*, ParameterState> states_;
  std::unique_ptr<ThreadPool> pool_;
  int threads_ = 0;
  Workspace<float> workspace32_;
  Workspace<double> workspace64_;
};

// ---- Two ways to step a unit --------------------------------------------------------------------

// Whether the fused kernels can have all of its tensors: dense, on the CPU, of the same type, with
// g and m laid out as w is.
[[nodiscard]] bool is_fusable(const Unit& unit, bool with_v);

// The online step of a unit by ATen operations; `keeps_w` leaves w alone (it is still part of g
// where it decays). Throws NonFiniteInput as step() does.
[[nodiscard]] StepInfo aten_step(const OnlineMethod& method, Start start, NonFinite policy,
                                 const Unit& unit, bool keeps_w);

// v and w of an adaptive step, after m's.
void aten_adaptive_step(const AdaptiveGradient& method, const Unit& unit);

// Zeros of a shape and layout like w, in the type that m is kept in, in large pages where it pays.
[[nodiscard]] Tensor zeros_for(const Tensor& w);

}  // namespace medgrad::libtorch
