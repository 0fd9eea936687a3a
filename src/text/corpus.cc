#include "text/corpus.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "medgrad/error.h"
#include "text/unicode.h"

namespace medgrad::text {
namespace {

// Calls line(number, text) for each line. Lines end as in Python's universal newlines.
template <class Line>
void for_each_line(std::string_view text, const Line& line) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t length = std::min(text.find_first_of("\r\n"), text.size());
    line(number, text.substr(0, length));
    text.remove_prefix(length);
    text.remove_prefix(text.starts_with("\r\n") ? 2 : text.empty() ? 0 : 1);
  }
}

void read_part(const std::filesystem::path& path, bool lower, CorpusBuilder& builder) {
  const std::string content = read_whole(path);
  bool words = false;
  for_each_line(content, [&](std::size_t number, std::string_view line) {
    const auto fail = [&](const std::string& what) {
      throw Error(fmt::format("{}: {}", internal::line_of(path.string(), number), what));
    };
    if (!is_utf8(line)) fail("the line is not UTF-8 text.");
    if (line.find('\0') != std::string_view::npos)
      fail("the line contains a zero byte; this is not text.");
    const std::string lowered = lower ? lower_case(line) : std::string();
    for_each_word(lower ? lowered : line, [&](std::string_view word) {
      builder.add(word);
      words = true;
    });
    builder.end_line();
  });
  if (!words) throw Error(fmt::format("{} is empty: there are no words.", path.string()));
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::string> words) : words_(std::move(words)) {
  ids_.reserve(words_.size());
  for (const std::string& word : words_) ids_.emplace(word, static_cast<TokenId>(ids_.size()));
  assert(ids_.size() == words_.size());
}

std::optional<TokenId> Vocabulary::find(std::string_view word) const {
  const auto found = ids_.find(word);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

void CorpusBuilder::add(std::string_view word) {
  auto found = ids_.find(word);
  if (found == ids_.end()) {
    found = ids_.emplace(word, static_cast<TokenId>(words_.size())).first;
    words_.emplace_back(word);
    counts_.push_back(0);
  }
  ++counts_[static_cast<std::size_t>(found->second)];
  parts_[part_].push_back(found->second);
}

void CorpusBuilder::end_line() { parts_[part_].push_back(0); }

void CorpusBuilder::next_part() {
  ++part_;
  assert(part_ < std::size(parts_));
}

Corpus CorpusBuilder::finish() {
  counts_[0] = std::numeric_limits<std::size_t>::max();  // <eos> stays first
  std::vector<std::size_t> order(words_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [this](std::size_t i) { return counts_[i]; });
  std::vector<TokenId> renamed(order.size());
  std::vector<std::string> words;
  words.reserve(order.size());
  for (const std::size_t old : order) {
    renamed[old] = static_cast<TokenId>(words.size());
    words.push_back(std::move(words_[old]));
  }
  for (std::vector<TokenId>& part : parts_)
    for (TokenId& id : part) id = renamed[static_cast<std::size_t>(id)];
  return {std::move(parts_[0]), std::move(parts_[1]), std::move(parts_[2]),
          Vocabulary(std::move(words))};
}

Corpus read_corpus(const CorpusFiles& files) {
  CorpusBuilder builder;
  read_part(files.train, files.lower_case, builder);
  builder.next_part();
  read_part(files.valid, files.lower_case, builder);
  builder.next_part();
  read_part(files.test, files.lower_case, builder);
  return builder.finish();
}

Corpus read_ptb(const std::filesystem::path& folder) {
  return read_corpus({folder / "ptb.train.txt", folder / "ptb.valid.txt", folder / "ptb.test.txt",
                      /*lower_case=*/true});
}

Corpus read_wikitext2(const std::filesystem::path& folder) {
  return read_corpus({folder / "wiki.train.tokens", folder / "wiki.valid.tokens",
                      folder / "wiki.test.tokens", /*lower_case=*/false});
}

}  // namespace medgrad::text
