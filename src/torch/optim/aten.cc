// A unit's step by ATen operations: for tensors of other types, strides and devices.
//
// The formulas are those of core/step.cc. Norms are accumulated in double, scaled by the largest
// component: float sums of libtorch lose three digits on millions of components.
#include <algorithm>
#include <cmath>

#include "core/automatic.h"
#include "core/overloaded.h"
#include "core/project.h"
#include "core/radial.h"
#include "torch/optim/engine.h"

namespace medgrad::libtorch {
namespace {

// One tensor of the unit: what goes in as g (finite), m before (0 where cold), the increment.
struct Piece {
  const Slot* slot;
  Tensor g, before, increment, missing;  // `missing`: where g is NaN
};

class AtenStep {
 public:
  AtenStep(Start start, NonFinite policy, const Unit& unit, double& size) : automatic_size_(size) {
    std::size_t at = 0;
    for (const Slot& slot : unit.slots) {
      Piece piece{&slot, {}, {}, {}, {}};
      const auto type = slot.state->m.scalar_type();
      Tensor g = slot.g.to(type);
      if (slot.decay != 0) g = g + slot.w.to(type) * slot.decay;
      const Tensor finite = at::isfinite(g);
      const auto bad = static_cast<std::size_t>(g.numel() - finite.sum().item<std::int64_t>());
      if (bad > 0 && policy == NonFinite::reject) {
        const auto first = finite.logical_not().flatten().nonzero()[0].item<std::int64_t>();
        throw NonFiniteInput("a component is not finite.", at + static_cast<std::size_t>(first));
      }
      info_.non_finite += bad;
      if (bad > 0) piece.missing = at::isnan(g);
      if (bad > 0) unbounded_ = unbounded_ || at::isinf(g).any().item<bool>();
      const double max = type == at::kDouble ? std::numeric_limits<double>::max()
                                             : std::numeric_limits<float>::max();
      piece.g = bad > 0 ? at::nan_to_num(g, 0.0, max, -max) : g;
      piece.before = start == Start::cold ? at::zeros_like(slot.state->m) : slot.state->m;
      piece.increment = (piece.g - piece.before).clamp(-max, max);
      if (bad > 0) piece.increment.masked_fill_(piece.missing, 0);
      at += static_cast<std::size_t>(g.numel());
      pieces_.push_back(std::move(piece));
    }
    size_ = at;
    norm_ = norm([](const Piece& p) { return p.increment; });
    info_.increment_norm = norm_.get();
  }

  void operator()(const ProximalPoint& method) {
    if (method.tau == kAutomaticNumber) return automatic(method);
    on(method.distance, method.tau, false,
       [](const auto& d, double tau, const auto& norm) { return prox_step(d, tau, norm); });
  }
  void operator()(const Subgradient& method) {
    on(method.distance, method.tau, true,
       [](const auto& d, double tau, const auto& norm) { return subgradient_step(d, tau, norm); });
  }
  void operator()(const ClippedMean& method) {
    const RadialStep clip =
        clip_to(method.clip, norm([](const Piece& p) {
                  return p.missing.defined() ? p.g.masked_fill(p.missing, 0) : p.g;
                }));
    const double f = clip.factor.f * (1 - method.beta);
    for (const Piece& p : pieces_) set(p, p.before * method.beta + (p.g * clip.factor.s) * f);
    finish(1 - clip.share * (1 - method.beta), clip.clipped ? 1 : 0);
  }

  // w <- shrink w - eta m.
  void follow() const {
    for (const Piece& p : pieces_) {
      const Slot& slot = *p.slot;
      const Tensor m = slot.state->m;
      const Tensor w = slot.w.to(m.scalar_type()) * slot.shrink - m * slot.eta;
      slot.w.copy_(w);
    }
  }
  [[nodiscard]] const StepInfo& info() const { return info_; }

