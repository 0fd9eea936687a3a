// The data sets of the language tasks, and where they are.
//
// The data is not ours to ship. A data set is a folder with a few files of fixed names, under the
// folder that the environment variable MEDGRAD_DATA names, or else under medgrad's own data folder:
// $XDG_DATA_HOME/medgrad, which is ~/.local/share/medgrad where that variable is not set. The first
// of them that has all files of a set is taken.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace medgrad::text {

enum class DataKind : std::uint8_t { corpus, questions, checkpoint };

struct DataSet {
  std::string_view name;   // of the folder: "ptb"
  std::string_view title;  // "Penn Treebank, word level"
  DataKind kind;
  std::vector<std::string_view> files;
  std::string_view source;  // where it is published: "… at https://…"
};

[[nodiscard]] std::span<const DataSet> data_sets();
// Throws Error that names the nearest where there is none of that name.
[[nodiscard]] const DataSet& data_set(std::string_view name);

// Where a set was found.
struct DataPlace {
  std::filesystem::path folder;           // empty: no place has even one of its files
  std::vector<std::string_view> missing;  // of its files
  [[nodiscard]] bool complete() const { return !folder.empty() && missing.empty(); }
};

class DataFolders {
 public:
  explicit DataFolders(std::vector<std::filesystem::path> places) : places_(std::move(places)) {}
  [[nodiscard]] static DataFolders from_environment();

  [[nodiscard]] std::span<const std::filesystem::path> places() const { return places_; }
  [[nodiscard]] DataPlace look(const DataSet& set) const;
  // The folder of a complete set. Throws Error that says where it was looked for, which files are
  // needed, and where they are published.
  [[nodiscard]] std::filesystem::path require(std::string_view name) const;

 private:
  std::vector<std::filesystem::path> places_;
};

// medgrad's own; empty where neither XDG_DATA_HOME nor HOME is set.
[[nodiscard]] std::filesystem::path own_data_folder();

// "a, b and c".
[[nodiscard]] std::string joined(std::span<const std::string_view> words);

}  // namespace medgrad::text
