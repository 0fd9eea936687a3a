// Numbers in messages.
#pragma once

#include <array>
#include <charconv>
#include <string>

namespace medgrad {

// The fewest characters that read back to the same number: "0.1", "inf", "nan".
[[nodiscard]] inline std::string number(double x) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), x).ptr};
}

}  // namespace medgrad
