// The step kernels component by component, in double: the reference that the SIMD kernels are
// tested against, and what they call for blocks that hold NaN, Inf or numbers near the ends of the
// range.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/step.h"

namespace medgrad::kernels {

template <class T>
[[nodiscard]] inline double finite(double x) {
  constexpr double kMax = std::numeric_limits<T>::max();
  return std::clamp(x, -kMax, kMax);
}

// What operations count, one component or many at a time.
struct Counts {
  std::size_t clipped = 0, within = 0, moving = 0;
  void add_to(Tally& tally) const {
    tally.clipped += clipped;
    tally.within += within;
    tally.moving += moving;
  }
};

// One component of each operation: the new m from m, a finite g and the operation's constants.
struct ScalarMeasure {
  static constexpr bool kMoves = false;
  [[nodiscard]] double operator()(double m, double, Counts&) const { return m; }
};

struct ScalarRelax {
  static constexpr bool kMoves = false;
  Factor factor;
  [[nodiscard]] double operator()(double m, double g, Counts&) const {
    const double f = factor.f, s = factor.s;
    if (f == 1 && s == 1) return g;
    // A large s comes with small increments, of vectors that may be large: those would overflow
    // first.
    const double v = s > 1 ? factor.t * (s * (g - m)) : s * g - s * m;
    if (!std::isfinite(v)) return (1 - f) * m + f * g;
    const double r = m + f * v;
    // Where only the product overflows, the sum may be back in the range.
    return std::isfinite(r) ? r : std::fma(f, v, m);
  }
};

struct ScalarMix {
  static constexpr bool kMoves = false;
  double keep;
  Factor factor;
  [[nodiscard]] double operator()(double m, double g, Counts&) const {
    return keep * m + factor.times(g);
  }
};

struct ScalarClamp {
  static constexpr bool kMoves = true;
  double tau;
  [[nodiscard]] double operator()(double m, double g, Counts& counts) const {
    const double r = std::min(std::max(g, m - tau), m + tau);
    counts.clipped += r != g ? 1 : 0;
    return r;
  }
};

struct ScalarClampAndCount {
  static constexpr bool kMoves = true;
  double tau, size;
  [[nodiscard]] double operator()(double m, double g, Counts& counts) const {
    counts.moving += g != m ? 1 : 0;
    counts.within += g != m && std::fabs(g - m) <= size ? 1 : 0;
    return ScalarClamp{tau}(m, g, counts);
  }
};

struct ScalarSign {
  static constexpr bool kMoves = true;
  double tau;
  [[nodiscard]] double operator()(double m, double g, Counts& counts) const {
    counts.clipped += std::fabs(g - m) > tau ? 1 : 0;
    return g == m ? m : m + std::copysign(tau, g - m);
  }
};

// What goes into a step as g.
template <class T, class M>
[[nodiscard]] inline T taken(const Run<T, M>& run, std::size_t i) {
  return run.decays() ? run.g[i] + static_cast<T>(run.decay) * run.w[i] : run.g[i];
}

// m becomes this finite number, and w <- shrink w - eta m.
template <class T, class M>
inline void put_and_follow(const Run<T, M>& run, std::size_t i, T m) {
  run.put(i, m);
  if (!run.steps()) return;
  run.w[i] = static_cast<T>(run.shrink) * run.w[i] - static_cast<T>(run.eta) * m;
}

// Runs `op` over n components that lie within kLanes lanes; moves are squared in this unit.
template <class T, class M, class Op>
void scalar_block(const Run<T, M>& run, Mode mode, const Op& op, bool measures, bool writes,
                  double unit, Tally& tally) {
  for (std::size_t i = 0; i < run.n; ++i) {
    const double m = mode.cold ? 0.0 : static_cast<double>(run.get(i));
    const double raw = static_cast<double>(taken(run, i));
    const std::size_t lane = run.lane + i;
    tally.out_of_range += std::isfinite(static_cast<T>(raw - m)) ? 0 : 1;
    double r = m;
    if (std::isnan(raw)) {
      ++tally.nan;
    } else {
      tally.inf += std::isinf(raw) ? 1 : 0;
      const double g = finite<T>(raw);
      Counts counts;
      r = finite<T>(op(m, g, counts));
      counts.add_to(tally);
      if (measures) tally.increment.add_difference(lane, g, m);
      if constexpr (Op::kMoves) {
        const double moved = (static_cast<double>(static_cast<T>(r)) - m) * unit;
        tally.moved[lane] += moved * moved;
      }
    }
    if (writes) put_and_follow(run, i, static_cast<T>(r));
  }
}

// The same over any number of components.
template <class T, class M, class Op>
void scalar_run(Run<T, M> run, Mode mode, const Op& op, bool measures, Tally& tally,
                double unit = 1) {
  while (run.n > 0) {
    Run<T, M> block = run;
    block.n = std::min(kLanes - run.lane, run.n);
    scalar_block(block, mode, op, measures, true, unit, tally);
    run = run.behind(block.n);
  }
}

}  // namespace medgrad::kernels
