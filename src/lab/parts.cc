// "part": a list of objects whose keys are put over the document's.
#include <fmt/core.h>

#include <algorithm>

#include "lab/study.h"

namespace medgrad::lab {
namespace {

// The document without its parts, and with the keys of this one.
Node merged(const Node& document, const Node& part) {
  Node made = document;
  std::erase_if(std::get<Node::Object>(made.value),
                [](const auto& entry) { return entry.first == "part"; });
  for (const auto& [key, value] : *part.object()) {
    if (key == "name") continue;
    if (Node* there = made.find(key)) {
      *there = value;
    } else {
      std::get<Node::Object>(made.value).emplace_back(key, value);
    }
  }
  return made;
}

}  // namespace

std::vector<std::pair<Axes, Node>> read_parts(Reader& reader,
                                              std::initializer_list<std::string_view> of_all) {
  const Node* const part = reader.any("part");
  if (part == nullptr) return {{{}, reader.node()}};
  if (part->list() == nullptr) reader.fail(*part, "'part' must be a list of objects.");
  std::vector<std::string_view> common(std::begin(kCommonKeys), std::end(kCommonKeys));
  common.insert(common.end(), of_all);
  common.emplace_back("part");
  std::vector<std::pair<Axes, Node>> parts;
  for (const Node& item : *part->list()) {
    Reader keys(item, reader.file(), "a part");
    for (const std::string_view key : common) {
      if (const Node* given = item.find(key))
        reader.fail(*given, fmt::format("'{}' belongs to all parts.", key));
    }
    const Axes axes = {{"part", keys.text("name")}};
    if (std::ranges::find(parts, axes, &std::pair<Axes, Node>::first) != parts.end())
      reader.fail(item, fmt::format("two parts are called '{}'.", keys.text("name")));
    parts.emplace_back(axes, merged(reader.node(), item));
  }
  return parts;
}

}  // namespace medgrad::lab
