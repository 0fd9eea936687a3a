// Plain loops: what this machine can do.
#pragma once

#include <cstddef>

namespace medgrad::bench {

// What a step cannot do without, and nothing else: no policy, no statistics. In the instruction set
// that the library uses.
//
// Reads g, 1 word per component, or m and g, 2 words. (The sum is returned so that nobody can leave
// out the loop.)
template <class T>
T read_pass(const T* g, std::size_t n);
template <class T>
T read_pass(const T* m, const T* g, std::size_t n);
// m <- m + f (g - m), w <- w - eta m: 5 words.
template <class T>
void update_pass(T* m, const T* g, T* w, T f, T eta, std::size_t n);
// Adam's m and v, and w after them: 7 words.
template <class T>
void update_pass(T* m, const T* g, T* v, T* w, T f, T eta, std::size_t n);

// out = the sum of n rows of length d in the columns [first, last), as plainly as it runs at the
// speed of the memory: rows are added to a part of the result that stays in the cache.
template <class T>
void sum_rows(const T* rows, std::size_t n, std::size_t d, T* out, std::size_t first,
              std::size_t last);
// The same in double, as an exact mean has to.
template <class T>
void sum_rows_in_double(const T* rows, std::size_t n, std::size_t d, double* out);

// A loop of nothing but minima and maxima of floats, in registers: how many per second.
double minmax_gops();

// A loop of nothing but fused products and sums of doubles, in registers.
double fused_gflops();

}  // namespace medgrad::bench
