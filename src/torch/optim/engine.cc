#include "torch/optim/engine.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "medgrad/error.h"
#include "medgrad/large_vector.h"

namespace medgrad::libtorch {
namespace {

const void* key_of(const Tensor& w) { return w.unsafeGetTensorImpl(); }

bool is_dense_cpu(const Tensor& x) {
  return x.device().is_cpu() && x.layout() == at::kStrided && x.is_non_overlapping_and_dense();
}

// Where a dimension has one entry its stride means nothing, and libtorch leaves any number there.
bool same_layout(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) return false;
  for (std::int64_t k = 0; k < a.dim(); ++k)
    if (a.size(k) != 1 && a.stride(k) != b.stride(k)) return false;
  return true;
}

NonFinite policy_of(BadGradient bad) {
  return bad == BadGradient::robust ? NonFinite::robust : NonFinite::reject;
}

template <class T>
std::span<T> span_of(const Tensor& x) {
  return {x.data_ptr<std::remove_const_t<T>>(), static_cast<std::size_t>(x.numel())};
}

// `keeps_w`: the step of m alone.
template <Real T>
StepInfo fused_step(const OnlineMethod& method, const StepOptions& options, const Unit& unit,
                    bool keeps_w, Workspace<T>& workspace, double& size) {
  medgrad::validate<T>(method);
  std::vector<Block<T>> blocks;
  blocks.reserve(unit.slots.size());
  for (const Slot& slot : unit.slots) {
    blocks.push_back({span_of<T>(slot.state->m), span_of<const T>(slot.g), span_of<T>(slot.w),
                      keeps_w ? 0 : slot.eta, keeps_w ? 1 : slot.shrink, slot.decay});
  }
  return medgrad::step<T>(method, blocks, options, workspace, &size);
}

template <Real T>
void fused_adaptive_step(const AdaptiveGradient& method, const Unit& unit, ThreadPool* pool) {
  std::vector<AdaptiveBlock<T>> blocks;
  blocks.reserve(unit.slots.size());
  // Parameters that came later count their own steps: one call for each run of equal counts.
  for (std::size_t i = 0; i < unit.slots.size();) {
    const std::int64_t t = unit.slots[i].state->steps;
    blocks.clear();
    for (; i < unit.slots.size() && unit.slots[i].state->steps == t; ++i) {
      const Slot& slot = unit.slots[i];
      blocks.push_back({span_of<const T>(slot.state->m), span_of<const T>(slot.g),
                        span_of<T>(slot.state->v), span_of<T>(slot.w), slot.eta, slot.shrink,
                        slot.decay});
    }
    adaptive_step<T>(method, static_cast<std::uint64_t>(t), blocks, pool);
  }
}

template <Real T>
StepInfo fused_cut_step(const AdaptiveGradient& method, const StepOptions& options,
                        const Unit& unit) {
  std::vector<CutBlock<T>> blocks;
  blocks.reserve(unit.slots.size());
  for (const Slot& slot : unit.slots)
    blocks.push_back({span_of<T>(slot.state->m), span_of<const T>(slot.g),
                      span_of<T>(slot.state->v), span_of<T>(slot.w),
                      static_cast<std::uint64_t>(slot.state->steps) + 1, slot.eta, slot.shrink,
                      slot.decay});
  return cut_adaptive_step<T>(method, blocks, options);
}

std::optional<AdaptiveGradient> adaptive_of(const GroupOptions& options) {
  const auto* adam = dynamic_cast<const MedianAdamOptions*>(&options);
  if (adam == nullptr) return std::nullopt;
  return adam->adaptive();
}

const OnlineOptions& online_of(const Unit& unit) {
  return dynamic_cast<const OnlineOptions&>(*unit.options);
}

}  // namespace

State state_type(const GroupOptions& options) {
  const auto* online = dynamic_cast<const OnlineOptions*>(&options);
  return online == nullptr ? State::full : online->state();
}

Tensor zeros_for(const Tensor& w, State state) {
  const auto type = state == State::bfloat16         ? at::kBFloat16
                    : w.scalar_type() == at::kDouble ? at::kDouble
                                                     : at::kFloat;
  if (!is_dense_cpu(w) || w.numel() == 0) return at::zeros_like(w, w.options().dtype(type));
  const std::size_t bytes = static_cast<std::size_t>(w.numel()) * c10::elementSize(type);
  Tensor zeros = at::from_blob(allocate_large(bytes), w.sizes(), w.strides(), free_large,
                               w.options().dtype(type));
  return zeros.zero_();
}

