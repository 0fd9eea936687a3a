// JSON that we write, and read again.
#pragma once

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

namespace medgrad {

using Json = nlohmann::ordered_json;

// JSON has no infinities and no NaN; they are words there: "inf", "-inf", "nan".
[[nodiscard]] inline Json json_number(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

[[nodiscard]] inline double number_of(const Json& json) {
  return json.is_string() ? std::strtod(json.get_ref<const std::string&>().c_str(), nullptr)
                          : json.get<double>();
}

}  // namespace medgrad
