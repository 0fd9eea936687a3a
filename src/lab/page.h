// The page of a folder of results: index.html, about all that is in the folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lab/report/report.h"

namespace medgrad::lab {

// Throws Error where there is something that medgrad did not write.
void check_page(const std::filesystem::path& page);

// The paper's experiments in its order, then all others as they are.
void put_in_order(std::vector<ReportSection>& sections);

// `fresh` and the other result folders in `out`, in order. One that cannot be read is told to
// `warn`, in a sentence, and left out.
[[nodiscard]] std::vector<ReportSection> sections_of(
    const std::filesystem::path& out, std::vector<ReportSection> fresh,
    const std::function<void(const std::string&)>& warn);

}  // namespace medgrad::lab
