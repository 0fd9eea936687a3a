// What a command of `medgrad` is: options, a text of help, and something to run.
//
// To add a command: one file with a class, one line in main.cc.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/remedy.h"
#include "medgrad/error.h"

namespace medgrad::app {

// Options that every command has.
struct Common {
  std::string seed;      // empty: not given
  unsigned threads = 0;  // 0: one per core
  bool quiet = false;
};

// Where a command says which options it has. Values arrive as text, and the command turns them into
// numbers when it runs: so every mistake is reported in our own words.
class Options {
 public:
  virtual ~Options() = default;
  virtual void flag(const std::string& name, bool& target, const std::string& help) = 0;
  // An empty `help` leaves an option out of the list (it is explained elsewhere in the help).
  virtual void value(const std::string& name, std::string& target, const std::string& operand,
                     const std::string& help) = 0;
  virtual void argument(const std::string& name, std::string& target, const std::string& help) = 0;
  virtual void arguments(const std::string& name, std::vector<std::string>& target,
                         const std::string& help) = 0;
  // The words that may be given for an option or argument declared before: for completion.
  virtual void offer(const std::string& name, std::vector<std::string> words) = 0;
};

class Command {
 public:
  virtual ~Command() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view summary() const = 0;  // one line
  [[nodiscard]] virtual std::string_view usage() const = 0;    // what follows "medgrad NAME"
  virtual void declare(Options& options) = 0;
  // Help beyond the options; may depend on the arguments given with --help.
  [[nodiscard]] virtual std::string details() const { return {}; }
  virtual void run(const Common& common) = 0;
  // Reads the arguments after its name and runs, or prints its help.
  virtual void start(std::vector<std::string> arguments);
};

using Commands = std::vector<std::unique_ptr<Command>>;

// Needs to know all commands.
[[nodiscard]] std::unique_ptr<Command> make_help(Commands (*all)());
[[nodiscard]] std::unique_ptr<Command> make_list();
[[nodiscard]] std::unique_ptr<Command> make_doctor();
[[nodiscard]] std::unique_ptr<Command> make_prox();
[[nodiscard]] std::unique_ptr<Command> make_project();
[[nodiscard]] std::unique_ptr<Command> make_estimate();
[[nodiscard]] std::unique_ptr<Command> make_aggregate();
[[nodiscard]] std::unique_ptr<Command> make_attack();
[[nodiscard]] std::unique_ptr<Command> make_noise();
[[nodiscard]] std::unique_ptr<Command> make_theory();
[[nodiscard]] std::unique_ptr<Command> make_reproduce();
[[nodiscard]] std::unique_ptr<Command> make_run();
[[nodiscard]] std::unique_ptr<Command> make_report();
[[nodiscard]] std::unique_ptr<Command> make_data();

// ---- The library's words and ours ---------------------------------------------------------------

// What the command line calls a parameter: "--delta-1" for delta_1.
[[nodiscard]] std::string option_name(std::string_view parameter);

// Runs `work`; a sentence that says what to do names options instead of parameters.
template <class Work>
decltype(auto) with_named_remedies(Work&& work) {
  try {
    return work();
  } catch (const WithRemedy<Error>& error) {
    throw Error(error.sentence(option_name));
  } catch (const WithRemedy<std::runtime_error>& error) {
    throw std::runtime_error(error.sentence(option_name));
  }
}

// ---- Text to numbers ----------------------------------------------------------------------------

// "inf" is a number here; NaN is not. Throws Error ("--tau is 'abc'; it must be a number.").
[[nodiscard]] double to_number(std::string_view option, const std::string& text);
// Also written with a power of ten, as in 1e6 or 1.5e3.
[[nodiscard]] std::uint64_t to_whole_number(std::string_view option, const std::string& text,
                                            std::uint64_t min);
// The entries of a list, which are separated by commas; an Error where one is empty.
[[nodiscard]] std::vector<std::string> comma_list(std::string_view option, const std::string& text);
// One of the given words; otherwise an Error that lists them.
void check_word(std::string_view option, const std::string& text,
                std::span<const std::string_view> words);
// What a command with several actions is to do: an Error where it is missing or unknown.
void check_action(std::string_view command, const std::string& action,
                  std::initializer_list<std::string_view> actions);
inline void check_word(std::string_view option, const std::string& text,
                       std::initializer_list<std::string_view> words) {
  check_word(option, text, std::span(words.begin(), words.size()));
}

}  // namespace medgrad::app
