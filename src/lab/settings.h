// Whether two experiments have the same settings, for not putting the results of one in the place
// of another's.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "lab/reader.h"

namespace medgrad::lab {

// "'seeds' (50, not 3)": the first key in which `asked` differs from `there`; empty where they
// agree. Words for people, and what a run adds to its config.json, are no settings.
[[nodiscard]] std::string other_setting(const Node& there, const Node& asked);

// Throws Error where `folder` holds results of an experiment with other settings than `config`,
// which is to become its config.json.
void check_same_settings(const std::filesystem::path& folder, std::string_view config);

}  // namespace medgrad::lab
