// One online step over blocks of memory: which passes a method needs, and what they add up to.
#include "kernels/step.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>
#include <type_traits>

#include "core/automatic.h"
#include "core/lanes.h"
#include "core/radial.h"
#include "kernels/short_step.h"
#include "medgrad/error.h"
#include "medgrad/estimator.h"
#include "medgrad/thread_pool.h"

namespace medgrad {
namespace {

using kernels::Mode;
using kernels::Run;
using kernels::ScaledNorm;
using kernels::Seen;
using kernels::Tally;

// A tally with its lanes summed up; what passes over chunks are combined from.
struct Totals {
  kernels::Squares squares;
  double moved;
  std::uint64_t clipped, within, moving, nan, inf, out_of_range;

  Totals() = default;  // leaves it uninitialised: an array of them sits on the stack of every pass
  explicit Totals(const Tally& tally)
      : squares(tally.increment.sum()),
        moved(kernels::sum_lanes(tally.moved)),
        clipped(tally.clipped),
        within(tally.within),
        moving(tally.moving),
        nan(tally.nan),
        inf(tally.inf),
        out_of_range(tally.out_of_range) {}
  void add(const Totals& o) {
    squares += o.squares;
    moved += o.moved;
    clipped += o.clipped;
    within += o.within;
    moving += o.moving;
    nan += o.nan;
    inf += o.inf;
    out_of_range += o.out_of_range;
  }
  [[nodiscard]] std::size_t non_finite() const { return static_cast<std::size_t>(nan + inf); }
};

template <Real T, class M = T>
class Step {
 public:
  Step(std::span<const Block<T, M>> blocks, const StepOptions& options, Workspace<T>& workspace,
       double* automatic_size, const Dither& dither = {})
      : blocks_(blocks),
        random_(dither),
        options_(options),
        mode_{.cold = options.start == Start::cold},
        workspace_(workspace),
        automatic_size_(automatic_size) {
    for (const Block<T, M>& block : blocks) {
      assert(block.g.size() == block.m.size());
      assert(block.w.empty() || block.w.size() == block.m.size());
      size_ += block.g.size();
    }
    short_ = std::is_same_v<M, T> && blocks.size() == 1 && size_ <= kernels::kShort &&
             blocks[0].shrink == 1 && blocks[0].decay == 0;
  }

  StepInfo operator()(const ProximalPoint& method) {
    if (method.tau == kAutomaticNumber) return automatic(method);
    return on(method.distance, method.tau, [](const auto& d, double tau, const ScaledNorm& norm) {
      return prox_step(d, tau, norm);
    });
  }

  StepInfo operator()(const Subgradient& method) {
    subgradient_ = true;
    return on(method.distance, method.tau, [](const auto& d, double tau, const ScaledNorm& norm) {
      return subgradient_step(d, tau, norm);
    });
  }

  // Two passes: |g| decides the factor, then m <- beta m + (1 - beta) f g.
  StepInfo operator()(const ClippedMean& method) {
    const Mode cold{true};
    if (const Seen at_g = short_ ? kernels::measure_short(only_run(), cold) : Seen{};
        at_g.ordinary) {
      const RadialStep clip = share_of_clip(method, {std::sqrt(at_g.squares), 1});
      if (kernels::representable<T>(clip.factor)) {
        const Seen done = kernels::mix_short(only_run(), mode_, method.beta, clip.factor.f);
        if (done.ordinary) return info(done, 1 - clip.share, clip.clipped ? 1 : 0);
      }
    }
    const Totals seen =
        pass([&](const Run<T, M>& run, Tally& t) { kernels::measure(run, cold, t); });
    reject_if(seen);
    const RadialStep clip = share_of_clip(method, seen.squares.norm());
    const Totals done =
        pass([&](const Run<T, M>& run,
                 Tally& t) { kernels::mix(run, mode_, method.beta, clip.factor, t); },
             true);
    return info(done, 1 - clip.share, clip.clipped ? 1 : 0);
  }

