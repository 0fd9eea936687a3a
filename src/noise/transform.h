// The Chambers-Mallows-Stuck transform: a stable variable from an angle and an exponential.
//
// U uniform on (-pi/2, pi/2), W ~ Exp(1), delta = 1 - alpha, t = beta tan(pi alpha/2). The usual
// formula (Weron 1996) gives the standard S1 variable Z; its powers of cos(alpha theta_0) cancel:
//
//     P = cos(delta U) + t sin(delta U),     L = delta/alpha log(P / (W cos U)),
//     Z = B e^L,     B = P tan U + t cos(delta U) - sin(delta U).
//
// The S0 variable is X = Z - t. Around alpha = 1, where t is infinite, with E = e^L - 1:
//
//     X = (1 + E) (P tan U - sin(delta U) - 2 t sin^2(delta U / 2)) + t E,
//
// in which t only ever multiplies what vanishes with delta, computed as such: no cancellation, and
// alpha = 1 is the limit itself. Three more things keep it exact at the ends of the angle:
//
// - By symmetry (U, beta -> -U, -beta; X -> -X) only U > 0 counts, with beta' = beta sign(U), and U
//   is held by v = 1/2 - |U|/pi, its distance from the end: cos U = sin(pi v).
// - P is a sum of non-negative terms. For beta' < 0 it is the mean of its values at beta' = 0 and
//   -1, the latter being sin(|delta| pi v) / sin(|delta| pi/2).
// - Far from alpha = 1, cos(delta U) = sin(pi/2 (1 - |delta|) + |delta| pi v).
//
// One-sided variables in S1 (alpha < 1, |beta| = 1) are positive to the last bit by Kanter's form:
// with psi = U + pi/2 and K = sin(alpha psi)/sin psi (sin(delta psi) / (W sin psi))^{delta/alpha},
// Z = cos(pi alpha/2)^{-1/alpha} K. Its square root is the radius of elliptical vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "medgrad/stable.h"
#include "noise/source.h"

namespace medgrad::noise {

// The constants of a transform, in double; floats are made from them.
struct StablePlan {
  enum class Kind : std::uint8_t { cauchy, gaussian, near_one, far, positive, positive_root };
  Kind kind = Kind::gaussian;
  double beta = 0;
  double delta = 0;                // |1 - alpha|, never 0
  double sign = 1;                 // of 1 - alpha
  double gap = 0;                  // 1 - delta
  double ratio = 0;                // (1 - alpha) / alpha
  double cotangent = 0;            // |tan(pi alpha / 2)|
  double cosecant = 0;             // 1 / sin(pi delta / 2)
  double scale = 1, location = 0;  // applied last, to the standard variable of the kind
};

// What the kernels are called with.
template <class T>
struct DrawJob {
  Source source;
  std::uint64_t first;
  std::span<T> out;
};
template <class T>
struct GivenJob {
  std::span<const T> v, w;
  std::span<T> out;
};

[[nodiscard]] StablePlan plan_stable(const StableParameters& parameters);
// sqrt(A), A ~ S1(alpha/2, 1, 2 cos(pi alpha/4)^{2/alpha}, 0): the radius of X = sqrt(A) G.
// 0 < alpha < 2.
[[nodiscard]] StablePlan plan_radius(double alpha);

// Samples [first, first + out.size()) of a source. Always finite: what overflows saturates.
void draw_stable(const StablePlan& plan, const Source& source, std::uint64_t first,
                 std::span<double> out);
void draw_stable(const StablePlan& plan, const Source& source, std::uint64_t first,
                 std::span<float> out);

// The transform itself, at given angles and exponentials: |v| = 1/2 - |U|/pi in (0, 1/2], with the
// sign of U.
void transform_stable(const StablePlan& plan, std::span<const double> v, std::span<const double> w,
                      std::span<double> out);
void transform_stable(const StablePlan& plan, std::span<const float> v, std::span<const float> w,
                      std::span<float> out);

}  // namespace medgrad::noise
