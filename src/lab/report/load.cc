// Result folders from disk, for the report.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

#include "base/file.h"
#include "base/json.h"
#include "lab/report/figure.h"
#include "lab/report/report.h"
#include "medgrad/error.h"

namespace medgrad::lab {
namespace {

namespace fs = std::filesystem;

bool is_result_folder(const fs::path& folder) {
  std::error_code none;
  return fs::exists(folder / "summary.json", none);
}

// Line and column of a byte, for messages.
std::string position(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  return std::to_string(1 + std::count(before.begin(), before.end(), '\n'));
}

Json parse(const fs::path& file, const std::string& text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw Error(fmt::format("{}:{}: this is not JSON.", file.string(), position(text, error.byte)));
  }
}

[[noreturn]] void fail(const fs::path& file, const std::string& what, const std::string& right) {
  throw Error(fmt::format("{}: {} must be {}.", file.string(), what, right));
}

void check_list_of_objects(const fs::path& file, const Json& summary, const char* name) {
  const auto list = summary.find(name);
  if (list == summary.end()) return;
  if (!list->is_array()) fail(file, name, "a list");
  for (const Json& item : *list)
    if (!item.is_object()) fail(file, std::string("each of ") + name, "an object");
}

// The experiment's name, after a look at what the page relies on.
std::string check_summary(const fs::path& file, const std::string& text) {
  const Json summary = parse(file, text);
  if (!summary.is_object()) fail(file, "the content", "an object");
  check_list_of_objects(file, summary, "claims");
  check_list_of_objects(file, summary, "rows");
  const auto name = summary.find("experiment");
  if (name == summary.end() || !name->is_string()) fail(file, "experiment", "a text");
  return name->get<std::string>();
}

ReportSection load(const fs::path& folder) {
  ReportSection section;
  section.label = folder.filename().string();
  section.folder = folder;
  section.summary = read_whole(folder / "summary.json");
  section.name = check_summary(folder / "summary.json", section.summary);
  if (const fs::path file = folder / "config.json"; fs::exists(file)) {
    section.config = read_whole(file);
    (void)parse(file, section.config);
  }
  if (const fs::path file = folder / "figures.json"; fs::exists(file)) {
    section.figures = read_whole(file);
    try {
      (void)figures_from_json(section.figures);
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", file.string(), error.what()));
    }
  }
  return section;
}

std::vector<fs::path> result_folders(const fs::path& place) {
  std::error_code none;
  if (!fs::exists(place, none)) throw Error(fmt::format("{} does not exist.", place.string()));
  if (!fs::is_directory(place, none))
    throw Error(fmt::format("{} is not a folder.", place.string()));
  if (is_result_folder(place)) return {place};
  std::vector<fs::path> folders;
  try {
    for (const auto& entry : fs::directory_iterator(place))
      if (entry.is_directory() && is_result_folder(entry.path())) folders.push_back(entry.path());
  } catch (const fs::filesystem_error&) {
    throw Error(fmt::format("{} cannot be read.", place.string()));
  }
  if (folders.empty())
    throw Error(fmt::format(
        "{} has no summary.json: it is neither a result folder nor a folder of result folders.",
        place.string()));
  std::sort(folders.begin(), folders.end());
  return folders;
}

// The parts of a path, the last one first: "runs/a/toy" is toy, a, runs.
std::vector<std::string> parts_backwards(const fs::path& path) {
  std::vector<std::string> parts;
  for (const fs::path& part : fs::absolute(path).lexically_normal())
    if (!part.empty()) parts.push_back(part.string());
  std::reverse(parts.begin(), parts.end());
  return parts;
}

// Short names that tell folders apart: the last part in which any of them differ, and the whole
// path where that is not enough.
std::vector<std::string> labels(const std::vector<fs::path>& folders) {
  std::vector<std::vector<std::string>> parts;
  parts.reserve(folders.size());
  for (const fs::path& folder : folders) parts.push_back(parts_backwards(folder));
  for (std::size_t i = 0;; ++i) {
    std::set<std::string> different;
    bool ended = false;
    for (const auto& one : parts) {
      if (i < one.size()) different.insert(one[i]);
      ended = ended || i >= one.size();
    }
    if (ended || (different.size() > 1 && different.size() < parts.size())) break;
    if (different.size() < parts.size()) continue;
    std::vector<std::string> result;
    result.reserve(parts.size());
    for (const auto& one : parts) result.push_back(one[i]);
    return result;
  }
  std::vector<std::string> result;
  std::map<std::string, int> seen;
  for (const fs::path& folder : folders) {
    const std::string path = folder.lexically_normal().string();
    const int times = ++seen[path];
    result.push_back(times == 1 ? path : fmt::format("{} ({})", path, times));
  }
  return result;
}

}  // namespace

ReportSection load_section(const fs::path& folder) { return load(folder); }

std::vector<ReportSection> load_sections(std::span<const std::filesystem::path> places) {
  std::vector<ReportSection> sections;
  std::vector<fs::path> from;
  for (const fs::path& place : places) {
    for (const fs::path& folder : result_folders(place)) {
      sections.push_back(load(folder));
      from.push_back(folder);
    }
  }
  std::map<std::string, std::vector<std::size_t>> same;
  for (std::size_t i = 0; i < sections.size(); ++i) same[sections[i].name].push_back(i);
  for (const auto& [name, members] : same) {
    std::vector<fs::path> folders;
    folders.reserve(members.size());
    for (const std::size_t i : members) folders.push_back(from[i]);
    const std::vector<std::string> names = labels(folders);
    for (std::size_t i = 0; i < members.size(); ++i) sections[members[i]].label = names[i];
  }
  return sections;
}

}  // namespace medgrad::lab
