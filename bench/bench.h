// The parts of medgrad_bench. Each prints JSON lines on standard output; run.py makes the table.
#pragma once

#include <chrono>
#include <cstddef>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "medgrad/large_vector.h"
#include "medgrad/sample.h"

namespace medgrad::bench {

// Seconds that one call takes.
template <class F>
double seconds(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What this thread has had of a processor, in seconds: others on the machine hardly change it.
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The fused steps on vectors of n components, cut into so many tensors, against bare loops with the
// same reads and writes, in turns: `rounds` times each; only those with `only` in their name. All
// but m, which is in large pages as in an estimator, are a Vector: std::vector or LargeVector.
template <class Vector>
void online_steps(std::size_t n, int rounds, unsigned threads, std::size_t tensors,
                  const std::string& only);

// A sample estimator over the rows of a raw row-major file; the estimate is written to `out`.
template <class T>
void sample(const std::string& method, double tolerance, const std::string& file, std::size_t n,
            std::size_t d, int rounds, const std::string& out);

// All sample estimators over n rows of length d that are made here, on one thread and on two,
// beside a plain pass that adds up the rows and the Gram matrix alone; only those with `only` in
// their name. Both the processor time of the calling thread and the time on the wall, the best of
// each.
template <class T>
void rows_of(std::size_t n, std::size_t d, int rounds, const std::string& only);

// Rows like gradients, of 0 < n rows of length d: a common vector, noise with heavy tails whose
// size differs from row to row, and some rows that point elsewhere.
template <class T>
LargeVector<T> make_rows(std::size_t n, std::size_t d);

// What is measured of n rows, by its name. Rules are told of as many faults as there are (every
// eighth row), those that take each column by itself of twice as many.
std::vector<std::pair<std::string, Rule>> rules_for(std::size_t n);

// For each of them how many bytes it takes beside the rows and the result, at most.
template <class T>
void memory_of(std::size_t n, std::size_t d);

// One operation on n rows of length d, twice, and nothing is measured; the second time it is called
// by medgrad::bench::counted. A step of an online method (kind "step"), a rule ("rule"), or samples
// or the density of a stable law ("stable").
template <class T>
void count(const std::string& kind, const std::string& what, std::size_t n, std::size_t d);

// Billions of operations per second of fused products and sums of doubles on one core.
void fused_rate(int rounds);

// Nanoseconds per sample of a standard stable law.
template <class T>
void stable_samples(double alpha, double beta, std::size_t n, int rounds);

// Nanoseconds per point of its density and probability, n points between -20 and 20, and of its
// quantiles.
void stable_functions(double alpha, double beta, std::size_t n, int rounds);

// Milliseconds of a fit by maximum likelihood to n numbers of it.
void stable_fit(double alpha, double beta, std::size_t n, int rounds);

// Milliseconds to build a table of its density to 1e-10, and nanoseconds per point of n points
// between -20 and 20 and of n between 500 and 2e8 scales, and of the logarithm there.
void stable_table(double alpha, double beta, std::size_t n, int rounds);

// How often the verdict on tails is right, for 16 laws and three sizes of samples: a table in
// Markdown.
void tail_table(int seeds);
// How often a stable law is said to fit rows of stable components, of which one may have another
// index: a table likewise.
void tail_rows_table(int seeds);
// How often the interval of the tail index covers: a table likewise.
void tail_coverage_table(int seeds);
// How often any test could tell stable laws from normal ones by 300 numbers, and how often the
// advice does.
void tail_power_table(int seeds);

// Mean squared errors of the fits of stable laws to n numbers, over the bound of Cramér and Rao: a
// table in Markdown.
void stable_fits(std::size_t n, int seeds);

}  // namespace medgrad::bench
