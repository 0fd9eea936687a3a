// medgrad COMMAND: the command line of the library.
#include "program.h"
#include "torch_program.h"

namespace medgrad::app {
namespace {

Commands all_commands() {
  Commands commands;
  commands.push_back(make_help(all_commands));
  commands.push_back(make_list());
  commands.push_back(make_doctor());
  commands.push_back(make_prox());
  commands.push_back(make_project());
  commands.push_back(make_estimate());
  commands.push_back(make_aggregate());
  commands.push_back(make_attack());
  commands.push_back(make_noise());
  commands.push_back(make_theory());
  commands.push_back(make_reproduce());
  commands.push_back(make_run());
  commands.push_back(make_torch_command(
      "gradients",
      "measure the gradient of a language task at fixed weights: how noisy it is, and how well "
      "methods track it"));
  commands.push_back(make_report());
  commands.push_back(make_data());
  commands.push_back(make_torch_command("train", "train a language model with any method"));
  commands.push_back(
      make_torch_command("sweep", "tune the learning rates of several methods on a language task"));
  commands.push_back(make_torch_command("launch", "start and watch many workers"));
  return commands;
}

}  // namespace
}  // namespace medgrad::app

int main(int argc, char** argv) {
  return medgrad::app::run_program(medgrad::app::all_commands(), {argv + 1, argv + argc});
}
