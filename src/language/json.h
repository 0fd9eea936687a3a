// JSON of runs. It has no infinities and no NaN; they are words there: "inf", "-inf", "nan".
#pragma once

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

namespace medgrad::language {

using Json = nlohmann::ordered_json;

[[nodiscard]] inline Json json_of(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

[[nodiscard]] inline double number_of(const Json& json) {
  return json.is_string() ? std::strtod(json.get<std::string>().c_str(), nullptr)
                          : json.get<double>();
}

}  // namespace medgrad::language
