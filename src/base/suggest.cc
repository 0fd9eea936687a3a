#include "base/suggest.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "medgrad/error.h"

namespace medgrad {
namespace {

// What is compared: without the dashes of an option, in small letters.
std::string plain(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string text(name);
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  return text;
}

// Insertions, deletions, replacements and swaps of neighbours that make b of a; three rows of the
// usual table are enough.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string quoted(std::string_view name) {
  if (name.starts_with('-')) return std::string(name);
  return fmt::format("'{}'", name);
}

}  // namespace

std::optional<std::string_view> near_match(std::string_view name,
                                           std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongest = 100;  // nobody types that, and the table grows with it
  const std::string given = plain(name);
  if (given.empty() || given.size() > kLongest) return std::nullopt;
  std::optional<std::string_view> best, begun;
  std::size_t smallest = given.size() / 3 + 1, beginnings = 0;
  for (const std::string_view candidate : candidates) {
    const std::string known = plain(candidate);
    if (known.starts_with(given)) {
      begun = candidate;
      ++beginnings;
    }
    const std::size_t distance = edit_distance(given, known);
    if (distance >= smallest) continue;
    smallest = distance;
    best = candidate;
  }
  if (!best && beginnings == 1 && given.size() >= 2) return begun;
  return best;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> candidates) {
  const auto match = near_match(name, candidates);
  return match ? fmt::format(" Did you mean {}?", quoted(*match)) : "";
}

std::string instead_of(std::string_view name, std::span<const std::string_view> candidates,
                       std::string_view listed_by) {
  constexpr std::size_t kFew = 8, kShort = 72;
  if (std::string hint = suggestion(name, candidates); !hint.empty()) return "." + hint;
  if (candidates.empty()) return ".";
  const std::string all = one_of(candidates);
  if (candidates.size() <= kFew && all.size() <= kShort)
    return fmt::format("; it must be {}.", all);
  if (listed_by.empty()) return fmt::format("; it must be one of {}.", all);
  return fmt::format("; {} shows all of them.", listed_by);
}

void fail_unknown(std::string_view kind, std::string_view name,
                  std::span<const std::string_view> known, std::string_view listed_by) {
  throw Error(fmt::format("'{}' is not {}{}", name, kind, instead_of(name, known, listed_by)));
}

}  // namespace medgrad