 private:
  // As Step::automatic() of core/step.cc.
  void automatic(const ProximalPoint& method) {
    const AutomaticTau& how = method.automatic;
    double size = automatic_size_;
    if (!std::holds_alternative<L1>(method.distance.variant())) {
      size = next_size(how, size, norm_, unbounded_);
      if (size == 0) return radial({{0, 1}, 0, false}, false);
      const auto* const huber = std::get_if<Huber>(&method.distance.variant());
      info_.tau = huber != nullptr ? how.theta : tau_at(how, size);
      radial(huber != nullptr ? prox_step(huber_at(*huber, size), info_.tau, norm_)
                              : prox_step(L2{}, info_.tau, norm_),
             true);
    } else {
      if (size == 0) size = first_of_components(how);
      if (size == 0) return radial({{0, 1}, 0, false}, false);
      std::int64_t within = 0, moving = 0;
      for (const Piece& p : pieces_) {
        const Tensor moves = p.increment.ne(0);
        moving += moves.sum().item<std::int64_t>();
        within += (moves & (p.increment.abs() <= size)).sum().item<std::int64_t>();
      }
      info_.tau = tau_at(how, size);
      componentwise(info_.tau, false);
      size = next_size(how, size, static_cast<std::uint64_t>(within),
                       static_cast<std::uint64_t>(moving));
    }
    automatic_size_ = info_.size = size;
  }

  [[nodiscard]] double first_of_components(const AutomaticTau& how) const {
    std::vector<Tensor> parts;
    for (const Piece& p : pieces_) parts.push_back(p.increment.to(at::kCPU).flatten());
    const Tensor all = at::cat(parts);
    const auto of = [&]<class T>(T*) {
      return first_size(how,
                        std::span<T>(all.data_ptr<T>(), static_cast<std::size_t>(all.numel())));
    };
    return all.scalar_type() == at::kDouble ? of(static_cast<double*>(nullptr))
                                            : of(static_cast<float*>(nullptr));
  }

  template <class RadialFactor>
  void on(const AnyDistance& distance, double tau, bool subgradient, const RadialFactor& factor) {
    info_.tau = tau;
    const kernels::ScaledNorm& norm = norm_;
    std::visit(
        [&]<class D>(const D& d) {
          if constexpr (std::is_same_v<D, Squared>) {
            radial(factor(d, tau, norm), false);
          } else if constexpr (std::is_same_v<D, L2> || std::is_same_v<D, Huber>) {
            radial(factor(d, tau, norm), true);
          } else if constexpr (std::is_same_v<D, L1>) {
            componentwise(tau, subgradient);
          } else if constexpr (std::is_same_v<D, Lp>) {
            if (d.p() == 1) return componentwise(tau, subgradient);
            if (d.p() == 2) return radial(factor(L2{}, tau, norm), true);
            general(distance, tau, subgradient);
          } else {
            general(distance, tau, subgradient);
          }
        },
        distance.variant());
  }

  // m <- m + f v, v scaled where it would overflow.
  void radial(const RadialStep& step, bool clips) {
    const double f = step.factor.f, s = step.factor.s;
    for (const Piece& p : pieces_) {
      const Tensor v = s == 1 ? p.increment : (p.g * s - p.before * s) * p.increment.ne(0);
      set(p, step.share == 1 ? p.g : p.before + v * f);
    }
    finish(1 - step.share, clips && step.clipped ? 1 : 0);
  }

  void componentwise(double tau, bool subgradient) {
    std::int64_t clipped = 0;
    for (Piece& p : pieces_) {
      clipped += (p.increment.abs() > tau).sum().item<std::int64_t>();
      const Tensor next = subgradient
                              ? p.before + p.increment.sign() * tau
                              : at::minimum(at::maximum(p.g, p.before - tau), p.before + tau);
      p.increment = next - p.before;
      if (p.missing.defined()) p.increment.masked_fill_(p.missing, 0);
      set(p, next);
    }
    const double moved = norm([](const Piece& p) { return p.increment; }).get();
    const bool whole = clipped == 0 && !subgradient;
    finish(whole || info_.increment_norm == 0 ? 0 : 1 - moved / info_.increment_norm,
           size_ == 0 ? 0 : static_cast<double>(clipped) / static_cast<double>(size_));
  }

