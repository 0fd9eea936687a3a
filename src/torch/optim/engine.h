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
  Tensor m, v;     // v for MedianAdam only
  Tensor workers;  // n x its size, for SampleMedianSGD with workers only
  std::int64_t steps = 0;
  std::vector<double> sizes;  // S of tau = auto, where it is a vector of its own
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

  // The gradients of a step as rows, and what is made of them: estimates, and vectors of workers.
  // Units lie side by side, each a range of columns.
  struct Samples {
    Tensor rows, m, workers;  // n x d, d, n x d; no workers where there are none
    std::vector<bool> seen;   // per parameter, in the order of the units: did any sample have it?
  };
  // One step of all units along a robust centre of their rows.
  void take_samples(const std::vector<Unit>& units, const Samples& samples);

  // The estimates and workers' vectors so far; 0 for parameters without any.
  void gather_states(const std::vector<Unit>& units, const Samples& samples) const;

  // The parameters that have a gradient, cut into units. Throws Error for sparse gradients and for
  // groups that cannot share a vector.
  [[nodiscard]] std::vector<Unit> units(const ParamGroups& groups, bool with_undefined = false);
  [[nodiscard]] static const GroupOptions& options_of(
      const ::torch::optim::OptimizerParamGroup& group);

  // Created, with m = 0, where there is none.
  ParameterState& state_of(const Tensor& w, State state = State::full);
  [[nodiscard]] const ParameterState* find(const Tensor& w) const;
  [[nodiscard]] std::string name_of(const Slot& slot) const;
  [[nodiscard]] std::string name_of(const Unit& unit) const;
  // The parameter that holds component `index` of the unit's vector.
  [[nodiscard]] static const Slot& slot_at(const Unit& unit, std::size_t index);
  [[noreturn]] void refuse(const Slot& slot) const;  // for BadGradient::raise

  // Threads for the fused kernels: as many as libtorch's, none where that is one.
  [[nodiscard]] ThreadPool* pool();

  [[nodiscard]] SavedState state(const ParamGroups& groups) const;
  void restore(const SavedState& state, ParamGroups& groups);

  std::vector<ScopeReport> reports;
  std::uint64_t steps = 0, skipped = 0;
  std::unordered_map<const void*, std::string> names;

 private:
  void step(const Unit& unit);
  StepInfo narrow_step(const OnlineMethod& method, const StepOptions& options, const Unit& unit,
                       double& size);
  // S of tau = auto, one number for each estimator of the unit: n workers, or the one.
  std::vector<double>& sizes_of(const Unit& unit, std::size_t n = 1);
  // Workers follow the columns [from, from + d), and these become their vectors.
  template <Real T>
  void follow(const Unit& unit, const Samples& samples, std::int64_t from, std::int64_t d,
              std::size_t first, Workspace<T>& workspace);
  template <Real T>
  SampleInfo centre(const Rule& method, const Tensor& rows, const Tensor& m);
  void refuse_any(const std::vector<Unit>& units) const;

  std::string kind_;
  std::unordered_map<const void*, ParameterState> states_;
  std::vector<double> global_sizes_;              // S of tau = auto, of scope global
  std::vector<std::vector<double>> group_sizes_;  // and of every group of scope group
  std::unique_ptr<ThreadPool> pool_;
  int threads_ = 0;
  Workspace<float> workspace32_;
  Workspace<double> workspace64_;
};

// ---- Two ways to step a unit --------------------------------------------------------------------

// Whether the fused kernels can have all of its tensors: dense, on the CPU, of the same type, with
// g and m laid out as w is.
[[nodiscard]] bool is_fusable(const Unit& unit, bool with_v, State state = State::full);

// The online step of a unit by ATen operations; `keeps_w` leaves w alone (it is still part of g
// where it decays), `size` is the S of tau = auto. Throws NonFiniteInput as step() does.
[[nodiscard]] StepInfo aten_step(const OnlineMethod& method, Start start, NonFinite policy,
                                 const Unit& unit, bool keeps_w, double& size);

// v and w of an adaptive step, after m's.
void aten_adaptive_step(const AdaptiveGradient& method, const Unit& unit);

// All of an adaptive step that cuts.
[[nodiscard]] StepInfo aten_cut_step(const AdaptiveGradient& method, NonFinite policy,
                                     const Unit& unit);

// Zeros of a shape and layout like w, in the type that m is kept in, in large pages where it pays.
[[nodiscard]] Tensor zeros_for(const Tensor& w, State state = State::full);

// What m of a group is kept in.
[[nodiscard]] State state_type(const GroupOptions& options);

}  // namespace medgrad::libtorch
