// Where a page comes from. This changes from run to run, so it is in the page only: result files
// stay the same bytes.
#pragma once

#include <string>

namespace medgrad::lab {

struct Origin {
  std::string created = {};  // "2026-03-01 14:30 UTC"
  std::string machine = {};  // "AMD EPYC 7B13 (8 threads)"
  std::string build = {};    // "medgrad 0.2.0 (GCC 12.2.0, Release, AVX3)"
};

// Of a page that is made now, here. Where SOURCE_DATE_EPOCH is set, now is that many seconds after
// the beginning of 1970, as in reproducible builds.
[[nodiscard]] Origin origin_here();

}  // namespace medgrad::lab