 private:
  // (1 - beta) min(1, c/|g|).
  static RadialStep share_of_clip(const ClippedMean& method, const ScaledNorm& norm) {
    RadialStep clip = clip_to(method.clip, norm);
    clip.factor.f *= 1 - method.beta;
    clip.share *= 1 - method.beta;
    return clip;
  }

  // tau from the size of the increments, which a step changes where it takes place.
  StepInfo automatic(const ProximalPoint& method) {
    if (automatic_size_ == nullptr)
      throw Error("tau = auto remembers a size from step to step, and there is no place for it.");
    const AutomaticTau& how = method.automatic;
    if (std::holds_alternative<L1>(method.distance.variant())) return counted(how);
    const double before = *automatic_size_;
    double size = before, tau = 0;
    StepInfo info = radial([&](const ScaledNorm& norm, bool unbounded) {
      size = next_size(how, before, norm, unbounded);
      if (size == 0) return RadialStep{{0, 1}, 0, false};  // nothing to go by: m stays
      const auto* const huber = std::get_if<Huber>(&method.distance.variant());
      tau = huber != nullptr ? how.theta : tau_at(how, size);
      return huber != nullptr ? prox_step(huber_at(*huber, size), tau, norm)
                              : prox_step(L2{}, tau, norm);
    });
    *automatic_size_ = info.size = size;
    info.tau = tau;
    return info;
  }

  // Picks the kind of step by the kind of distance.
  template <class RadialFactor>
  StepInfo on(const AnyDistance& distance, double tau, const RadialFactor& factor) {
    StepInfo info = on_any(distance, tau, factor);
    info.tau = tau;
    return info;
  }
  template <class RadialFactor>
  StepInfo on_any(const AnyDistance& distance, double tau, const RadialFactor& factor) {
    return std::visit(
        [&]<class D>(const D& d) {
          if constexpr (std::is_same_v<D, Squared>) {
            return constant(factor(d, tau, ScaledNorm{}));
          } else if constexpr (std::is_same_v<D, L1>) {
            return componentwise(tau);
          } else if constexpr (std::is_same_v<D, L2> || std::is_same_v<D, Huber>) {
            return radial([&](const ScaledNorm& norm, bool) { return factor(d, tau, norm); });
          } else if constexpr (std::is_same_v<D, Lp>) {
            if (d.p() == 1) return componentwise(tau);
            if (d.p() == 2) {
              return radial([&](const ScaledNorm& norm, bool) { return factor(L2{}, tau, norm); });
            }
            return general(distance, d.q(), tau);
          } else {
            return general(distance, 0, tau);
          }
        },
        distance.variant());
  }

  // m <- m + f v with a factor known beforehand: one pass.
  StepInfo constant(const RadialStep& step) {
    if (short_ && kernels::representable<T>(step.factor)) {
      const Seen done = kernels::relax_short(only_run(), mode_, step.factor.f);
      if (done.ordinary) return info(done, 1 - step.share, 0);
    }
    reject_by_scan();
    const Totals done =
        pass([&](const Run<T, M>& run, Tally& t) { kernels::relax(run, mode_, step.factor, &t); });
    return info(done, 1 - step.share, 0);
  }

  // m <- m + f v with a factor that depends on |v|: two passes. factor_of(|v|, whether g has an
  // infinite component) may be asked twice.
  template <class FactorOf>
  StepInfo radial(const FactorOf& factor_of) {
    if (const Seen seen = short_ ? kernels::measure_short(only_run(), mode_) : Seen{};
        seen.ordinary) {
      const double norm = std::sqrt(seen.squares);
      const RadialStep step = factor_of(ScaledNorm{norm, 1}, false);
      if (kernels::representable<T>(step.factor)) {
        kernels::relax_short(only_run(), mode_, step.factor.f, true);
        return info(norm, 1 - step.share, step.clipped ? 1 : 0);
      }
    }
    const Totals seen =
        pass([&](const Run<T, M>& run, Tally& t) { kernels::measure(run, mode_, t); });
    reject_if(seen);
    const RadialStep step = factor_of(seen.squares.norm(), seen.inf > 0);
    const Mode known{mode_.cold, seen.out_of_range == 0};
    pass([&](const Run<T, M>& run, Tally&) { kernels::relax(run, known, step.factor, nullptr); },
         true);
    return info(seen, 1 - step.share, step.clipped ? 1 : 0);
  }

