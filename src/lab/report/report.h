// The report: one HTML file that needs nothing but a browser, not even a network.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/report/origin.h"

namespace medgrad::lab {

// One result folder. The texts are its files, as they are.
struct ReportSection {
  std::string name;   // of the experiment; sections with the same name are compared
  std::string label;  // tells apart sections with the same name; usually the folder's name
  std::string config, summary, figures;  // config.json, summary.json, figures.json
  std::filesystem::path folder = {};     // where they came from, if from disk
};

struct ReportOptions {
  std::string title = "medgrad report";
  std::string command = {};  // regenerates the whole page, as "medgrad reproduce --out results"
  Origin origin = {};        // when, where and by what it was made; left out where empty
  std::vector<std::string_view> built_in = {};  // experiments that medgrad reproduce knows by name
};

[[nodiscard]] std::string report_html(std::span<const ReportSection> sections,
                                      const ReportOptions& options = {});

// Writes the page under a temporary name and renames it.
void write_report(const std::filesystem::path& file, std::span<const ReportSection> sections,
                  const ReportOptions& options = {});

// One result folder; its label is the folder's name. Throws Error as below.
[[nodiscard]] ReportSection load_section(const std::filesystem::path& folder);

// The result folders at the given places: a place is such a folder, or a folder of such folders
// (taken in the order of their names). Throws Error, naming the file, where there is none or where
// a file is missing or broken. figures.json and config.json may be missing.
[[nodiscard]] std::vector<ReportSection> load_sections(
    std::span<const std::filesystem::path> places);

}  // namespace medgrad::lab