bool is_fusable(const Unit& unit, bool with_v, State state) {
  if (unit.slots.empty()) return false;
  const bool narrow = state == State::bfloat16;
  const auto type = unit.slots.front().w.scalar_type();
  if (type != at::kFloat && (type != at::kDouble || narrow)) return false;
  return std::ranges::all_of(unit.slots, [&](const Slot& slot) {
    const auto alike = [&](const Tensor& x, at::ScalarType kind) {
      return x.scalar_type() == kind && is_dense_cpu(x) && same_layout(x, slot.w);
    };
    return is_dense_cpu(slot.w) && slot.w.scalar_type() == type && alike(slot.g, type) &&
           alike(slot.state->m, narrow ? at::kBFloat16 : type) &&
           (!with_v || alike(slot.state->v, type));
  });
}

const GroupOptions& Engine::options_of(const ::torch::optim::OptimizerParamGroup& group) {
  const auto* options = dynamic_cast<const GroupOptions*>(&group.options());
  if (options == nullptr)
    throw Error(
        "a parameter group has the options of another optimiser; give it options of this one.");
  return *options;
}

ParameterState& Engine::state_of(const Tensor& w, State state) {
  ParameterState& kept = states_[key_of(w)];
  if (!kept.m.defined()) kept.m = zeros_for(w, state);
  if (kept.m.sizes() != w.sizes())
    throw Error("a parameter has changed its shape since the last step.");
  return kept;
}

const ParameterState* Engine::find(const Tensor& w) const {
  const auto found = states_.find(key_of(w));
  return found == states_.end() ? nullptr : &found->second;
}

std::string Engine::name_of(const Slot& slot) const {
  if (const auto named = names.find(key_of(slot.w)); named != names.end()) return named->second;
  return fmt::format("parameter {} of group {}", slot.index + 1, slot.group + 1);
}

std::string Engine::name_of(const Unit& unit) const {
  if (unit.scope == Scope::global) return "all";
  if (unit.scope == Scope::tensor) return name_of(unit.slots.front());
  return fmt::format("group {}", unit.slots.front().group + 1);
}

const Slot& Engine::slot_at(const Unit& unit, std::size_t index) {
  std::size_t end = 0;
  for (const Slot& slot : unit.slots) {
    end += static_cast<std::size_t>(slot.w.numel());
    if (index < end) return slot;
  }
  return unit.slots.back();
}

void Engine::refuse(const Slot& slot) const {
  throw Error(
      fmt::format("the gradient of {} or its weights have a component that is NaN or Inf; the step "
                  "was not taken.",
                  name_of(slot)));
}

ThreadPool* Engine::pool() {
  const int wanted = at::get_num_threads();
  if (wanted != threads_) {
    pool_ = wanted > 1 ? std::make_unique<ThreadPool>(static_cast<unsigned>(wanted)) : nullptr;
    threads_ = wanted;
  }
  return pool_.get();
}

std::vector<Unit> Engine::units(const ParamGroups& groups, bool with_undefined) {
  std::vector<Unit> units;
  std::optional<std::size_t> global;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const GroupOptions& options = options_of(groups[k]);
    options.validate();
    const GroupSettings& s = options.settings();
    std::optional<std::size_t> mine = s.scope == Scope::global ? global : std::nullopt;
    if (mine && (units[*mine].options->method_line() != options.method_line() ||
                 units[*mine].options->tau() != options.tau()))
      throw Error(
          "groups of scope global form one vector and need the same method; give them one method, "
          "or "
          "scope group.");
    for (std::size_t i = 0; i < groups[k].params().size(); ++i) {
      const Tensor& w = groups[k].params()[i];
      const Tensor& g = w.grad();
      if (!g.defined() && !with_undefined) continue;
      Slot slot{w, g};
      slot.group = k;
      slot.index = i;
      if (!w.is_floating_point())
        throw Error(fmt::format(
            "{} has the type {}; it must be of real numbers (of complex ones: view_as_real).",
            name_of(slot), c10::toString(w.scalar_type())));
      if (g.defined() && g.is_sparse())
        throw Error(
            fmt::format("{} has a sparse gradient, for which a median of all components makes no "
                        "sense; make it dense (for an embedding: sparse(false)).",
                        name_of(slot)));
      const double sign = s.maximize ? -1 : 1;
      slot.eta = sign * s.lr;
      slot.shrink = s.decoupled ? 1 - s.lr * s.weight_decay : 1;
      slot.decay = s.decoupled ? 0 : sign * s.weight_decay;
      if (!mine || s.scope == Scope::tensor) {
        mine = units.size();
        units.push_back({&options, s.scope, {}});
        if (s.scope == Scope::global) global = mine;
      }
      units[*mine].slots.push_back(std::move(slot));
    }
  }
  return units;
}

