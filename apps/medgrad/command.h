// What a command of `medgrad` is: options, a text of help, and something to run.
//
// To add a command: one file with a class, one line in main.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace medgrad::app {

// Options that every command has.
struct Common {
  std::string seed;  // empty: not given
  std::string threads = "0";
  bool quiet = false;
};

// Where a command says which options it has. Values arrive as text, and the command turns them into
// numbers when it runs: so every mistake is told in our words.
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
};

class Command {
 public:
  virtual ~Command() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view summary() const = 0;  // one line
  [[nodiscard]] virtual std::string_view usage() const = 0;    // what follows "medgrad NAME"
  virtual void declare(Options& options) = 0;
  // Help beyond the options; may depend on the arguments that stood beside --help.
  [[nodiscard]] virtual std::string details() const { return {}; }
  virtual void run(const Common& common) = 0;
  // Reads the arguments after its name and runs, or prints its help.
  virtual void start(std::vector<std::string> arguments);
};

using Commands = std::vector<std::unique_ptr<Command>>;

[[nodiscard]] std::unique_ptr<Command> make_list();
[[nodiscard]] std::unique_ptr<Command> make_doctor();
[[nodiscard]] std::unique_ptr<Command> make_prox();
[[nodiscard]] std::unique_ptr<Command> make_project();
[[nodiscard]] std::unique_ptr<Command> make_estimate();
[[nodiscard]] std::unique_ptr<Command> make_aggregate();
[[nodiscard]] std::unique_ptr<Command> make_noise();
[[nodiscard]] std::unique_ptr<Command> make_theory();
[[nodiscard]] std::unique_ptr<Command> make_reproduce();
[[nodiscard]] std::unique_ptr<Command> make_run();
[[nodiscard]] std::unique_ptr<Command> make_report();
[[nodiscard]] std::unique_ptr<Command> make_data();

// ---- Text to numbers ----------------------------------------------------------------------------

// "inf" is a number here; NaN is not. Throws Error ("--tau is 'abc'; it must be a number.").
[[nodiscard]] double to_number(std::string_view option, const std::string& text);
// Also written with a power of ten, as in 1e6 or 1.5e3.
[[nodiscard]] std::uint64_t to_whole_number(std::string_view option, const std::string& text,
                                            std::uint64_t min);
// A number of threads; 0: one per core. More than 1024 is an Error.
[[nodiscard]] unsigned thread_count(std::string_view option, const std::string& text);
// One of the given words; an Error that lists them where it is none.
void check_word(std::string_view option, const std::string& text,
                std::initializer_list<std::string_view> words);

}  // namespace medgrad::app
