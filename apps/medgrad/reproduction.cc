// medgrad-reproduce: the experiments of the paper and their report, without the other commands of
// `medgrad`, which take 25 s to compile. `./dev reproduce` runs it.
#include "program.h"

int main(int argc, char** argv) {
  medgrad::app::Commands commands;
  commands.push_back(medgrad::app::make_reproduce());
  commands.push_back(medgrad::app::make_run());
  commands.push_back(medgrad::app::make_report());
  return medgrad::app::run_program(commands, {argv + 1, argv + argc});
}
