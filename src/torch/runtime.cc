#include "medgrad/torch/runtime.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <torch/torch.h>
#include <torch/version.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace medgrad::libtorch {
namespace {

// The shared object that a symbol of the process comes from; empty where there is none.
std::string file_of(const char* symbol) {
  Dl_info info;
  void* const address = dlsym(RTLD_DEFAULT, symbol);
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

// OpenBLAS tells how it was built; the others do not have this function. MKL, which PyTorch's
// wheels have inside of libtorch, shares the threads of OpenMP with it.
std::string threading_of_blas() {
  using Parallel = int (*)();
  const auto parallel = reinterpret_cast<Parallel>(dlsym(RTLD_DEFAULT, "openblas_get_parallel"));
  if (parallel == nullptr) return at::hasMKL() && at::hasOpenMP() ? "openmp" : "unknown";
  switch (parallel()) {
    case 0:
      return "none";
    case 1:
      return "pthreads";
    case 2:
      return "openmp";
    default:
      return "unknown";
  }
}

// The processor whose code OpenBLAS uses.
std::string kernels_of_blas() {
  using Name = const char* (*)();
  const auto name = reinterpret_cast<Name>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  return name == nullptr ? "" : name();
}

// What OpenBLAS makes of a processor that it does not know.
constexpr const char* kUnknownToBlas = "Prescott";

// The best that runs here, by OpenBLAS' names; nullptr where its own choice may stay.
const char* better_kernels() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

std::string warning_about(const Runtime& found) {
  const auto named = [&](const char* name) { return found.blas.find(name) != std::string::npos; };
  std::string text;
  if (found.threading == "pthreads") {
    text =
        "This BLAS has its own threads, which compete with libtorch's: training is up to ten "
        "times slower.";
  } else if (found.kernels == kUnknownToBlas && better_kernels() != nullptr) {
    return fmt::format(
        "This BLAS does not know the processor and uses the code for an old one, which is some "
        "five times slower; setting OPENBLAS_CORETYPE={} helps.",
        better_kernels());
  } else if (found.threading == "unknown" && !named("mkl") && !named("blis")) {
    text = "This BLAS may be the reference one, which is some thirty times slower.";
  } else {
    return text;
  }
  return text +
         " The Debian package libopenblas0-openmp has a fast one; programs that are built where it "
         "is installed take it.";
}

}  // namespace

void keep_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
}

void use_threads(int threads) {
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  at::set_num_threads(threads > 0 ? threads : cores);
}

void use_fast_blas() {
  const char* better = better_kernels();
  if (better == nullptr || kernels_of_blas() != kUnknownToBlas) return;
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr) return;
  // What OpenBLAS itself does when it is loaded, with its choice made for it.
  using Function = void (*)();
  const auto leave = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "gotoblas_dynamic_quit"));
  const auto choose = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "gotoblas_dynamic_init"));
  if (leave == nullptr || choose == nullptr) return;
  setenv("OPENBLAS_CORETYPE", better, 1);
  leave();
  choose();
  unsetenv("OPENBLAS_CORETYPE");
}

Runtime runtime() {
  Runtime found;
  found.version = TORCH_VERSION;
  found.threads = at::get_num_threads();
  found.blas = file_of("sgemm_");
  found.threading = threading_of_blas();
  found.kernels = kernels_of_blas();
  found.warning = warning_about(found);
  return found;
}

}  // namespace medgrad::libtorch