  // L1: every component by itself, one pass.
  StepInfo componentwise(double tau) {
    if (short_ && kernels::ordinary_tau<T>(tau)) {
      const Seen done = subgradient_ ? kernels::sign_short(only_run(), mode_, tau)
                                     : kernels::clamp_short(only_run(), mode_, tau);
      if (done.ordinary) {
        return moved_by(tau, {std::sqrt(done.squares), 1}, done.moved, done.clipped, 0);
      }
    }
    reject_by_scan();
    const Totals done = pass([&](const Run<T, M>& run, Tally& t) {
      subgradient_ ? kernels::sign(run, mode_, tau, t) : kernels::clamp(run, mode_, tau, t);
    });
    return moved_by(tau, done.squares.norm(), done.moved, done.clipped, done.non_finite());
  }

  // L1 with tau = auto: what there is to count is counted in the one pass.
  StepInfo counted(const AutomaticTau& how) {
    reject_by_scan();
    const double size = *automatic_size_ > 0 ? *automatic_size_ : first_of_components(how);
    if (size == 0) {  // nothing to go by: m stays
      const Totals done = pass([&](const Run<T, M>& run, Tally& t) {
        kernels::relax(run, mode_, {0, 1}, &t);
      });
      return info(done, 1, 0);
    }
    const double tau = tau_at(how, size);
    const Totals done = pass([&](const Run<T, M>& run, Tally& t) {
      kernels::clamp_and_count(run, mode_, tau, size, t);
    });
    StepInfo info = moved_by(tau, done.squares.norm(), done.moved, done.clipped, done.non_finite());
    *automatic_size_ = info.size = next_size(how, size, done.within, done.moving);
    info.tau = tau;
    return info;
  }

  // Once in a run: memory for the increments is taken and given back.
  double first_of_components(const AutomaticTau& how) {
    LargeVector<T> v(size_);
    each_run([&](const Run<T, M>& run, std::size_t at) { kernels::increment(run, mode_, &v[at]); });
    return first_size(how, std::span<T>(v));
  }

  // `moved` is the sum of ((m_new - m) move_unit)^2, `clipped` counts components.
  [[nodiscard]] StepInfo moved_by(double tau, const ScaledNorm& norm, double moved,
                                  std::uint64_t clipped, std::size_t non_finite) const {
    const bool whole = clipped == 0 && !subgradient_;
    const ScaledNorm step{std::sqrt(moved), kernels::move_unit<T>(tau)};
    const double kept = whole ? 0 : 1 - quotient(1, step, norm);
    const double share = size_ == 0 ? 0 : static_cast<double>(clipped) / static_cast<double>(size_);
    return info(norm.get(), kept, share, non_finite);
  }

  // factor a / b of two norms, 0 where a is: they and their quotients may be far outside the range
  // where factor a / b is inside.
  [[nodiscard]] static double quotient(double factor, const ScaledNorm& a, const ScaledNorm& b) {
    if (a.value == 0) return 0;
    int of_factor = 0, of_a = 0, of_b = 0;
    const double mantissa =
        std::frexp(factor, &of_factor) * std::frexp(a.value, &of_a) / std::frexp(b.value, &of_b);
    return std::ldexp(mantissa,
                      of_factor + of_a - of_b + std::ilogb(b.scale) - std::ilogb(a.scale));
  }