  // Other distances see the whole vector, on the CPU and in double.
  void general(const AnyDistance& distance, double tau, bool subgradient) {
    std::vector<Tensor> parts;
    for (const Piece& p : pieces_) parts.push_back(p.increment.to(at::kCPU, at::kDouble).flatten());
    Tensor v = at::cat(parts);
    const std::span<double> all(v.data_ptr<double>(), static_cast<std::size_t>(v.numel()));
    const std::span<const double> in = all;
    const auto* lp = std::get_if<Lp>(&distance.variant());
    if (lp != nullptr && !subgradient) {
      project_ball<double>(lp->q(), tau, in, all);
    } else if (subgradient) {
      Tensor x = v.neg();
      const std::span<double> at_x(x.data_ptr<double>(), all.size());
      distance.subgradient(std::span<const double>(at_x), at_x);
      v = x * -tau;
    } else {
      Tensor x = v.neg();
      const std::span<double> at_x(x.data_ptr<double>(), all.size());
      distance.prox(tau, std::span<const double>(at_x), at_x);
      v = v + x;
    }
    std::int64_t at = 0;
    for (Piece& p : pieces_) {
      const Tensor step = v.narrow(0, at, p.increment.numel()).view(p.increment.sizes());
      set(p, p.before + step.to(p.before.options()));
      at += p.increment.numel();
    }
    const double moved = v.norm().item<double>();
    const double kept = info_.increment_norm > 0 ? 1 - moved / info_.increment_norm : 0;
    finish(kept, kept > 1e-12 ? 1 : 0);
  }

  // m becomes `next`, but for components without an observation; kept finite.
  static void set(const Piece& p, const Tensor& next) {
    const double max = p.before.scalar_type() == at::kDouble ? std::numeric_limits<double>::max()
                                                             : std::numeric_limits<float>::max();
    Tensor result = next.clamp(-max, max);
    if (p.missing.defined()) result = at::where(p.missing, p.before, result);
    p.slot->state->m.copy_(result);
  }

  // |x|_2, scaled by a power of two where squares would leave the range.
  template <class Of>
  [[nodiscard]] kernels::ScaledNorm norm(const Of& of) const {
    double largest = 0, sum = 0;
    for (const Piece& p : pieces_)
      if (p.g.numel() > 0) largest = std::max(largest, of(p).abs().max().template item<double>());
    if (largest == 0) return {0, 1};
    const double scale = largest > kernels::kBig     ? kernels::kShrink
                         : largest < kernels::kSmall ? kernels::kGrow
                                                     : 1;
    for (const Piece& p : pieces_)
      sum += (of(p).to(at::kDouble) * scale).square().sum().template item<double>();
    return {std::sqrt(sum), scale};
  }

  void finish(double kept, double clipped_share) {
    info_.effective_beta = info_.increment_norm > 0 ? kept : 0;
    info_.clipped_share = clipped_share;
  }

