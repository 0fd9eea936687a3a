// A unit's step by ATen operations: for tensors of other types, strides and devices.
//
// The formulas are those of core/step.cc. Norms are accumulated in double, scaled by the largest
// component: float sums of libtorch lose three digits on millions of components.
#include <algorithm>
#include <cmath>

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
  AtenStep(Start start, NonFinite policy, const Unit& unit) {
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
  template <class RadialFactor>
  void on(const AnyDistance& distance, double tau, bool subgradient, const RadialFactor& factor) {
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

  std::vector<Piece> pieces_;
  std::size_t size_ = 0;
  kernels::ScaledNorm norm_;
  StepInfo info_;
};

}  // namespace

StepInfo aten_step(const OnlineMethod& method, Start start, NonFinite policy, const Unit& unit,
                   bool keeps_w) {
  AtenStep step(start, policy, unit);
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

}  // namespace medgrad::libtorch