  // Anything else: the increment is gathered, transformed as a whole and added. For norms through
  // the ball view, m + Proj_{B_q(0,tau)}(g - m), which is exact where g is huge; for a user's
  // distance through its prox, m + (v + prox(-v)) with v = g - m.
  StepInfo general(const AnyDistance& distance, double q, double tau) {
    const Totals seen =
        pass([&](const Run<T, M>& run, Tally& t) { kernels::measure(run, mode_, t); });
    reject_if(seen);
    // A user's operator also needs its argument, beside the increment.
    const std::span<T> space = workspace_.take(q > 0 ? size_ : 2 * size_);
    const std::span<T> v = space.first(size_);
    each_run([&](const Run<T, M>& run, std::size_t at) { kernels::increment(run, mode_, &v[at]); });
    if (q > 0) {
      transform_by_norm(distance, q, tau, v);
    } else {
      transform_by_user(distance, tau, v, space.last(size_));
    }
    // tau times a subgradient may be more than the element type holds, and the new m less.
    const double factor = subgradient_ ? tau : 1;
    const ScaledNorm moved = scaled_norm(std::span<const T>(v));
    each_run([&](const Run<T, M>& run, std::size_t at) {
      kernels::advance(run, mode_, factor, &v[at]);
    });
    const ScaledNorm norm = seen.squares.norm();
    const double kept = norm.value > 0 ? 1 - quotient(factor, moved, norm) : 0;
    return info(seen, kept, kept > 1e-12 ? 1 : 0);
  }

  // v <- Proj_{B_q(0,tau)}(v), or a subgradient of the norm at v.
  void transform_by_norm(const AnyDistance& distance, double q, double tau, std::span<T> v) const {
    const std::span<const T> in = v;
    if (!subgradient_) return project_ball(q, tau, in, v);
    distance.subgradient(in, v);
  }

  // v <- v + prox_{tau D}(-v), or minus a subgradient at -v.
  void transform_by_user(const AnyDistance& distance, double tau, std::span<T> v,
                         std::span<T> x) const {
    const std::span<const T> in = x;
    for (std::size_t i = 0; i < v.size(); ++i) x[i] = -v[i];
    if (subgradient_) {
      distance.subgradient(in, x);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = -x[i];
    } else {
      distance.prox(tau, in, x);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] += x[i];
    }
  }

  // A short vector in one piece, as it is nearly always ordinary, has kernels of its own.
  [[nodiscard]] Run<T> only_run() const {
    if constexpr (std::is_same_v<M, T>) {
      return run_of(blocks_.front(), 0, size_, 0, 0);
    } else {
      return {};  // never asked for
    }
  }

  // Runs the kernel over all blocks, cut into chunks of the concatenation, and adds up the tallies
  // in the order of the chunks. A second pass goes backward: it finds the end of the first in the
  // cache.
  template <class Kernel>
  Totals pass(const Kernel& kernel, bool backward = false) {
    const Chunks chunks = chunks_for(size_);
    if (chunks.count == 1) {
      Tally tally;
      runs_of(0, size_, [&](const Run<T, M>& run, std::size_t) { kernel(run, tally); });
      return Totals(tally);
    }
    Totals partial[Chunks::kMaxChunks];
    for_each(options_.pool, chunks.count, [&](std::size_t i) {
      const std::size_t c = backward ? chunks.count - 1 - i : i;
      Tally tally;
      runs_of(chunks.begin(c), chunks.end(c),
              [&](const Run<T, M>& run, std::size_t) { kernel(run, tally); });
      partial[c] = Totals(tally);
    });
    Totals totals{};
    for (std::size_t c = 0; c < chunks.count; ++c) totals.add(partial[c]);
    return totals;
  }

  template <class Use>
  void each_run(const Use& use) {
    const Chunks chunks = chunks_for(size_);
    for_each(options_.pool, chunks.count,
             [&](std::size_t c) { runs_of(chunks.begin(c), chunks.end(c), use); });
  }

