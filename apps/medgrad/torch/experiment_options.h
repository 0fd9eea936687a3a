// Options that change the settings of experiments on language models. Each kind of experiment has
// its own; one that an experiment does not have is an Error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command.h"
#include "lab/reader.h"

namespace medgrad::app {

class ExperimentOptions {
 public:
  enum class Offered : std::uint8_t { all, of_gradients, seeds };
  void declare(Options& options, Offered offered);
  // Puts those that were given into the document, and --seed.
  void apply(Node& document, const Common& common) const;

 private:
  [[nodiscard]] const std::string* given(std::string_view option) const;  // nullptr: not given
  void match_rates(Node& document) const;

  struct Value {
    std::string text;
    bool flag = false;
  };
  std::vector<Value> values_;  // in the order of the table
};

}  // namespace medgrad::app
