// The process around libtorch: memory, threads and the BLAS it found.
#pragma once

#include <string>

namespace medgrad::libtorch {

// Call it first in main() of a program that trains on the CPU. Keeps the large buffers of a step
// (logits, activations) for the next one instead of mapping and unmapping them every time: a
// quarter less time per step, at up to twice the peak memory. Does nothing without glibc.
void keep_memory();

// Threads for libtorch's operations; 0 takes one per core.
void use_threads(int threads);

// Call it before the first product of matrices, with no other thread running. OpenBLAS knows
// processors by their model number and takes one that is newer than itself for a Pentium 4: a fifth
// of the speed. Where that has happened, and OPENBLAS_CORETYPE does not say otherwise, this
// switches to the code for what the processor can do.
void use_fast_blas();

// What libtorch runs on.
struct Runtime {
  std::string version;    // of libtorch: "1.13.0"
  int threads = 1;        // that operations use now
  std::string blas;       // the file that multiplies matrices; empty where it cannot be told
  std::string threading;  // of that BLAS: "openmp", "pthreads", "none" or "unknown"
  std::string kernels;    // the processor that BLAS takes this one for: "SkylakeX"; may be empty
  std::string warning;    // one sentence where training will be slow, with what helps; else empty
};
[[nodiscard]] Runtime runtime();

}  // namespace medgrad::libtorch
