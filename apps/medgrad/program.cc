#include "program.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include "medgrad/error.h"
#include "medgrad/registry.h"
#include "medgrad/version.h"
#include "text.h"

namespace medgrad::app {
namespace {

std::string overview(const Commands& commands) {
  std::vector<TextRow> rows;
  for (const auto& command : commands) rows.emplace_back(command->name(), command->summary());
  return "usage: medgrad COMMAND [options]\n\nTracks the median of noisy gradients. Rows of files "
         "are vectors.\n\n" +
         columns(rows) +
         "\n  medgrad COMMAND --help     options of a command; with a METHOD, all about it\n"
         "  medgrad --version\n";
}

void dispatch(const Commands& commands, std::vector<std::string> arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" ||
      arguments[0] == "help") {
    std::cout << overview(commands);
    return;
  }
  if (arguments[0] == "--version") {
    std::cout << "medgrad " << kVersion << "\n";
    return;
  }
  std::vector<std::string_view> names;
  for (const auto& command : commands) {
    names.push_back(command->name());
    if (command->name() != arguments[0]) continue;
    arguments.erase(arguments.begin());
    command->start(std::move(arguments));
    return;
  }
  if (arguments[0].starts_with('-'))
    throw Error("a command comes before its options, as in medgrad list " + arguments[0] +
                "; see medgrad --help.");
  throw Error("'" + arguments[0] + "' is no command; the nearest is '" +
              std::string(nearest(arguments[0], names)) + "' (medgrad --help shows all).");
}

int complain(const char* sentence, int code) {
  std::fprintf(stderr, "medgrad: %s\n", sentence);
  return code;
}

}  // namespace

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
    // Whoever read our output has seen enough, as in `medgrad ... | head`.
    if (error.code() == std::errc::broken_pipe) return 1;
    return complain((std::string(error.what()) + ".").c_str(), 1);
  } catch (const std::bad_alloc&) {
    return complain("there is not enough memory.", 1);
  } catch (const std::exception& error) {
    return complain(explain == nullptr ? error.what() : explain(error).c_str(), 1);
  }
}

}  // namespace medgrad::app
