// medgrad help: about a command, or everything as a manual page or for the completion of a shell.
#include <algorithm>
#include <iostream>

#include "command.h"
#include "completion.h"
#include "description.h"
#include "manual.h"
#include "medgrad/error.h"
#include "program.h"
#include "torch_program.h"

namespace medgrad::app {
namespace {

// Commands that medgrad-torch has are described by it; of those that both programs have, the
// options that only it knows are added.
std::vector<Description> descriptions(const Commands& commands) {
  std::vector<Description> all;
  for (const auto& command : commands) all.push_back(describe(*command));
  if (torch_program().empty()) return all;
  for (Description& theirs : descriptions_from_json(output_of_torch_program({"describe"}))) {
    const auto ours = std::ranges::find(all, theirs.name, &Description::name);
    if (ours == all.end()) continue;
    if (ours->arguments.empty() && std::ranges::all_of(ours->options, is_common)) {
      *ours = std::move(theirs);
      continue;
    }
    for (Description::Option& option : theirs.options) {
      const auto same = [&](const Description::Option& o) { return o.names == option.names; };
      if (std::ranges::none_of(ours->options, same)) ours->options.push_back(std::move(option));
    }
  }
  return all;
}

class Help final : public Command {
 public:
  explicit Help(Commands (*all)()) : all_(all) {}
  std::string_view name() const override { return "help"; }
  std::string_view summary() const override {
    return "explain a command, as medgrad COMMAND --help does";
  }
  std::string_view usage() const override { return "[COMMAND [ARGUMENT...]] [options]"; }
  void declare(Options& options) override {
    options.argument("COMMAND", command_, "the command (default: list all of them)");
    options.arguments("ARGUMENT", arguments_, "as in medgrad help estimate vclip");
    options.flag("--man", man_, "print the manual page, medgrad(1)");
    options.value("--completion", shell_, "SHELL", "print the completion script for bash or zsh");
    options.offer("--completion", {"bash", "zsh"});
    std::vector<std::string> names;
    for (const auto& one : all_())
      if (one->name() != name()) names.emplace_back(one->name());
    options.offer("COMMAND", names);
  }

  // "help COMMAND ..." is "COMMAND ... --help", options and all.
  void start(std::vector<std::string> arguments) override {
    if (arguments.empty() || arguments[0].starts_with('-'))
      return Command::start(std::move(arguments));
    const Commands commands = all_();
    Command& command = find_command(commands, arguments[0]);
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
    if (command.name() == name()) return Command::start({"--help"});
    command.start(std::move(arguments));
  }
  void run(const Common&) override {
    const Commands commands = all_();
    if (!shell_.empty()) check_word("--completion", shell_, {"bash", "zsh"});
    if (man_ && !shell_.empty()) throw Error("--man and --completion exclude each other.");
    if (man_) {
      std::cout << manual_page(descriptions(commands));
    } else if (shell_ == "bash") {
      std::cout << bash_completion(descriptions(commands));
    } else if (shell_ == "zsh") {
      std::cout << zsh_completion(descriptions(commands));
    } else {
      std::cout << overview(commands);
    }
  }

 private:
  Commands (*all_)();
  std::string command_, shell_;
  std::vector<std::string> arguments_;
  bool man_ = false;
};

}  // namespace

std::unique_ptr<Command> make_help(Commands (*all)()) { return std::make_unique<Help>(all); }

}  // namespace medgrad::app
