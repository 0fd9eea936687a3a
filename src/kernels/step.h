// The inner loops of an online step, on one contiguous run of components.
//
// In all of them g is the new vector, m the tracked one (taken as 0 where `cold`), v = g - m the
// increment. A NaN in g leaves its component of m as it was, +-Inf counts as the largest finite
// number of its sign; both are counted. Whatever comes in, the m that is written is finite. Where w
// is given, g stands for g + decay w, and w <- shrink w - eta m follows in the same pass.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/bfloat16.h"
#include "kernels/squares.h"

namespace medgrad::kernels {

// m may be kept in another type M than the numbers of a step are computed in: as BFloat16, rounded
// at random, beside floats. w follows the m before it is rounded.
template <class T, class M = T>
struct Run {
  M* m;        // read unless cold, written by all but measure()
  const T* g;  // read
  T* w;        // read and written; nullptr for none
  std::size_t n;
  double eta = 0, shrink = 1;  // w is only read where eta = 0 and shrink = 1
  double decay = 0;
  // The lane of its first component. Runs that follow each other, each starting in the lane where
  // the last one ended, give the bits of a single one.
  std::size_t lane = 0;
  RandomBits random = {};   // what a BFloat16 is rounded with,
  std::uint32_t place = 0;  // the first component's being those at this place

  [[nodiscard]] bool steps() const { return w != nullptr && (eta != 0 || shrink != 1); }
  [[nodiscard]] bool decays() const { return w != nullptr && decay != 0; }

  // One component of m, and a finite number in its stead.
  [[nodiscard]] T get(std::size_t i) const {
    if constexpr (std::is_same_v<M, T>) {
      return m[i];
    } else {
      return m[i].get();
    }
  }
  void put(std::size_t i, T x) const {
    if constexpr (std::is_same_v<M, T>) {
      m[i] = x;
    } else {
      m[i] = rounded(x, random.at(place + static_cast<std::uint32_t>(i)));
    }
  }
  // What is left behind the first n components.
  [[nodiscard]] Run behind(std::size_t count) const {
    Run rest = *this;
    rest.m += count;
    rest.g += count;
    if (w != nullptr) rest.w += count;
    rest.n -= count;
    rest.lane = (lane + count) % kLanes;
    rest.place += static_cast<std::uint32_t>(count);
    return rest;
  }
};

struct Mode {
  bool cold = false;
  // A pass before has seen the same increments, all of which T holds: nobody has to look again.
  bool in_range = false;
};

// What a pass saw; passes over further runs add to it.
struct Tally {
  SquareLanes increment;      // v^2
  double moved[kLanes] = {};  // ((m_new - m) move_unit)^2, by clamp and sign only
  std::uint64_t clipped = 0;  // components whose increment was cut, by clamp and sign only
  std::uint64_t within = 0, moving = 0;  // those with 0 < |v| <= size and 0 < |v|, where asked for
  std::uint64_t nan = 0, inf = 0;
  std::uint64_t out_of_range = 0;  // components whose increment T does not hold
};

// A factor f s t on the increment, s and t powers of two: f * (t * (s*g - s*m)) is right even where
// f s t or g - m would overflow or underflow. (t is 1 unless even the largest power is too small.)
struct Factor {
  double f = 0, s = 1, t = 1;
  [[nodiscard]] double times(double x) const { return f * (t * (s * x)); }
};

// A tau that the element type carries, with moves that can be squared as they are; clamp() and
// sign() by another go component by component in double.
template <class T>
[[nodiscard]] inline bool ordinary_tau(double tau) {
  if constexpr (std::is_same_v<T, float>) {
    return tau >= std::numeric_limits<T>::min() && tau <= std::numeric_limits<T>::max();
  } else {
    return tau > 0x1p-500 && tau < 0x1p480;
  }
}

// The power of two that brings moves by such another tau to where they can be squared. (The squares
// of floats are doubles.)
template <class T>
[[nodiscard]] inline double move_unit(double tau) {
  if (std::is_same_v<T, float> || ordinary_tau<T>(tau)) return 1;
  return std::ldexp(1.0, std::clamp(-std::ilogb(tau), -1022, 1022));
}

// Only looks: v^2 and the counts.
template <class T, class M>
void measure(const Run<T, M>& run, Mode mode, Tally& tally);

// m <- m + f v.  f = 1 gives m = g exactly.  With `tally` (may be nullptr) it measures as well.
template <class T, class M>
void relax(const Run<T, M>& run, Mode mode, Factor factor, Tally* tally);

// m <- keep m + f g.  Measures v as well.
template <class T, class M>
void mix(const Run<T, M>& run, Mode mode, double keep, Factor factor, Tally& tally);

// m <- min(max(g, m - tau), m + tau): the projection of g onto the box around m.
template <class T, class M>
void clamp(const Run<T, M>& run, Mode mode, double tau, Tally& tally);

// The same, and counts which increments are within `size`, rounded to the element type.
template <class T, class M>
void clamp_and_count(const Run<T, M>& run, Mode mode, double tau, double size, Tally& tally);

// m <- m + tau sign(v).
template <class T, class M>
void sign(const Run<T, M>& run, Mode mode, double tau, Tally& tally);

// v <- g - m with the policy above; a difference beyond the largest finite number becomes that
// number.
template <class T, class M>
void increment(const Run<T, M>& run, Mode mode, T* v);

// m <- m + factor v, kept finite; a v that is not finite leaves its component as it was.
template <class T, class M>
void advance(const Run<T, M>& run, Mode mode, double factor, const T* v);

// The index of the first NaN or Inf, n where there is none.
template <class T>
[[nodiscard]] std::size_t first_non_finite(const T* x, std::size_t n);

}  // namespace medgrad::kernels
