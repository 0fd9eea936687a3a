// A checksum of bytes in their order: tells damaged or other data, not an attacker.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace medgrad {

// h <- (h ^ word) p, then h <- h ^ (h >> 32), over words of eight bytes and the length at the end.
// Both are bijections of h, and the first one of the word: a change of a single word always shows.
// Cuts between calls do not matter.
class Checksum {
 public:
  void add(std::string_view bytes) {
    size_ += bytes.size();
    if (held_ > 0) {
      const std::size_t more = std::min(bytes.size(), part_.size() - held_);
      hold(bytes.substr(0, more));
      bytes.remove_prefix(more);
      if (held_ < part_.size()) return;
      take(part_.data());
      held_ = 0;
    }
    for (; bytes.size() >= part_.size(); bytes.remove_prefix(part_.size())) take(bytes.data());
    hold(bytes);
  }
  template <class T>
  void add_all(std::span<const T> values) {
    add({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }

  [[nodiscard]] std::uint64_t value() const {
    Checksum end = *this;
    std::fill(end.part_.begin() + static_cast<std::ptrdiff_t>(held_), end.part_.end(), '\0');
    end.take(end.part_.data());
    end.mix(size_);
    return end.hash_;
  }
  // Sixteen hexadecimal digits.
  [[nodiscard]] std::string text() const {
    std::string digits;
    for (int shift = 60; shift >= 0; shift -= 4)
      digits.push_back("0123456789abcdef"[value() >> shift & 15]);
    return digits;
  }

 private:
  void hold(std::string_view bytes) {
    std::copy(bytes.begin(), bytes.end(), part_.begin() + static_cast<std::ptrdiff_t>(held_));
    held_ += bytes.size();
  }
  void take(const char* bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    mix(word);
  }
  void mix(std::uint64_t word) {
    hash_ = (hash_ ^ word) * 0x9e3779b97f4a7c15;
    hash_ ^= hash_ >> 32;
  }

  std::uint64_t hash_ = 0, size_ = 0;
  std::array<char, 8> part_ = {};  // bytes that make no word yet
  std::size_t held_ = 0;
};

}  // namespace medgrad
