// medgrad doctor: what this build and this machine can do.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "command.h"
#include "medgrad/build_info.h"
#include "text.h"
#include "text/data_sets.h"
#include "torch_program.h"

namespace medgrad::app {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What libtorch runs on, according to medgrad-torch; false where there is none.
nlohmann::ordered_json torch_runtime(unsigned threads) {
  if (torch_program().empty()) return false;
  return nlohmann::ordered_json::parse(
      output_of_torch_program({"runtime", "--threads", std::to_string(threads)}));
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
  std::string_view summary() const override {
    return "show what this build and this machine can do, and which data is installed";
  }
  std::string_view usage() const override { return "[options]"; }
  void declare(Options& options) override {
    options.value("--format", format_, "F", "text (default) or json");
    options.offer("--format", {"text", "json"});
  }

  void run(const Common& common) override {
    check_word("--format", format_, {"text", "json"});
    const BuildInfo build = build_info();
    const unsigned threads = common.threads == 0 ? build.cores : common.threads;
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
                                     {"gzip", build.gzip},
                                     {"torch", torch_runtime(threads)},
                                     {"mpi", MEDGRAD_HAS_MPI != 0},
                                     {"python", MEDGRAD_HAS_PYTHON != 0},
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
         fmt::format("{} is in use; available: {}", build.simd, joined(build.simd_available))},
        {"MEDGRAD_SIMD", forced.empty() ? "not set; the best is used" : forced},
        {"threads",
         fmt::format("{} on {}", counted(threads, "thread"), counted(build.cores, "core"))},
        {"gzip", build.gzip ? "gzipped files can be read" : kAbsent},
        {"MPI", MEDGRAD_HAS_MPI ? "the engine is in the library" : kAbsent},
        {"Python", MEDGRAD_HAS_PYTHON ? "the package was built with this command" : kAbsent},
        {"MEDGRAD_DATA", data.empty() ? "not set; it names the folder with the data sets" : data}};
    const auto torch = torch_runtime(threads);
    const auto at = std::ranges::find(rows, "MPI", &TextRow::first);
    if (torch.is_object()) {
      const std::string kernels = torch["blas_kernels"];
      std::string blas = fmt::format("{} ({}{})", torch["blas"].get<std::string>(),
                                     torch["blas_threading"].get<std::string>(),
                                     kernels.empty() ? "" : ", code for " + kernels);
      const std::string warning = torch["warning"];
      if (!warning.empty()) blas += "\nwarning: " + warning;
      rows.insert(at, {{"torch", torch["version"].get<std::string>() + ", " +
                                     counted(torch["threads"].get<unsigned>(), "thread")},
                       {"BLAS of torch", blas}});
    } else {
      rows.insert(at, {"torch", kAbsent});
    }
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