  // n components of a block from its component `at` on, which is at `place` in all of them.
  [[nodiscard]] Run<T, M> run_of(const Block<T, M>& block, std::size_t at, std::size_t n,
                                 std::size_t lane, std::size_t place) const {
    return {block.m.data() + at,
            block.g.data() + at,
            block.w.empty() ? nullptr : block.w.data() + at,
            n,
            block.eta,
            block.shrink,
            block.decay,
            lane,
            random_,
            static_cast<std::uint32_t>(place)};
  }

  // The contiguous runs that make up [begin, end) of the concatenation, with their position in it.
  template <class Use>
  void runs_of(std::size_t begin, std::size_t end, const Use& use) const {
    std::size_t start = 0;
    for (const Block<T, M>& block : blocks_) {
      const std::size_t stop = start + block.g.size();
      const std::size_t from = std::max(begin, start), to = std::min(end, stop);
      if (from < to) {
        use(run_of(block, from - start, to - from, (from - begin) % kernels::kLanes, from), from);
      }
      if (stop >= end) break;
      start = stop;
    }
  }

  // One-pass methods have to look first where non-finite input is an error: m must stay as it was.
  // With weight decay, w is input too.
  void reject_by_scan() const {
    if (options_.non_finite == NonFinite::robust) return;
    const Chunks chunks = chunks_for(size_);
    for_each(options_.pool, chunks.count, [&](std::size_t c) {
      runs_of(chunks.begin(c), chunks.end(c), [&](const Run<T, M>& run, std::size_t at) {
        for (const T* const x : {run.g, static_cast<const T*>(run.decays() ? run.w : nullptr)}) {
          const std::size_t i = x == nullptr ? run.n : kernels::first_non_finite(x, run.n);
          if (i < run.n) refuse(at + i, x[i]);
        }
      });
    });
  }

  void reject_if(const Totals& seen) const {
    if (seen.non_finite() > 0) reject_by_scan();
  }

  [[noreturn]] static void refuse(std::size_t index, T value) {
    const char* const what = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    throw NonFiniteInput(
        fmt::format("component {} is {}; only finite numbers are taken unless non-finite input is "
                    "set to robust.",
                    index + 1, what),
        index);
  }

  [[nodiscard]] static StepInfo info(double norm, double kept, double clipped_share,
                                     std::size_t non_finite = 0) {
    return {norm, norm > 0 ? kept : 0, clipped_share, non_finite};
  }
  [[nodiscard]] static StepInfo info(const Seen& seen, double kept, double clipped_share) {
    return info(std::sqrt(seen.squares), kept, clipped_share);
  }
  [[nodiscard]] static StepInfo info(const Totals& totals, double kept, double clipped_share) {
    return info(totals.squares.norm().get(), kept, clipped_share, totals.non_finite());
  }

  std::span<const Block<T, M>> blocks_;
  kernels::RandomBits random_;  // for an m in bfloat16
  const StepOptions& options_;
  Mode mode_;
  Workspace<T>& workspace_;
  double* automatic_size_;  // S of tau = auto
  std::size_t size_ = 0;
  bool short_ = false;
  bool subgradient_ = false;
};

}  // namespace

template <Real T>
StepInfo step(const OnlineMethod& method, std::span<const Block<T>> blocks,
              const StepOptions& options, Workspace<T>& workspace, double* size) {
  Step<T> run(blocks, options, workspace, size);
  return std::visit(run, method);
}

StepInfo narrow_step(const OnlineMethod& method, std::span<const NarrowBlock> blocks,
                     const Dither& dither, const StepOptions& options, Workspace<float>& workspace,
                     double* size) {
  Step<float, BFloat16> run(blocks, options, workspace, size, dither);
  return std::visit(run, method);
}

template StepInfo step(const OnlineMethod&, std::span<const Block<float>>, const StepOptions&,
                       Workspace<float>&, double*);
template StepInfo step(const OnlineMethod&, std::span<const Block<double>>, const StepOptions&,
                       Workspace<double>&, double*);

}  // namespace medgrad
