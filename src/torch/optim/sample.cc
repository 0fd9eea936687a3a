// SampleMedianSGD: n gradients in one matrix, one robust row out of it.
#include <algorithm>

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

template <Real T>
SampleInfo centre(const Rule& method, const Tensor& rows, const Tensor& out, NonFinite policy,
                  std::uint64_t round, ThreadPool* pool) {
  const auto n = static_cast<std::size_t>(rows.size(0)), d = static_cast<std::size_t>(rows.size(1));
  const Rows<T> view(rows.data_ptr<T>(), n, d, static_cast<std::size_t>(rows.stride(0)));
  const std::span<T> m(out.data_ptr<T>(), d);
  std::vector<T> last;  // m is where the last step left it
  if (keeps_center(method)) last.assign(m.begin(), m.end());
  return aggregate<T>(method, view, m,
                      {.center = last, .non_finite = policy, .pool = pool, .round = round});
}

}  // namespace

// The gradients of a step so far. Units lie side by side, each a range of columns.
struct SampleMedianSGD::Samples {
  std::size_t n = 0, taken = 0;
  std::uint64_t steps = 0;
  std::vector<Unit> units;
  Tensor rows, m;          // n x d, d
  std::vector<bool> seen;  // per parameter, in the order of the units: did any sample have it?

  [[nodiscard]] SampleInfo centre_of(const Rule& method, std::int64_t from, std::int64_t d,
                                     NonFinite policy, ThreadPool* pool) const {
    const Tensor part = rows.narrow(1, from, d), out = m.narrow(0, from, d);
    return rows.scalar_type() == at::kDouble
               ? centre<double>(method, part, out, policy, steps, pool)
               : centre<float>(method, part, out, policy, steps, pool);
  }
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
    if (!s.rows.defined() || s.rows.size(0) != n || s.rows.size(1) != d ||
        s.rows.scalar_type() != type) {
      s.rows = large(n, d, type);
      s.m = large(1, d, type)[0];
    }
    engine().gather_estimates(s.units, s.m);
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
    throw Error(std::to_string(s.taken)
                    .append(" of the ")
                    .append(std::to_string(s.n))
                    .append(" gradients of this step have been observed; call observe() after each "
                            "backward()."));
  }
  ++s.steps;
  engine().take_samples(
      s.units, s.rows, s.m, s.seen,
      [&](const Rule& method, std::int64_t from, std::int64_t d, NonFinite policy) {
        return s.centre_of(method, from, d, policy, engine().pool());
      });
  s.taken = 0;
  return loss;
}

void Engine::gather_estimates(const std::vector<Unit>& units, const Tensor& m) const {
  std::int64_t at = 0;
  for (const Unit& unit : units) {
    for (const Slot& slot : unit.slots) {
      const ParameterState* const state = find(slot.w);
      Tensor to = m.narrow(0, at, slot.w.numel()).view(slot.w.sizes());
      if (state == nullptr || !state->m.defined()) {
        to.zero_();
      } else if (state->m.data_ptr() != to.data_ptr()) {
        to.copy_(state->m);
      }
      at += slot.w.numel();
    }
  }
}

void Engine::take_samples(const std::vector<Unit>& units, const Tensor& rows, const Tensor& m,
                          const std::vector<bool>& seen, const Centre& centre_of) {
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
    // A component that no gradient has keeps its m, as in the core.
    const Tensor sample = rows.narrow(1, from, d), estimate = m.narrow(0, from, d);
    const Tensor nowhere = at::isnan(sample).all(0);
    const bool any_nowhere = nowhere.any().item<bool>();
    Tensor before;
    if (any_nowhere) {
      before = estimate.clone();
      sample.copy_(at::where(nowhere, before, sample));
    }
    const auto& options = dynamic_cast<const SampleMedianSGDOptions&>(*unit.options);
    report.sample = centre_of(options.method(), from, d, NonFinite::robust);
    if (any_nowhere) estimate.copy_(at::where(nowhere, before, estimate));
    report.info.non_finite = report.sample.nan + report.sample.inf;
    std::int64_t at = from;
    for (std::size_t k = 0; k < unit.slots.size(); ++k) {
      const Slot& slot = unit.slots[k];
      if (seen[first + k]) {
        const Tensor step = m.narrow(0, at, slot.w.numel()).view(slot.w.sizes());
        if (slot.shrink != 1) slot.w.mul_(slot.shrink);
        slot.w.add_(step.to(slot.w.options()), -slot.eta);
        ParameterState& state = states_[slot.w.unsafeGetTensorImpl()];
        state.m = step;
        ++state.steps;
      }
      at += slot.w.numel();
    }
  });
  ++steps;
}

}  // namespace medgrad::libtorch
