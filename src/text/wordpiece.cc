#include "text/wordpiece.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "medgrad/error.h"
#include "text/unicode.h"

namespace medgrad::text {
namespace {

constexpr std::size_t kLongestWord = 100;         // characters
constexpr std::size_t kRemembered = 1 << 18;      // words; more are hardly met twice
constexpr std::size_t kLongestText = 0xFFFFFFFE;  // offsets have 32 bits
constexpr std::string_view kContinuation = "##";

}  // namespace

WordPiece::WordPiece(std::vector<std::string> pieces, const std::string& name)
    : pieces_(std::move(pieces)) {
  ids_.reserve(pieces_.size());
  const auto fail = [&](const std::string& what) {
    throw Error(fmt::format("{}: {}", internal::line_of(name, ids_.size() + 1), what));
  };
  for (const std::string& piece : pieces_) {
    if (piece.empty()) fail("the line is empty; it must be a piece.");
    if (!is_utf8(piece)) fail("the line is not UTF-8 text.");
    if (ids_.contains(piece)) fail(fmt::format("{} is given twice.", internal::quoted(piece)));
    ids_.emplace(piece, static_cast<TokenId>(ids_.size()));
    longest_ = std::max(longest_, piece.size());
  }
  for (const std::string_view text : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    const std::optional<TokenId> id = find(text);
    if (id) specials_.push_back({std::string(text), *id});
    if (!id && text != "[MASK]")
      throw Error(fmt::format("{} has no {}; it is not a WordPiece vocabulary.", name, text));
  }
  pad_ = *find("[PAD]");
  unknown_ = *find("[UNK]");
  cls_ = *find("[CLS]");
  sep_ = *find("[SEP]");
}

WordPiece WordPiece::read(const std::filesystem::path& file) {
  const std::string content = read_whole(file);
  std::vector<std::string> pieces;
  std::string_view rest = content;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    while (line.ends_with('\r') || line.ends_with(' ') || line.ends_with('\t'))
      line.remove_suffix(1);
    pieces.emplace_back(line);
  }
  return WordPiece(std::move(pieces), file.string());
}

std::optional<TokenId> WordPiece::find(std::string_view piece) const {
  const auto found = ids_.find(piece);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

const WordPiece::Special* WordPiece::special_at(std::string_view text) const {
  const auto found = std::ranges::find_if(
      specials_, [text](const Special& special) { return text.starts_with(special.text); });
  return found == specials_.end() ? nullptr : &*found;
}

Tokens WordPiece::encode(std::string_view text) {
  if (text.size() > kLongestText)
    throw Error(fmt::format("a text of {} bytes is too long to tokenize.", text.size()));
  Tokens tokens;
  std::uint32_t index = 0;  // of the character where `text` begins
  std::size_t searched = 0;
  for (;;) {
    const std::size_t bracket = text.find('[', searched);
    const Special* const special =
        bracket == std::string_view::npos ? nullptr : special_at(text.substr(bracket));
    if (special == nullptr && bracket != std::string_view::npos) {
      searched = bracket + 1;
      continue;
    }
    normal_.clear();
    index = normalizer_.normalize(text.substr(0, bracket), index, normal_);
    encode_plain(tokens);
    if (special == nullptr) return tokens;
    const auto length = static_cast<std::uint32_t>(special->text.size());
    tokens.ids.push_back(special->id);
    tokens.offsets.push_back({index, index + length});
    index += length;
    text.remove_prefix(bracket + length);
    searched = 0;
  }
}

void WordPiece::encode_plain(Tokens& tokens) {
  const std::u32string& text = normal_.characters;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool blank = text[i] == ' ';
    if (!blank && !is_bert_punctuation(text[i])) continue;
    if (begin < i) encode_word(begin, i, tokens);
    if (!blank) encode_word(i, i + 1, tokens);
    begin = i + 1;
  }
  if (begin < text.size()) encode_word(begin, text.size(), tokens);
}

void WordPiece::encode_word(std::size_t begin, std::size_t end, Tokens& tokens) {
  const std::vector<std::uint32_t>& origins = normal_.origins;
  if (end - begin > kLongestWord) {
    tokens.ids.push_back(unknown_);
    tokens.offsets.push_back({origins[begin], origins[end - 1] + 1});
    return;
  }
  word_.clear();
  for (std::size_t i = begin; i < end; ++i) append_utf8(word_, normal_.characters[i]);
  const auto found = words_.find(word_);
  const Range range = found == words_.end() ? cut(word_) : found->second;
  for (std::uint32_t i = 0; i < range.count; ++i) {
    const Part& part = parts_[range.first + i];
    const std::size_t next = part.id == unknown_ ? end : begin + part.characters;
    tokens.ids.push_back(part.id);
    tokens.offsets.push_back({origins[begin], origins[next - 1] + 1});
    begin = next;
  }
}

// The longest piece first, as long as there is a rest.
WordPiece::Range WordPiece::cut(std::string_view word) {
  if (words_.size() == kRemembered) {
    words_.clear();
    parts_.clear();
  }
  Range range{static_cast<std::uint32_t>(parts_.size()), 0};
  piece_.clear();
  for (std::string_view rest = word; !rest.empty();) {
    const std::size_t prefix = piece_.size();
    piece_ += rest.substr(0, longest_);
    std::optional<TokenId> id = find(piece_);
    while (!id && piece_.size() > prefix + 1) {
      piece_.pop_back();
      id = find(piece_);
    }
    if (!id) {
      parts_.resize(range.first);
      parts_.push_back({unknown_, 0});
      break;
    }
    const std::string_view taken = rest.substr(0, piece_.size() - prefix);
    parts_.push_back({*id, static_cast<std::uint32_t>(count_characters(taken))});
    rest.remove_prefix(taken.size());
    piece_ = kContinuation;
  }
  range.count = static_cast<std::uint32_t>(parts_.size()) - range.first;
  words_.emplace(word, range);
  return range;
}

}  // namespace medgrad::text