  double& automatic_size_;  // S of tau = auto
  bool unbounded_ = false;  // does g have an infinite component?
  std::vector<Piece> pieces_;
  std::size_t size_ = 0;
  kernels::ScaledNorm norm_;
  StepInfo info_;
};

}  // namespace

StepInfo aten_step(const OnlineMethod& method, Start start, NonFinite policy, const Unit& unit,
                   bool keeps_w, double& size) {
  AtenStep step(start, policy, unit, size);
  std::visit(step, method);
  if (!keeps_w) step.follow();
  return step.info();
}

void aten_adaptive_step(const AdaptiveGradient& method, const Unit& unit) {
  for (const Slot& slot : unit.slots) {
    const Tensor m = slot.state->m, v = slot.state->v;
    const auto type = m.scalar_type();
    const double t = static_cast<double>(slot.state->steps);
    const double first = 1 - std::pow(method.beta1, t), second = 1 - std::pow(method.beta2, t);
    const double max = type == at::kDouble ? std::numeric_limits<double>::max()
                                           : std::numeric_limits<float>::max();
    const Tensor w = slot.w.to(type);
    Tensor g = slot.g.to(type);
    if (slot.decay != 0) g = g + w * slot.decay;
    const Tensor seen = g.abs().clamp_max(std::sqrt(max) / 2);
    v.copy_(at::where(at::isnan(g), v, v * method.beta2 + seen * seen * (1 - method.beta2)));
    const Tensor size = v.sqrt() / std::sqrt(second) + method.epsilon;
    slot.w.copy_(w * slot.shrink - m * (slot.eta / first) / size);
  }
}

// As the kernel of kernels/cut_adapt.cc.
StepInfo aten_cut_step(const AdaptiveGradient& method, NonFinite policy, const Unit& unit) {
  const auto taken_of = [](const Slot& slot) {
    const auto type = slot.state->m.scalar_type();
    const Tensor g = slot.g.to(type);
    return slot.decay != 0 ? g + slot.w.to(type) * slot.decay : g;
  };
  StepInfo info;
  std::size_t total = 0;
  for (const Slot& slot : unit.slots) {
    const Tensor fine = at::isfinite(taken_of(slot));
    const auto bad = static_cast<std::size_t>(fine.numel() - fine.sum().item<std::int64_t>());
    if (bad > 0 && policy == NonFinite::reject) {
      const auto first = fine.logical_not().flatten().nonzero()[0].item<std::int64_t>();
      throw NonFiniteInput("a component is not finite.", total + static_cast<std::size_t>(first));
    }
    info.non_finite += bad;
    total += static_cast<std::size_t>(slot.w.numel());
  }
  double increment = 0, taken = 0;
  std::int64_t clipped = 0;
  for (const Slot& slot : unit.slots) {
    const Tensor m = slot.state->m, v = slot.state->v;
    const auto type = m.scalar_type();
    const double t = static_cast<double>(slot.state->steps) + 1;
    const double first = 1 - std::pow(method.beta1, t), second = 1 - std::pow(method.beta2, t);
    const double before = t > 1 ? 1 - std::pow(method.beta2, t - 1) : 1;
    const double most = std::sqrt(type == at::kDouble ? std::numeric_limits<double>::max()
                                                      : std::numeric_limits<float>::max()) /
                        2;
    const Tensor w = slot.w.to(type), g = taken_of(slot), missing = at::isnan(g);
    const Tensor bound = at::where(v.eq(0), at::full_like(v, most),
                                   (v.sqrt() / std::sqrt(before) * method.cut).clamp_max(most));
    const Tensor whole = at::where(missing, at::zeros_like(m), g - m);
    const Tensor cut = at::minimum(at::maximum(whole, -bound), bound);
    clipped += whole.ne(cut).sum().item<std::int64_t>();
    increment += whole.clamp(-most, most).to(at::kDouble).square().sum().item<double>();
    taken += cut.to(at::kDouble).square().sum().item<double>();
    const Tensor size = (m + cut).abs().clamp_max(most);
    v.copy_(at::where(missing, v, v * method.beta2 + size * size * (1 - method.beta2)));
    m.add_(cut, 1 - method.beta1);
    const Tensor scale = v.sqrt() / std::sqrt(second) + method.epsilon;
    slot.w.copy_(w * slot.shrink - m * (slot.eta / first) / scale);
  }
  info.increment_norm = std::sqrt(increment);
  if (increment > 0)
    info.effective_beta = 1 - (1 - method.beta1) * std::sqrt(taken) / info.increment_norm;
  if (total > 0) info.clipped_share = static_cast<double>(clipped) / static_cast<double>(total);
  return info;
}

}  // namespace medgrad::libtorch
