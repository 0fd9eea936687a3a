// The one exception type of medgrad: a mistake of the caller or of the input, said in one sentence.
#pragma once

#include <stdexcept>
#include <string>

namespace medgrad {

// what() is a sentence a user can act on: it names the option, or the file and line, the offending
// value, and what would be right. The command line prints it and leaves with exit code 2.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& sentence) : std::runtime_error(sentence) {}
};

}  // namespace medgrad
