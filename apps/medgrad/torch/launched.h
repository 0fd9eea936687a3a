// What workers that `medgrad launch` started leave in its folder, for it to show.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace medgrad::app {

inline constexpr auto kStatusFile = ".status", kResultsFile = ".results";

// Empty where there is no launcher.
inline std::filesystem::path launch_folder() {
  const char* const folder = std::getenv("MEDGRAD_LAUNCH");
  return folder == nullptr ? "" : folder;
}

// Replaces what was there in one step. Where it cannot be written, that is not shown.
inline void leave(const std::filesystem::path& folder, const std::string& name,
                  const std::string& text) {
  const std::filesystem::path file = folder / name, next = folder / (name + ".new");
  std::ofstream(next) << text;
  std::error_code ignored;
  std::filesystem::rename(next, file, ignored);
}

}  // namespace medgrad::app
