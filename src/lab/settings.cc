#include "lab/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "base/file.h"
#include "base/remedy.h"
#include "medgrad/error.h"

namespace medgrad::lab {
namespace {

namespace fs = std::filesystem;

// For people (title, description, what the paper did), or written by the run itself.
constexpr std::array<std::string_view, 6> kNoSettings = {"title",       "description", "findings",
                                                         "paper_scale", "data",        "tried"};

bool same(const Node& a, const Node& b) {
  if (a.value.index() != b.value.index()) return false;
  if (const Node::List* const list = a.list()) return std::ranges::equal(*list, *b.list(), same);
  if (const Node::Object* const object = a.object()) {
    return object->size() == b.object()->size() &&
           std::ranges::all_of(*object, [&](const auto& entry) {
             const Node* const other = b.find(entry.first);
             return other != nullptr && same(entry.second, *other);
           });
  }
  if (const double* const number = a.number()) return *number == *b.number();
  if (const std::string* const text = a.text()) return *text == *b.text();
  if (const bool* const truth = a.truth()) return *truth == *b.truth();
  return true;
}

bool is_plain(const Node& node) { return node.list() == nullptr && node.object() == nullptr; }

// The keys of one that the other has not, or has with another value.
std::string first_difference(const Node& one, const Node& other, bool one_is_there) {
  if (one.object() == nullptr) return {};
  for (const auto& [key, value] : *one.object()) {
    if (std::ranges::find(kNoSettings, key) != kNoSettings.end()) continue;
    const Node* const found = other.find(key);
    if (found != nullptr && same(value, *found)) continue;
    std::string text = "'" + key + "'";
    if (found != nullptr && is_plain(value) && is_plain(*found)) {
      const Node& there = one_is_there ? value : *found;
      const Node& asked = one_is_there ? *found : value;
      text += fmt::format(" ({}, not {})", plain(there), plain(asked));
    }
    return text;
  }
  return {};
}

}  // namespace

std::string other_setting(const Node& there, const Node& asked) {
  const std::string text = first_difference(asked, there, false);
  return text.empty() ? first_difference(there, asked, true) : text;
}

void check_same_settings(const fs::path& folder, std::string_view config) {
  std::error_code failed;
  if (!fs::exists(folder / "summary.json", failed)) return;  // nothing to lose
  std::string what = "settings that cannot be read";
  try {
    what = other_setting(parse_document(read_whole(folder / "config.json"), "config.json"),
                         parse_document(config, "config.json"));
    if (what.empty()) return;
    what = "another " + what;
  } catch (const Error&) {
    // No config.json, or none of ours: nobody can tell what would be lost.
  }
  throw WithRemedy<Error>([=](const auto& name) {
    return fmt::format(
        "{} holds results with {}; {} puts the new ones in their place, another {} keeps both.",
        folder.string(), what, name("replace"), name("out"));
  });
}

}  // namespace medgrad::lab
