// Numbers in JSON.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

#include "method_choice.h"

namespace medgrad::app {

using Json = nlohmann::ordered_json;

// JSON has no infinities and no NaN; they are words there: "inf", "-inf", "nan".
[[nodiscard]] inline Json json_number(double x) {
  return std::isfinite(x) ? Json(x) : Json(text_of(x));
}

}  // namespace medgrad::app
