// What commands that run experiments on language models have in common.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "lab/document.h"

namespace medgrad::app {

// A document and what errors call it.
using NamedDocument = std::pair<std::string, lab::Node>;

class LanguageExperiments : public Command {
 public:
  void declare(Options& options) override;

 protected:
  // Reads and checks all, runs them, writes the result folders and the report, prints the claims.
  // `command` makes all of it again.
  void run_all(const std::vector<NamedDocument>& documents, const Common& common,
               std::string command) const;

 private:
  std::string out_ = "results", memory_ = "2.5";
  bool pdf_ = false, no_svg_ = false;
};

// Options that change the settings of an experiment on gradients.
class GradientOptions {
 public:
  void declare(Options& options);
  // Puts those that were given into the document, and --seed.
  void apply(lab::Node& document, const Common& common) const;
  // " --batch 64 --tau 0.1": those that were given, for the command that makes it again.
  [[nodiscard]] std::string given(const Common& common) const;

 private:
  std::string batch_, tau_, steps_, methods_, dropout_, size_, limit_;
  bool random_order_ = false, noise_ = false;
};

}  // namespace medgrad::app
