// medgrad data: find, check and install the data of the language tasks.
#include "data.h"

#include <fmt/core.h>

#include <iostream>
#include <stdexcept>

#include "base/json.h"
#include "base/text.h"
#include "command.h"
#include "medgrad/error.h"
#include "text.h"
#include "text/data_sets.h"
#include "text/prepare.h"
#include "text/verify.h"

namespace medgrad::app {
namespace {

namespace fs = std::filesystem;
using text::DataFolders;
using text::DataPlace;
using text::DataSet;
using text::Finding;
using text::Verdict;

std::uintmax_t size_of(const fs::path& file) {
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(file, failed);
  return failed ? 0 : size;
}

// "5.9 MB"
std::string megabytes(std::uintmax_t bytes) {
  const std::uintmax_t tenths = (bytes + 50'000) / 100'000;
  return fmt::format("{}.{} MB", tenths / 10, tenths % 10);
}

// Where the environment is empty, there is nowhere to look.
constexpr std::string_view kNoPlaces =
    ": neither MEDGRAD_DATA nor XDG_DATA_HOME nor HOME is set; set MEDGRAD_DATA to the folder that "
    "holds the data sets.";

std::string_view mark(bool good) { return good ? "✓" : "✗"; }

// ---- list ---------------------------------------------------------------------------------------

Json json_of(const DataSet& set, const DataPlace& place) {
  Json files = Json::array();
  for (const std::string_view file : set.files) {
    const bool found = !place.folder.empty() && fs::exists(place.folder / file);
    files.push_back({{"name", file},
                     {"found", found},
                     {"bytes", found ? Json(size_of(place.folder / file)) : Json(nullptr)}});
  }
  return {{"name", set.name},
          {"title", set.title},
          {"found", place.complete()},
          {"folder", place.folder.empty() ? Json(nullptr) : Json(place.folder.string())},
          {"files", files},
          {"source", set.source}};
}

std::string sentence_of(const DataSet& set, const DataPlace& place) {
  const std::string title = std::string(set.title) + "\n";
  if (place.complete()) {
    std::uintmax_t bytes = 0;
    for (const std::string_view file : set.files) bytes += size_of(place.folder / file);
    return fmt::format("{}found in {}: {}, {}", title, place.folder.string(),
                       counted(set.files.size(), "file"), megabytes(bytes));
  }
  const std::string from = ", from " + std::string(set.source);
  if (place.folder.empty())
    return fmt::format("{}not found: needs {}{}", title, text::joined(set.files), from);
  return fmt::format("{}incomplete: {} lacks {}{}", title, place.folder.string(),
                     text::joined(place.missing), from);
}

void list(const std::string& format) {
  const DataFolders folders = DataFolders::from_environment();
  if (format == "json") {
    Json json = {{"places", Json::array()}, {"data_sets", Json::array()}};
    for (const fs::path& place : folders.places()) json["places"].push_back(place.string());
    for (const DataSet& set : text::data_sets())
      json["data_sets"].push_back(json_of(set, folders.look(set)));
    std::cout << json.dump(2) << "\n";
    return;
  }
  std::vector<TextRow> rows;
  for (const DataSet& set : text::data_sets())
    rows.emplace_back(set.name, sentence_of(set, folders.look(set)));
  std::cout << columns(rows) << "\n";
  if (folders.places().empty()) {
    std::cout << wrapped("There is no folder to look in" + std::string(kNoPlaces), 0) << "\n";
    return;
  }
  std::cout << "These folders are searched, in this order:\n";
  for (const fs::path& place : folders.places()) std::cout << "  " << place.string() << "\n";
}

// ---- verify -------------------------------------------------------------------------------------

struct Verified {
  const DataSet* set;
  fs::path folder;
  Verdict verdict;
};

// Those that are named, which have to be there, or all that are there.
std::vector<Verified> chosen_sets(const std::vector<std::string>& names) {
  const DataFolders folders = DataFolders::from_environment();
  std::vector<Verified> chosen;
  chosen.reserve(names.size());
  for (const std::string& name : names)
    chosen.push_back({&text::data_set(name), folders.require(name), {}});
  if (!names.empty()) return chosen;
  for (const DataSet& set : text::data_sets()) {
    const DataPlace place = folders.look(set);
    if (!place.folder.empty()) chosen.push_back({&set, place.folder, {}});
  }
  if (chosen.empty()) {
    if (folders.places().empty())
      throw Error("there is no folder to look for data sets in" + std::string(kNoPlaces));
    std::string where;
    for (const fs::path& place : folders.places())
      where += (where.empty() ? " in " : " or ") + place.string();
    throw Error(
        fmt::format("there are no data sets{}; medgrad data list says what is needed.", where));
  }
  return chosen;
}

void print(const Verdict& verdict) {
  for (const Finding& finding : verdict.findings) {
    std::cout << "    " << mark(finding.good) << " " << finding.what;
    if (!finding.expected.empty()) std::cout << "; expected: " << finding.expected;
    std::cout << "\n";
  }
}

void verify(const std::vector<std::string>& names, const std::string& format) {
  std::vector<Verified> sets = chosen_sets(names);
  std::size_t bad = 0;
  Json json = {{"data_sets", Json::array()}};
  for (Verified& one : sets) {
    one.verdict = text::verify(*one.set, one.folder);
    bad += one.verdict.good() ? 0 : 1;
    if (format == "text") {
      std::cout << mark(one.verdict.good()) << " " << one.set->name << " in " << one.folder.string()
                << "\n";
      print(one.verdict);
      continue;
    }
    Json findings = Json::array();
    for (const Finding& finding : one.verdict.findings) {
      findings.push_back(
          {{"what", finding.what}, {"good", finding.good}, {"expected", finding.expected}});
    }
    json["data_sets"].push_back({{"name", one.set->name},
                                 {"folder", one.folder.string()},
                                 {"good", one.verdict.good()},
                                 {"findings", findings}});
  }
  if (format == "json") std::cout << json.dump(2) << "\n";
  if (bad == 0) return;
  std::cout.flush();
  throw std::runtime_error(fmt::format("{} of {} {} from what was published.", bad,
                                       counted(sets.size(), "data set"),
                                       bad == 1 ? "differs" : "differ"));
}

// ---- the command --------------------------------------------------------------------------------

class Data final : public Command {
 public:
  std::string_view name() const override { return kDataName; }
  std::string_view summary() const override { return kDataSummary; }
  std::string_view usage() const override {
    return "list|verify|prepare [NAME...] [--from ARCHIVE-OR-FOLDER] [options]";
  }
  void declare(Options& options) override {
    options.argument("ACTION", action_, "list, verify or prepare (see below)");
    options.offer("ACTION", {"list", "verify", "prepare"});
    options.arguments("NAME", names_, "data sets (default for verify: all that are installed)");
    options.value("--from", from_, "PATH", "prepare: the download, a folder or an archive");
    options.value("--to", to_, "FOLDER",
                  "prepare: where to put it (default: medgrad's own data folder)");
    options.value("--format", format_, "F", "list, verify: text (default) or json");
    options.offer("--format", {"text", "json"});
    std::vector<std::string> names;
    for (const DataSet& set : text::data_sets()) names.emplace_back(set.name);
    options.offer("NAME", names);
  }
  std::string details() const override {
    const std::vector<TextRow> actions = {
        {"list", "the data sets, their files, and where they were found"},
        {"verify",
         "compares counts with the published figures, and checksums if the folder has a file "
         "SHA256SUMS; the exit code is 1 if something is wrong"},
        {"prepare",
         "takes the files of a data set from a download, verifies them, and puts them where "
         "medgrad looks for them"}};
    std::vector<TextRow> sets;
    for (const DataSet& set : text::data_sets())
      sets.emplace_back(set.name, fmt::format("{}; from {}", set.title, set.source));
    return fmt::format(
        "\nactions:\n{}\ndata sets:\n{}\n{}\n", columns(actions), columns(sets),
        wrapped("medgrad looks for them in the folder named by the environment variable "
                "MEDGRAD_DATA, then in $XDG_DATA_HOME/medgrad (~/.local/share/medgrad).",
                0));
  }

  void run(const Common& common) override {
    check_action("medgrad data", action_, {"list", "verify", "prepare"});
    check_word("--format", format_, {"text", "json"});
    if (action_ == "prepare") return prepare(common);
    if (!from_.empty() || !to_.empty())
      throw Error(std::string(from_.empty() ? "--to" : "--from") +
                  " is only for medgrad data prepare.");
    if (action_ == "verify") return verify(names_, format_);
    if (!names_.empty())
      throw Error(
          fmt::format("'{}' is one argument too many for medgrad data list.", names_.front()));
    list(format_);
  }

 private:
  void prepare(const Common& common) const {
    if (names_.size() != 1)
      throw Error(
          fmt::format("medgrad data prepare takes the name of one data set, not {}; medgrad data "
                      "list shows the names.",
                      names_.size()));
    const DataSet& set = text::data_set(names_.front());
    if (from_.empty())
      throw Error(
          fmt::format("--from is missing; it must be the folder or archive with the files of {}, "
                      "downloaded from {}.",
                      set.name, set.source));
    const fs::path to = to_.empty() ? text::own_data_folder() : fs::path(to_);
    if (to.empty()) throw Error("--to is missing; without it, XDG_DATA_HOME or HOME must be set.");
    const Verdict verdict = text::prepare(set, from_, to);
    if (common.quiet) return;
    std::cout << mark(true) << " " << set.name << " is in " << (to / set.name).string() << "\n";
    print(verdict);
  }

  std::string action_, from_, to_, format_ = "text";
  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<Command> make_data() { return std::make_unique<Data>(); }

}  // namespace medgrad::app
