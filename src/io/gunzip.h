// What gzip has packed, unpacked while it is read.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace medgrad::internal {

// With it the only method of compression that there is.
inline constexpr std::string_view kGzipMagic = "\x1F\x8B\x08";

class Gunzip {
 public:
  // `first` are the bytes that have been read already. Throws Error where this build has no zlib.
  Gunzip(std::string name, std::string_view first);
  ~Gunzip();

  // Fills `out` from its beginning, with bytes that `raw` yields; returns how many there are, 0
  // only at the end. What is truncated or damaged is an Error, after everything before the damage.
  [[nodiscard]] std::size_t read(std::span<char> out,
                                 const std::function<std::size_t(std::span<char>)>& raw);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace medgrad::internal
