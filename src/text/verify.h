// Whether the data is what the published experiments had.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "text/data_sets.h"

namespace medgrad::text {

struct Finding {
  std::string what;  // "train: 929589 tokens in 42068 lines"
  bool good;
  std::string expected;  // where it is not good: "929589 tokens …"; may be empty
};

struct Verdict {
  std::vector<Finding> findings;
  [[nodiscard]] bool good() const;
};

// Reads all files of the set in `folder` and compares counts with the known figures; and digests,
// where a file SHA256SUMS in the folder or in the one above it has some. Whatever a reader refuses
// is a finding that is not good.
[[nodiscard]] Verdict verify(const DataSet& set, const std::filesystem::path& folder);

}  // namespace medgrad::text
