#include "lab/page.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "base/remedy.h"
#include "lab/experiments.h"
#include "medgrad/error.h"

namespace medgrad::lab {
namespace {

namespace fs = std::filesystem;

// The place of a built-in experiment in the paper; past all of them for others.
std::size_t place_of(const ReportSection& section) {
  std::size_t place = 0;
  for (const BuiltIn& one : built_in_experiments()) {
    if (one.name == section.name) break;
    ++place;
  }
  return place;
}

}  // namespace

void check_page(const fs::path& page) {
  // Every page of ours says so within its first lines.
  constexpr std::string_view kMark = R"(<meta name="generator" content="medgrad">)";
  constexpr std::size_t kHead = 4096;
  std::error_code failed;
  if (!fs::exists(fs::symlink_status(page, failed))) return;
  std::string head(kHead, '\0');
  std::ifstream in(page, std::ios::binary);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  if (head.find(kMark) == std::string::npos)
    throw WithRemedy<Error>([=](const auto& name) {
      return fmt::format(
          "{} exists already and is not a report of medgrad; move it away or choose another {}.",
          page.string(), name("out"));
    });
}

void put_in_order(std::vector<ReportSection>& sections) {
  std::ranges::stable_sort(sections, {}, place_of);
}

std::vector<ReportSection> sections_of(const fs::path& out, std::vector<ReportSection> fresh,
                                       const std::function<void(const std::string&)>& warn) {
  std::vector<fs::path> others;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(out, failed)) {
    const std::string name = entry.path().filename().string();
    const bool known = std::ranges::find(fresh, name, &ReportSection::label) != fresh.end();
    if (!name.starts_with('.') && !known && fs::exists(entry.path() / "summary.json", failed))
      others.push_back(entry.path());
  }
  std::ranges::sort(others);
  for (const fs::path& folder : others) {
    try {
      fresh.push_back(load_section(folder));
    } catch (const Error& error) {
      if (warn) warn(std::string(error.what()) + " It is left out of the report.");
    }
  }
  put_in_order(fresh);
  return fresh;
}

}  // namespace medgrad::lab
