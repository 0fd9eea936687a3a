// medgrad reproduce and run, for experiments on language models.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "lab/experiments.h"
#include "language/gradient_settings.h"
#include "medgrad/error.h"
#include "torch/commands.h"
#include "torch/experiments.h"

namespace medgrad::app {
namespace {

class Reproduce final : public LanguageExperiments {
 public:
  std::string_view name() const override { return "reproduce"; }
  std::string_view summary() const override {
    return "run the paper's experiments on language models, check its claims and write a report; "
           "scaled down for a CPU where it says so";
  }
  std::string_view usage() const override { return "NAME... [options]"; }
  void declare(Options& options) override {
    options.arguments("NAME", names_, "experiments on language models (medgrad list experiments)");
    options.flag("--paper-scale", paper_scale_, "the paper's sizes: hours to days on a CPU");
    options.flag("--print", print_, "print the experiments' files instead, to edit and run");
    LanguageExperiments::declare(options);
    settings_.declare(options);
  }
  std::string details() const override {
    return "\nOptions that change settings apply to all experiments named.\n";
  }
  void run(const Common& common) override {
    if (names_.empty())
      throw Error("NAME is missing: which experiment? See medgrad list experiments.");
    std::vector<NamedDocument> documents;
    std::string command = "medgrad reproduce";
    for (const std::string& name : names_) {
      command.append(" ").append(name);
      const lab::BuiltIn& one = lab::find_built_in(name);
      if (print_) {
        std::cout << one.text;
        continue;
      }
      if (!lab::is_language_experiment(name))
        throw Error(std::string("'").append(name).append(
            "' is not about a language model; run it by a command of its own."));
      const std::string file = std::string(name).append(".json");
      lab::Node document = lab::parse_document(one.text, file);
      if (paper_scale_) document = language::at_paper_scale(std::move(document));
      settings_.apply(document, common);
      documents.emplace_back(file, std::move(document));
    }
    if (paper_scale_) command.append(" --paper-scale");
    if (!print_) run_all(documents, common, command.append(settings_.given(common)));
  }

 private:
  std::vector<std::string> names_;
  bool paper_scale_ = false, print_ = false;
  GradientOptions settings_;
};

class Run final : public LanguageExperiments {
 public:
  std::string_view name() const override { return "run"; }
  std::string_view summary() const override {
    return "run experiments on language models from files, as config.json of a result folder";
  }
  std::string_view usage() const override { return "FILE.json... [options]"; }
  void declare(Options& options) override {
    options.arguments("FILE", files_, "experiments");
    LanguageExperiments::declare(options);
  }
  void run(const Common& common) override {
    if (files_.empty()) throw Error("FILE is missing: which experiment? See medgrad run --help.");
    std::vector<NamedDocument> documents;
    std::string command = "medgrad run";
    for (const std::string& file : files_) {
      command.append(" ").append(file);
      std::ifstream in(file, std::ios::binary);
      if (!in || std::filesystem::is_directory(file))
        throw Error(std::string(file).append(" cannot be read."));
      const std::string text((std::istreambuf_iterator<char>(in)),
                             std::istreambuf_iterator<char>());
      documents.emplace_back(file, lab::parse_document(text, file));
      if (!common.seed.empty())
        language::put(documents.back().second, "seed",
                      {static_cast<double>(to_whole_number("--seed", common.seed, 0)), 1});
    }
    run_all(documents, common, command);
  }

 private:
  std::vector<std::string> files_;
};

}  // namespace

std::unique_ptr<Command> make_language_reproduce() { return std::make_unique<Reproduce>(); }
std::unique_ptr<Command> make_language_run() { return std::make_unique<Run>(); }

}  // namespace medgrad::app