// With several units and an error asked for, all are looked at before any takes its step.
void Engine::refuse_any(const std::vector<Unit>& units) const {
  for (const Unit& unit : units) {
    if (unit.options->settings().bad_gradient != BadGradient::raise) continue;
    for (const Slot& slot : unit.slots)
      if (!at::isfinite(slot.g).all().item<bool>()) refuse(slot);
  }
}

void Engine::step(const ParamGroups& groups) {
  std::vector<Unit> all = units(groups);
  reports.clear();
  if (all.size() > 1) refuse_any(all);
  for (Unit& unit : all) {
    const bool with_v = adaptive_of(*unit.options).has_value();
    for (Slot& slot : unit.slots) {
      slot.state = &state_of(slot.w, state_type(*unit.options));
      if (with_v && !slot.state->v.defined()) slot.state->v = zeros_for(slot.w);
    }
    step(unit);
  }
  ++steps;
}

std::vector<double>& Engine::sizes_of(const Unit& unit, std::size_t n) {
  const std::size_t group = unit.slots.front().group;
  if (group_sizes_.size() <= group) group_sizes_.resize(group + 1);
  std::vector<double>& sizes = unit.scope == Scope::global  ? global_sizes_
                               : unit.scope == Scope::group ? group_sizes_[group]
                                                            : state_of(unit.slots.front().w).sizes;
  sizes.resize(n);
  return sizes;
}

// Units round with different random bits: those of all parameters, of a group, of one.
StepInfo Engine::narrow_step(const OnlineMethod& method, const StepOptions& options,
                             const Unit& unit, double& size) {
  medgrad::validate<float>(method);
  std::vector<NarrowBlock> blocks;
  blocks.reserve(unit.slots.size());
  for (const Slot& slot : unit.slots) {
    auto* const m = reinterpret_cast<BFloat16*>(slot.state->m.data_ptr<at::BFloat16>());
    blocks.push_back({{m, static_cast<std::size_t>(slot.w.numel())},
                      span_of<const float>(slot.g),
                      span_of<float>(slot.w),
                      slot.eta,
                      slot.shrink,
                      slot.decay});
  }
  const Slot& first = unit.slots.front();
  const std::uint64_t which = unit.scope == Scope::global  ? 0
                              : unit.scope == Scope::group ? first.group + 1
                                                           : (first.group << 32) + first.index + 1;
  return medgrad::narrow_step(method, blocks, {which, steps}, options, workspace32_, &size);
}

void Engine::step(const Unit& unit) {
  const OnlineOptions& online = online_of(unit);
  const std::optional<AdaptiveGradient> adaptive = adaptive_of(*unit.options);
  const BadGradient bad = unit.options->settings().bad_gradient;
  const StepOptions options{online.start(), policy_of(bad), pool()};
  const bool narrow = online.state() == State::bfloat16;
  const bool fused = is_fusable(unit, adaptive.has_value(), online.state());
  if (narrow && !fused)
    throw Error(fmt::format(
        "m is kept in bfloat16 for dense float parameters on the CPU alone; {} has others, or a "
        "state in another type.",
        name_of(unit)));
  const bool doubles = unit.slots.front().w.scalar_type() == at::kDouble;
  const OnlineMethod method = online.online();
  const bool keeps_w = adaptive.has_value(), cuts = adaptive && adaptive->cuts();
  double& size = sizes_of(unit).front();
  ScopeReport& report = reports.emplace_back();
  report.what = name_of(unit);
  try {
    report.info = narrow            ? narrow_step(method, options, unit, size)
                  : cuts && !fused  ? aten_cut_step(*adaptive, options.non_finite, unit)
                  : cuts && doubles ? fused_cut_step<double>(*adaptive, options, unit)
                  : cuts            ? fused_cut_step<float>(*adaptive, options, unit)
                  : !fused
                      ? aten_step(method, options.start, options.non_finite, unit, keeps_w, size)
                  : doubles ? fused_step<double>(method, options, unit, keeps_w, workspace64_, size)
                            : fused_step<float>(method, options, unit, keeps_w, workspace32_, size);
  } catch (const NonFiniteInput& input) {
    if (bad == BadGradient::raise) refuse(slot_at(unit, input.index()));
    report.skipped = true;
    ++skipped;
    return;
  }
  for (const Slot& slot : unit.slots) ++slot.state->steps;
  if (!adaptive || cuts) return;
  if (!fused) {
    aten_adaptive_step(*adaptive, unit);
  } else if (doubles) {
    fused_adaptive_step<double>(*adaptive, unit, options.pool);
  } else {
    fused_adaptive_step<float>(*adaptive, unit, options.pool);
  }
}

}  // namespace medgrad::libtorch
