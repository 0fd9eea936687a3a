// The step kernels one by one, with parameters that make each of them do all that it can.
#pragma once

#include "kernels/step.h"

namespace medgrad::kernels {

enum class Kernel { measure, relax, far, mix, clamp, clamp_and_count, sign };
inline constexpr Kernel kAll[] = {Kernel::measure, Kernel::relax, Kernel::far,
                                  Kernel::mix,     Kernel::clamp, Kernel::clamp_and_count,
                                  Kernel::sign};

template <class T, class M>
void run_simd(Kernel kernel, const Run<T, M>& run, Mode mode, Tally& tally) {
  switch (kernel) {
    case Kernel::measure:
      return measure(run, mode, tally);
    case Kernel::relax:
      return relax(run, mode, {0.3, 1}, &tally);
    case Kernel::far:
      return relax(run, mode, {1.5, 1}, &tally);
    case Kernel::mix:
      return mix(run, mode, 0.9, {0.1, 1}, tally);
    case Kernel::clamp:
      return clamp(run, mode, 0.5, tally);
    case Kernel::clamp_and_count:
      return clamp_and_count(run, mode, 0.5, 1.25, tally);
    case Kernel::sign:
      return sign(run, mode, 0.5, tally);
  }
}

}  // namespace medgrad::kernels
