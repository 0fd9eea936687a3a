// Plain loops over long arrays: what the memory of this machine can do.
#pragma once

#include <cstddef>

namespace medgrad::bench {

template <class T>
void copy(const T* a, T* b, std::size_t n);  // b = a: 2 words per element
template <class T>
void triad(const T* a, const T* b, T* c, T s, std::size_t n);  // c = a + s b: 3 words
template <class T>
void in_place(T* a, T s, T c, std::size_t n);  // a = s a + c: 2 words

// The loop one would write for a CClip step: no policy, no statistics. 5 words.
template <class T>
void cclip_by_hand(T* m, const T* g, T* w, T tau, T eta, std::size_t n);
template <class T>
void vclip_by_hand(T* m, const T* g, T* w, T tau, T eta, std::size_t n);

// out = the sum of n rows of length d, as plainly as it runs at the speed of the memory: rows are
// added to a part of the result that stays in the cache.
template <class T>
void sum_rows(const T* rows, std::size_t n, std::size_t d, T* out);
// The same in double, as an exact mean has to.
template <class T>
void sum_rows_in_double(const T* rows, std::size_t n, std::size_t d, double* out);

// A loop of nothing but minima and maxima of floats, in registers: how many per second.
double minmax_gops();

// A loop of nothing but fused products and sums of doubles, in registers.
double fused_gflops();

}  // namespace medgrad::bench
