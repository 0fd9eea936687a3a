// medgrad doctor: what this build and this machine have.
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "command.h"
#include "medgrad/build_info.h"
#include "text.h"
#include "text/data_sets.h"

namespace medgrad::app {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string state_of(const text::DataPlace& place) {
  if (place.complete()) return "found in " + place.folder.string();
  return place.folder.empty() ? "not found" : "incomplete in " + place.folder.string();
}

class Doctor final : public Command {
 public:
  std::string_view name() const override { return "doctor"; }
  std::string_view summary() const override { return "what this build and this machine have"; }
  std::string_view usage() const override { return "[options]"; }
  void declare(Options& options) override {
    options.value("--format", format_, "F", "text (default) or json");
  }

  void run(const Common& common) override {
    check_word("--format", format_, {"text", "json"});
    const BuildInfo build = build_info();
    const std::uint64_t asked = to_whole_number("--threads", common.threads, 0);
    const std::uint64_t threads = asked == 0 ? build.cores : asked;
    const std::string forced = environment("MEDGRAD_SIMD"), data = environment("MEDGRAD_DATA");
    const text::DataFolders folders = text::DataFolders::from_environment();

    if (format_ == "json") {
      nlohmann::ordered_json json = {{"version", build.version},
                                     {"compiler", build.compiler},
                                     {"build_type", build.build_type},
                                     {"simd", build.simd},
                                     {"simd_available", build.simd_available},
                                     {"MEDGRAD_SIMD", forced},
                                     {"cores", build.cores},
                                     {"threads", threads},
                                     {"torch", false},
                                     {"mpi", false},
                                     {"python", false},
                                     {"MEDGRAD_DATA", data}};
      for (const text::DataSet& set : text::data_sets())
        json["data"][std::string(set.name)] = folders.look(set).complete();
      std::cout << json.dump(2) << "\n";
      return;
    }
    constexpr auto kAbsent = "not in this build";
    std::vector<TextRow> rows = {
        {"version", build.version},
        {"compiler", build.compiler + ", " + build.build_type},
        {"SIMD",
         build.simd + " in use; this machine and build have " + joined(build.simd_available)},
        {"MEDGRAD_SIMD", forced.empty() ? "not set: the best is taken" : forced},
        {"threads", std::to_string(threads) + " of " + std::to_string(build.cores) + " cores"},
        {"torch", kAbsent},
        {"MPI", kAbsent},
        {"Python", kAbsent},
        {"MEDGRAD_DATA", data.empty() ? "not set: it names the folder of the data" : data}};
    for (const text::DataSet& set : text::data_sets())
      rows.emplace_back("data " + std::string(set.name), state_of(folders.look(set)));
    std::cout << columns(rows);
  }

 private:
  std::string format_ = "text";
};

}  // namespace

std::unique_ptr<Command> make_doctor() { return std::make_unique<Doctor>(); }

}  // namespace medgrad::app
