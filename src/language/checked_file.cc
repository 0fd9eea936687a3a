#include "language/checked_file.h"

#include <fmt/core.h>

#include <string>

namespace medgrad::language {
namespace {

constexpr std::string_view kLastLine = "\nmedgrad checksum ";
constexpr std::size_t kLastLineSize = kLastLine.size() + 16 + 1;

std::string last_line(const Checksum& sum) { return fmt::format("{}{}\n", kLastLine, sum.text()); }

}  // namespace

void CheckedFile::commit() {
  out_.write(last_line(sum_));
  out_.commit();
}

std::string_view checked(std::string_view bytes) {
  if (bytes.size() < kLastLineSize) return {};
  const std::string_view content = bytes.substr(0, bytes.size() - kLastLineSize);
  Checksum sum;
  sum.add(content);
  return bytes.substr(content.size()) == last_line(sum) ? content : std::string_view();
}

}  // namespace medgrad::language
