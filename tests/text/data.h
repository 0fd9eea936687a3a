// What the tests of the text layer share: the reference values, the real data where it is, the
// environment.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
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

// Sets a variable of the environment for one test; null removes it.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const old = std::getenv(name)) old_ = old;
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  ~Variable() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

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
