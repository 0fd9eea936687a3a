// What the meeting point of workers and its visitors say to each other: frames of a length (32
// bits, as the processor has them) and so many bytes, which are a list of texts, each with its
// length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace medgrad::libtorch {

using Texts = std::vector<std::string>;

inline void append_length(std::string& to, std::size_t length) {
  const auto value = static_cast<std::uint32_t>(length);
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  to.append(bytes, sizeof value);
}

inline std::size_t length_at(std::string_view bytes) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

inline constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);

[[nodiscard]] inline std::string frame_of(const Texts& texts) {
  std::string inside, frame;
  for (const std::string& text : texts) {
    append_length(inside, text.size());
    inside += text;
  }
  append_length(frame, inside.size());
  return frame + inside;
}

// The texts within a frame; nothing where it is not made of texts.
[[nodiscard]] inline std::optional<Texts> texts_of(std::string_view inside) {
  Texts texts;
  while (!inside.empty()) {
    if (inside.size() < kLengthBytes) return std::nullopt;
    const std::size_t length = length_at(inside);
    inside.remove_prefix(kLengthBytes);
    if (inside.size() < length) return std::nullopt;
    texts.emplace_back(inside.substr(0, length));
    inside.remove_prefix(length);
  }
  return texts;
}

}  // namespace medgrad::libtorch
