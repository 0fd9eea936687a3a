#include "text/data_sets.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "base/suggest.h"
#include "base/text.h"
#include "medgrad/error.h"

namespace medgrad::text {
namespace {

namespace fs = std::filesystem;

fs::path environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

}  // namespace

std::span<const DataSet> data_sets() {
  static const std::vector<DataSet> kSets = {
      {"ptb",
       "Penn Treebank, word level",
       DataKind::corpus,
       {"ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"},
       "Mikolov's simple-examples.tgz at http://www.fit.vutbr.cz/~imikolov/rnnlm/"},
      {"wikitext-2",
       "WikiText-2, word level (not raw)",
       DataKind::corpus,
       {"wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"},
       "Salesforce's wikitext-2-v1.zip at https://s3.amazonaws.com/research.metamind.io/wikitext/"},
      {"squad",
       "SQuAD v1.1, questions",
       DataKind::questions,
       {"train-v1.1.json", "dev-v1.1.json"},
       "https://rajpurkar.github.io/SQuAD-explorer/dataset/"},
      {"minilm-l6",
       "MiniLM-L6, a BERT-type encoder",
       DataKind::checkpoint,
       {"model.safetensors", "config.json", "vocab.txt"},
       "a Hugging Face checkpoint folder, as "
       "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2"},
      {"distilbert",
       "DistilBERT (base, uncased), a BERT-type encoder",
       DataKind::checkpoint,
       {"model.safetensors", "config.json", "vocab.txt"},
       "a Hugging Face checkpoint folder, as https://huggingface.co/distilbert-base-uncased"}};
  return kSets;
}

const DataSet& data_set(std::string_view name) {
  const std::span<const DataSet> sets = data_sets();
  const auto found = std::ranges::find(sets, name, &DataSet::name);
  if (found != sets.end()) return *found;
  std::vector<std::string_view> names;
  for (const DataSet& set : sets) names.push_back(set.name);
  fail_unknown("a data set", name, names, "medgrad data list");
}

fs::path own_data_folder() {
  // A relative path in XDG_DATA_HOME is to be ignored, as its specification says.
  if (const fs::path data = environment("XDG_DATA_HOME"); data.is_absolute())
    return data / "medgrad";
  if (const fs::path home = environment("HOME"); !home.empty())
    return home / ".local/share/medgrad";
  return {};
}

DataFolders DataFolders::from_environment() {
  std::vector<fs::path> places;
  for (const fs::path& place : {environment("MEDGRAD_DATA"), own_data_folder()})
    if (!place.empty()) places.push_back(place);
  return DataFolders(std::move(places));
}

DataPlace DataFolders::look(const DataSet& set) const {
  DataPlace best{{}, set.files};
  for (const fs::path& place : places_) {
    DataPlace here{place / set.name, {}};
    for (const std::string_view file : set.files)
      if (!is_file(here.folder / file)) here.missing.push_back(file);
    if (here.missing.size() < best.missing.size()) best = std::move(here);
    if (best.complete()) break;
  }
  return best;
}

fs::path DataFolders::require(std::string_view name) const {
  const DataSet& set = data_set(name);
  const DataPlace place = look(set);
  if (place.complete()) return place.folder;
  const std::string advice = fmt::format(" from {}, or see medgrad help data.", set.source);
  if (!place.folder.empty()) {
    throw Error(fmt::format("{} lacks {}; get {}{}", place.folder.string(), joined(place.missing),
                            place.missing.size() == 1 ? "it" : "them", advice));
  }
  if (places_.empty()) {
    throw Error(
        fmt::format("there is no folder to look for the data set {} in; set MEDGRAD_DATA to a "
                    "folder, and get its {}{}",
                    name, joined(set.files), advice));
  }
  std::string where;
  for (const fs::path& one : places_)
    where += (where.empty() ? "" : " or ") + (one / set.name).string();
  throw Error(fmt::format("the data set {} was not found in {}; get its {}{}", name, where,
                          joined(set.files), advice));
}

std::string joined(std::span<const std::string_view> words) { return one_of(words, "and"); }

}  // namespace medgrad::text
