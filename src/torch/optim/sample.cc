// SampleMedianSGD: n gradients in one matrix, one robust row out of it.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "medgrad/error.h"
#include "medgrad/large_vector.h"
#include "torch/optim/engine.h"

namespace medgrad::libtorch {
namespace {

using ::torch::optim::OptimizerParamGroup;

std::size_t rows_wanted(const ParamGroups& groups) {
  std::size_t n = 0;
  for (const OptimizerParamGroup& group : groups) {
    const auto& options = dynamic_cast<const SampleMedianSGDOptions&>(Engine::options_of(group));
    if (n != 0 && options.n() != n)
      throw Error(
          "the groups have different numbers of gradients per step; n must be the same for all of "
          "them.");
    n = options.n();
  }
  return n;
}

Tensor large(std::int64_t rows, std::int64_t columns, at::ScalarType type) {
  const auto bytes =
      static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * c10::elementSize(type);
  return at::from_blob(allocate_large(bytes), {rows, columns}, free_large,
                       at::TensorOptions().dtype(type));
}

bool any_workers(const ParamGroups& groups) {
  return std::ranges::any_of(groups, [](const OptimizerParamGroup& group) {
    return dynamic_cast<const SampleMedianSGDOptions&>(Engine::options_of(group)).has_workers();
  });
}

bool fits(const Tensor& matrix, std::int64_t n, std::int64_t d, at::ScalarType type) {
  return matrix.defined() && matrix.size(0) == n && matrix.size(1) == d &&
         matrix.scalar_type() == type;
}

}  // namespace

// The gradients of a step so far.
struct SampleMedianSGD::Samples : Engine::Samples {
  std::size_t n = 0, taken = 0;
  std::vector<Unit> units;
};

SampleMedianSGD::SampleMedianSGD(std::vector<OptimizerParamGroup> groups,
                                 SampleMedianSGDOptions defaults)
    : TrackingOptimizer(std::move(groups),
                        std::make_unique<SampleMedianSGDOptions>(std::move(defaults)),
                        "SampleMedianSGD"),
      samples_(std::make_unique<Samples>()) {
  samples_->n = rows_wanted(param_groups_);
}

SampleMedianSGD::~SampleMedianSGD() = default;

std::size_t SampleMedianSGD::observed() const { return samples_->taken; }

void SampleMedianSGD::observe() {
  const ::torch::NoGradGuard no_grad;
  Samples& s = *samples_;
  if (s.taken == 0) s.n = rows_wanted(param_groups_);
  if (s.taken == s.n)
    throw Error("all gradients of this step have been observed; call step() next.");
  if (s.taken == 0) {
    s.units = engine().units(param_groups_, true);
    std::int64_t d = 0;
    std::size_t count = 0;
    bool doubles = false;
    for (const Unit& unit : s.units) {
      for (const Slot& slot : unit.slots) {
        d += slot.w.numel();
        ++count;
        doubles = doubles || slot.w.scalar_type() == at::kDouble;
      }
    }
    const auto type = doubles ? at::kDouble : at::kFloat;
    s.seen.assign(count, false);
    const auto n = static_cast<std::int64_t>(s.n);
    if (!fits(s.rows, n, d, type)) {
      s.rows = large(n, d, type);
      s.m = large(1, d, type)[0];
    }
    if (!any_workers(param_groups_)) {
      s.workers = Tensor();
    } else if (!fits(s.workers, n, d, type)) {
      s.workers = large(n, d, type);
    }
    engine().gather_states(s.units, s);
  } else {
    (void)engine().units(param_groups_);  // refuses sparse gradients
  }
  const Tensor row = s.rows[static_cast<std::int64_t>(s.taken)];
  std::int64_t at = 0;
  std::size_t k = 0;
  for (const Unit& unit : s.units) {
    for (const Slot& slot : unit.slots) {
      Tensor to = row.narrow(0, at, slot.w.numel()).view(slot.w.sizes());
      const Tensor& g = slot.w.grad();
      if (g.defined()) {
        to.copy_(g);
        if (slot.decay != 0) to.add_(slot.w, slot.decay);
        s.seen[k] = true;
      } else {
        to.zero_();
      }
      at += slot.w.numel();
      ++k;
    }
  }
  ++s.taken;
  zero_grad();
}

Tensor SampleMedianSGD::step(LossClosure closure) {
  const ::torch::NoGradGuard no_grad;
  Samples& s = *samples_;
  Tensor loss;
  if (closure != nullptr) {
    s.taken = 0;
    s.n = rows_wanted(param_groups_);
    for (std::size_t i = 0; i < s.n; ++i) {
      zero_grad();
      {
        const at::AutoGradMode with_grad(true);
        const Tensor one = closure();
        loss = loss.defined() ? loss + one.detach() : one.detach();
      }
      observe();
    }
    loss = loss / static_cast<double>(s.n);
  } else if (s.taken != s.n) {
    throw Error(
        fmt::format("{} of the {} gradients of this step have been observed; call observe() after "
                    "each backward().",
                    s.taken, s.n));
  }
  engine().take_samples(s.units, s);
  s.taken = 0;
  return loss;
}

void Engine::gather_states(const std::vector<Unit>& units, const Samples& samples) const {
  const auto fill = [](const Tensor& to, const Tensor& from) {
    if (!from.defined()) {
      to.zero_();
    } else if (from.data_ptr() != to.data_ptr()) {  // it may be a view of the very place
      to.copy_(from);
    }
  };
  std::int64_t at = 0;
  for (const Unit& unit : units) {
    for (const Slot& slot : unit.slots) {
      const std::int64_t size = slot.w.numel();
      const ParameterState* const state = find(slot.w);
      fill(samples.m.narrow(0, at, size).view(slot.w.sizes()), state ? state->m : Tensor());
      if (samples.workers.defined())
        fill(samples.workers.narrow(1, at, size), state ? state->workers : Tensor());
      at += size;
    }
  }
}

template <Real T>
void Engine::follow(const Unit& unit, const Samples& samples, std::int64_t from, std::int64_t d,
                    std::size_t first, Workspace<T>& workspace) {
  const auto& options = dynamic_cast<const SampleMedianSGDOptions&>(*unit.options);
  // What no sample has is missing, and stays as it was.
  std::int64_t at = from;
  for (std::size_t k = 0; k < unit.slots.size(); ++k) {
    const std::int64_t size = unit.slots[k].w.numel();
    if (!samples.seen[first + k])
      samples.rows.narrow(1, at, size).fill_(std::numeric_limits<double>::quiet_NaN());
    at += size;
  }
  const auto size = static_cast<std::size_t>(d);
  std::vector<double>& sizes = sizes_of(unit, static_cast<std::size_t>(samples.rows.size(0)));
  for (std::int64_t i = 0; i < samples.rows.size(0); ++i) {
    const std::span<T> v(samples.workers[i].data_ptr<T>() + from, size);
    const std::span<T> row(samples.rows[i].data_ptr<T>() + from, size);
    worker_step<T>(options.worker(), v, row, {static_cast<std::uint64_t>(i), steps},
                   {NonFinite::robust, pool()}, workspace, {}, &sizes[static_cast<std::size_t>(i)]);
    std::ranges::copy(v, row.begin());
  }
}

template <Real T>
SampleInfo Engine::centre(const Rule& method, const Tensor& rows, const Tensor& m) {
  const auto n = static_cast<std::size_t>(rows.size(0)), d = static_cast<std::size_t>(rows.size(1));
  const Rows<T> view(rows.data_ptr<T>(), n, d, static_cast<std::size_t>(rows.stride(0)));
  const Tensor before = keeps_center(method) ? m.clone() : Tensor();
  return aggregate<T>(method, view, {m.data_ptr<T>(), d},
                      {.center = before.defined() ? std::span<const T>(before.data_ptr<T>(), d)
                                                  : std::span<const T>(),
                       .non_finite = NonFinite::robust,
                       .pool = pool(),
                       .round = steps + 1});
}

void Engine::take_samples(const std::vector<Unit>& units, const Samples& samples) {
  const Tensor &rows = samples.rows, &m = samples.m;
  reports.clear();
  const Tensor finite = at::isfinite(rows).all(0);
  const auto each = [&](const auto& use) {
    std::int64_t from = 0;
    std::size_t first = 0;
    for (const Unit& unit : units) {
      std::int64_t d = 0;
      for (const Slot& slot : unit.slots) d += slot.w.numel();
      use(unit, from, d, first);
      from += d;
      first += unit.slots.size();
    }
  };
  // Errors before anything moves.
  each([&](const Unit& unit, std::int64_t from, std::int64_t d, std::size_t) {
    if (unit.options->settings().bad_gradient != BadGradient::raise) return;
    const Tensor part = finite.narrow(0, from, d);
    if (d > 0 && !part.all().item<bool>()) {
      const auto at = part.logical_not().nonzero()[0].item<std::int64_t>();
      refuse(slot_at(unit, static_cast<std::size_t>(at)));
    }
  });
  each([&](const Unit& unit, std::int64_t from, std::int64_t d, std::size_t first) {
    ScopeReport& report = reports.emplace_back();
    report.what = name_of(unit);
    const Tensor part = finite.narrow(0, from, d);
    if (unit.options->settings().bad_gradient == BadGradient::skip && d > 0 &&
        !part.all().item<bool>()) {
      report.skipped = true;
      ++skipped;
      return;
    }
    if (d == 0) return;
    const auto& options = dynamic_cast<const SampleMedianSGDOptions&>(*unit.options);
    const bool doubles = rows.scalar_type() == at::kDouble;
    if (options.has_workers()) {
      // Nothing that is not finite goes on to the rule.
      report.info.non_finite = static_cast<std::size_t>(
          at::isfinite(rows.narrow(1, from, d)).logical_not().sum().item<std::int64_t>());
      doubles ? follow<double>(unit, samples, from, d, first, workspace64_)
              : follow<float>(unit, samples, from, d, first, workspace32_);
    }
    // A component that no gradient has keeps its m, as in the core.
    const Tensor sample = rows.narrow(1, from, d), estimate = m.narrow(0, from, d);
    const Tensor nowhere = at::isnan(sample).all(0);
    const bool any_nowhere = nowhere.any().item<bool>();
    Tensor before;
    if (any_nowhere) {
      before = estimate.clone();
      sample.copy_(at::where(nowhere, before, sample));
    }
    report.sample = doubles ? centre<double>(options.method(), sample, estimate)
                            : centre<float>(options.method(), sample, estimate);
    if (any_nowhere) estimate.copy_(at::where(nowhere, before, estimate));
    if (!options.has_workers()) report.info.non_finite = report.sample.nan + report.sample.inf;
    std::int64_t at = from;
    for (std::size_t k = 0; k < unit.slots.size(); ++k) {
      const Slot& slot = unit.slots[k];
      if (samples.seen[first + k]) {
        const Tensor step = m.narrow(0, at, slot.w.numel()).view(slot.w.sizes());
        if (slot.shrink != 1) slot.w.mul_(slot.shrink);
        slot.w.add_(step.to(slot.w.options()), -slot.eta);
        ParameterState& state = states_[slot.w.unsafeGetTensorImpl()];
        state.m = step;
        if (options.has_workers()) state.workers = samples.workers.narrow(1, at, slot.w.numel());
        ++state.steps;
      }
      at += slot.w.numel();
    }
  });
  ++steps;
}

}  // namespace medgrad::libtorch
