// Pieces of JSON, appended to a text.
#pragma once

#include <string>
#include <string_view>

namespace medgrad::lab {

// With quotes; what is not UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// With the precision of a float, beyond its range with nine digits; null for NaN, "inf" and "-inf"
// as texts.
void append_json_number(std::string& out, double value);

}  // namespace medgrad::lab
