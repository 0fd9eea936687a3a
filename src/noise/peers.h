// Kernels of the noises that stable noise is compared with.
#pragma once

#include <cstdint>
#include <span>

#include "medgrad/noise.h"
#include "noise/source.h"

namespace medgrad::noise {

// Samples [first, first + out.size()) of a source, always finite.
void draw_student(const StudentT& t, const Source& source, std::uint64_t first,
                  std::span<double> out);
void draw_student(const StudentT& t, const Source& source, std::uint64_t first,
                  std::span<float> out);
void draw_pareto(const Pareto& pareto, const Source& source, std::uint64_t first,
                 std::span<double> out);
void draw_pareto(const Pareto& pareto, const Source& source, std::uint64_t first,
                 std::span<float> out);

}  // namespace medgrad::noise
