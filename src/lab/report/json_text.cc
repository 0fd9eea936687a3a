#include "lab/report/json_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/json.h"

namespace medgrad::lab {

void append_json_string(std::string& out, std::string_view text) {
  out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append_json_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "null";
    return;
  }
  if (std::isinf(value)) {
    out += value > 0 ? "\"inf\"" : "\"-inf\"";
    return;
  }
  std::array<char, 32> text;
  char* const begin = text.data();
  char* const end = begin + text.size();
  const double size = std::fabs(value);
  std::to_chars_result result;
  if (size < 1e9 && value == std::floor(value)) {
    result = std::to_chars(begin, end, static_cast<long>(value));
  } else if (size >= std::numeric_limits<float>::min() &&
             size <= static_cast<double>(std::numeric_limits<float>::max())) {
    result = std::to_chars(begin, end, static_cast<float>(value));
  } else {
    result = std::to_chars(begin, end, value, std::chars_format::general, 9);
  }
  out.append(begin, result.ptr);
}

}  // namespace medgrad::lab
