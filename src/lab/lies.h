// What liars send, given what the honest workers do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "medgrad/rows.h"

namespace medgrad::lab {

// All f liars send the same, but for the Gaussian ones. Means and standard deviations are those of
// the n - f honest, per component.
struct Lie {
  enum class Kind : std::uint8_t {
    sign_flip,   // - mean
    ipm,         // - strength mean (Xie, Koyejo and Gupta, 2020)
    alie,        // mean - strength z standard deviations, Phi(z) = (n - f - s)/(n - f) with
                 // s = floor(n/2 + 1) - f, how many honest have to side with them (Baruch, Baruch
                 // and Goldberg, 2019)
    gaussian,    // strength times a normal vector
    mimic,       // the first honest row (Karimireddy, He and Jaggi, 2022)
    nan,         // NaN
    label_flip,  // what an honest worker would send whose targets have the other sign
  };
  Kind kind = Kind::sign_flip;
  double strength = 1;
};

// The f rows of the liars; not for label_flip, which needs data.
void tell(const Lie& lie, const Rows<double>& honest, std::size_t f, std::uint64_t seed,
          std::uint64_t stream, std::uint64_t round, std::span<double> out);

}  // namespace medgrad::lab
