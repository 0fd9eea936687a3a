// medgrad-torch describe: what its commands are like, as JSON.
#include <iostream>

#include "description.h"
#include "torch/commands.h"

namespace medgrad::app {
namespace {

class Describe final : public Command {
 public:
  explicit Describe(Commands (*all)()) : all_(all) {}
  std::string_view name() const override { return "describe"; }
  std::string_view summary() const override { return "the commands of this program, as JSON"; }
  std::string_view usage() const override { return ""; }
  void declare(Options&) override {}
  void run(const Common&) override {
    std::vector<Description> commands;
    for (const auto& command : all_())
      if (command->name() != "describe" && command->name() != "runtime")
        commands.push_back(app::describe(*command));
    std::cout << to_json(commands) << "\n";
  }

 private:
  Commands (*all_)();
};

}  // namespace

std::unique_ptr<Command> make_describe(Commands (*all)()) {
  return std::make_unique<Describe>(all);
}

}  // namespace medgrad::app
