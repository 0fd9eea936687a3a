// The families of sample estimators, behind aggregate(): input is checked, out has length d.
#pragma once

#include <span>

#include "core/sample/input.h"

namespace medgrad::sample {

// columns.cc
template <Real T>
SampleInfo median(const Input<T>& input, std::span<T> out);
template <Real T>
SampleInfo trimmed_mean(std::size_t f, const Input<T>& input, std::span<T> out);

// means.cc
template <Real T>
SampleInfo mean(const Input<T>& input, std::span<T> out);
template <Real T>
SampleInfo clipped_mean(double clip, const Input<T>& input, std::span<T> out);
template <Real T>
SampleInfo median_of_means(std::size_t blocks, double p, const Input<T>& input, std::span<T> out);

// spatial.cc
template <Real T>
SampleInfo geometric_median(const GeometricMedian& method, const Input<T>& input, std::span<T> out);
template <Real T>
SampleInfo huber_location(const HuberLocation& method, const Input<T>& input, std::span<T> out);

// lp.cc: any p; minimax.cc: p = infinity.
template <Real T>
SampleInfo lp_median(const LpMedian& method, const Input<T>& input, std::span<T> out);
template <Real T>
SampleInfo minimax_median(const Input<T>& input, std::span<T> out);

}  // namespace medgrad::sample
