// What the tests of the text layer share: the reference values, and the real data where it is.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "testing.h"

namespace medgrad::testing {

inline nlohmann::json golden_json(const std::string& name) {
  std::ifstream in(golden(name));
  return nlohmann::json::parse(in);
}

// The folder of the real data; empty where MEDGRAD_DATA is not set.
inline std::filesystem::path real_data() {
  const char* const folder = std::getenv("MEDGRAD_DATA");
  return folder == nullptr ? "" : folder;
}

// The sentence of the Error that f throws, from the name of the file on.
template <class F>
std::string message_about(const std::string& file, const F& f) {
  const std::string sentence = message_of(f);
  const std::size_t at = sentence.find(file);
  return at == std::string::npos ? sentence : sentence.substr(at);
}

// Whether a data set is not there: `if (lacks("ptb")) GTEST_SKIP() << kNeedsData;`
inline bool lacks(std::string_view set) {
  return real_data().empty() || !std::filesystem::is_directory(real_data() / set);
}
inline constexpr std::string_view kNeedsData =
    "needs a data set in the folder that MEDGRAD_DATA names";

}  // namespace medgrad::testing
