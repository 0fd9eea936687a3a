// SHA-256 (FIPS 180-4), to tell whether a file is the one that was published.
#pragma once

#include <string>
#include <string_view>

namespace medgrad::text {

// 64 hexadecimal digits, in lower case.
[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace medgrad::text
