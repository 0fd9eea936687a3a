// The integrals of zolotarev.h over the angle.
#pragma once

#include "noise/angles.h"

namespace medgrad::noise {

// Where g - floor = 1, on the axis s = log(psi / phi) of angles.h.
struct Center {
  double s = 0;
  double width = 1;   // 1 / |d log(g - floor) / ds| there
  double bottom = 0;  // the smallest g: not 0 on the light side of |beta| = 1
  double floor = 0;   // the same, or 0 where it makes no difference to the scale
};

[[nodiscard]] Center find_center(const Angles& angles, const Place& place);

// The logarithm of int g e^{-g} dpsi, int psi e^{-g} |dg| or int phi e^{-g} |dg|.
[[nodiscard]] double log_integral(const Angles& angles, const Place& place, const Center& center,
                                  Weight weight);

}  // namespace medgrad::noise
