// What this build is and what it found on this machine.
#pragma once

#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace medgrad {

struct BuildInfo {
  std::string version;     // "0.1.0"
  std::string compiler;    // "GCC 12.2.0"
  std::string build_type;  // "Release"
  std::string simd;        // the SIMD target in use, as MEDGRAD_SIMD may have asked for it
  std::vector<std::string> simd_available;  // best first
  unsigned cores = 0;
  bool gzip = false;  // can gzipped files be read?
};

// Throws Error if MEDGRAD_SIMD names no target of this build and machine.
[[nodiscard]] BuildInfo build_info();

}  // namespace medgrad
#pragma GCC visibility pop
