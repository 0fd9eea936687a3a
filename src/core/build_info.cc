#include "medgrad/build_info.h"

#include <thread>

#include "kernels/simd.h"
#include "medgrad/version.h"

namespace medgrad {
namespace {

std::string compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#else
  return "unknown";
#endif
}

}  // namespace

BuildInfo build_info() {
  return {.version = kVersion,
          .compiler = compiler(),
          .build_type = MEDGRAD_BUILD_TYPE,
          .simd = kernels::simd_target(),
          .simd_available = kernels::simd_targets(),
          .cores = std::thread::hardware_concurrency(),
          .gzip = MEDGRAD_HAS_ZLIB != 0};
}

}  // namespace medgrad
