#include "program.h"

#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include "base/suggest.h"
#include "medgrad/error.h"
#include "medgrad/version.h"
#include "text.h"

namespace medgrad::app {
namespace {

void dispatch(const Commands& commands, std::vector<std::string> arguments) {
  const std::string first = arguments.empty() ? "--help" : arguments[0];
  if (first == "--help" || first == "-h") {
    std::cout << overview(commands);
    return;
  }
  if (first == "--version" || first == "-v") {
    std::cout << "medgrad " << kVersion << "\n";
    return;
  }
  if (first.starts_with('-')) {
    throw Error(fmt::format(
        "a command comes before its options, as in medgrad list {}; see medgrad help.", first));
  }
  arguments.erase(arguments.begin());
  find_command(commands, first).start(std::move(arguments));
}

int complain(const char* sentence, int code) {
  std::fprintf(stderr, "medgrad: %s\n", sentence);
  return code;
}

}  // namespace

std::string overview(const Commands& commands) {
  std::vector<TextRow> rows;
  for (const auto& command : commands) rows.emplace_back(command->name(), command->summary());
  return fmt::format(
      "usage: medgrad COMMAND [options]\n\n{}\n\n{}\nmedgrad --version, or -v, prints the "
      "version.\n",
      kTagline, columns(rows));
}

Command& find_command(const Commands& commands, std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& command : commands) {
    if (command->name() == name) return *command;
    names.push_back(command->name());
  }
  throw Error(
      fmt::format("'{}' is not a command{}", name, instead_of(name, names, "medgrad help")));
}

int run_program(const Commands& commands, std::vector<std::string> arguments,
                std::string (*explain)(const std::exception&)) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is then an error code of write()
  try {
    dispatch(commands, std::move(arguments));
    if (!std::cout.flush()) {
      throw std::system_error(errno, std::generic_category(), "standard output cannot be written");
    }
    return 0;
  } catch (const Error& error) {
    return complain(error.what(), 2);
  } catch (const std::system_error& error) {
    // The reader of our output has seen enough, as in `medgrad ... | head`.
    if (error.code() == std::errc::broken_pipe) return 1;
    return complain((std::string(error.what()) + ".").c_str(), 1);
  } catch (const std::bad_alloc&) {
    return complain("there is not enough memory.", 1);
  } catch (const std::exception& error) {
    return complain(explain == nullptr ? error.what() : explain(error).c_str(), 1);
  }
}

}  // namespace medgrad::app
