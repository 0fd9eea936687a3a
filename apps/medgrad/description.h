// What a command says about itself: the one table from which its help, the manual page and the
// completions of shells are made.
#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace medgrad::app {

struct Description {
  struct Argument {
    std::string name, help;
    bool repeated = false;
    std::vector<std::string> words;  // what may stand there, where that is a fixed set
  };
  struct Option {
    std::vector<std::string> names;  // "--help", "-h"
    std::string operand;             // empty: a flag
    std::string help;                // empty: explained in the details
    std::vector<std::string> words;
  };
  std::string name, summary, usage, details;
  std::vector<Argument> arguments;
  std::vector<Option> options;
};

[[nodiscard]] Description describe(Command& command);
[[nodiscard]] std::string help_text(const Description& command);
// One of those that every command has?
[[nodiscard]] bool is_common(const Description::Option& option);
// "-h, --help", "--out FILE": as in lists of options.
[[nodiscard]] std::string heading(const Description::Option& option);

// One program tells the other about its commands in this form.
[[nodiscard]] std::string to_json(const std::vector<Description>& commands);
[[nodiscard]] std::vector<Description> descriptions_from_json(const std::string& text);

}  // namespace medgrad::app
