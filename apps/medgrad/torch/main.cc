// medgrad-torch COMMAND: the commands that need libtorch. `medgrad` starts it, and users need not
// know.
#include <exception>

#include "medgrad/torch/runtime.h"
#include "program.h"
#include "torch/commands.h"
#include "torch/failure.h"

namespace medgrad::app {
namespace {

Commands torch_commands() {
  Commands commands;
  commands.push_back(make_runtime());
  commands.push_back(make_describe(torch_commands));
  commands.push_back(make_train());
  commands.push_back(make_sweep());
  commands.push_back(make_gradients());
  commands.push_back(make_launch());
  commands.push_back(make_language_reproduce());
  commands.push_back(make_language_run());
  return commands;
}

}  // namespace
}  // namespace medgrad::app

int main(int argc, char** argv) {
  std::set_terminate(medgrad::libtorch::end_with_a_sentence);
  medgrad::libtorch::keep_memory();
  medgrad::libtorch::use_fast_blas();
  return medgrad::app::run_program(medgrad::app::torch_commands(), {argv + 1, argv + argc},
                                   medgrad::libtorch::sentence_of);
}
