// medgrad reproduce and run, for experiments on language models.
#include <fmt/core.h>

#include <filesystem>
#include <iostream>

#include "base/file.h"
#include "lab/experiments.h"
#include "language/gradient_settings.h"
#include "medgrad/error.h"
#include "text.h"
#include "torch/commands.h"
#include "torch/experiment_options.h"
#include "torch/experiments.h"

namespace medgrad::app {
namespace {

class Reproduce final : public LanguageExperiments {
 public:
  std::string_view name() const override { return "reproduce"; }
  std::string_view summary() const override {
    return "run the paper's experiments on language models, check its claims and write a report; "
           "some are scaled down for a CPU, and say so";
  }
  std::string_view usage() const override { return "NAME... [options]"; }
  void declare(Options& options) override {
    options.arguments("NAME", names_, "experiments on language models (medgrad list experiments)");
    options.flag("--paper-scale", paper_scale_,
                 "the paper's sizes, which take hours to days on a CPU");
    options.flag("--print", print_,
                 "print the experiments' files instead of running them, to edit and run");
    LanguageExperiments::declare(options);
    settings_.declare(options, ExperimentOptions::Offered::all);
  }
  std::string details() const override {
    return fmt::format(
        "\n{}\n",
        wrapped("Settings that are not given are taken from the experiment's file "
                "(--print). Those that are given apply to all experiments named: those on "
                "gradients (fixed-*, noise-*) and those on training (train-*).",
                0));
  }
  void run(const Common& common) override {
    if (names_.empty()) throw Error("NAME is missing; medgrad list experiments shows all of them.");
    std::vector<NamedDocument> documents;
    for (const std::string& name : names_) {
      const lab::BuiltIn& one = lab::find_built_in(name);
      if (print_) {
        std::cout << one.text;
        continue;
      }
      const std::string file = fmt::format("{}.json", name);
      Node document = parse_document(one.text, file);
      if (paper_scale_) document = language::at_paper_scale(std::move(document));
      settings_.apply(document, common);
      documents.emplace_back(file, std::move(document));
    }
    if (!print_) run_all(documents, common);
  }

 private:
  std::vector<std::string> names_;
  bool paper_scale_ = false, print_ = false;
  ExperimentOptions settings_;
};

class Run final : public LanguageExperiments {
 public:
  std::string_view name() const override { return "run"; }
  std::string_view summary() const override {
    return "run experiments on language models from files, such as the config.json of a result "
           "folder";
  }
  std::string_view usage() const override { return "FILE.json... [options]"; }
  void declare(Options& options) override {
    options.arguments("FILE", files_, "experiments");
    LanguageExperiments::declare(options);
    settings_.declare(options, ExperimentOptions::Offered::seeds);
  }
  void run(const Common& common) override {
    if (files_.empty()) throw Error("FILE is missing; medgrad run needs at least one experiment.");
    std::vector<NamedDocument> documents;
    for (const std::string& file : files_) {
      documents.emplace_back(file, parse_document(read_whole(file), file));
      settings_.apply(documents.back().second, common);
    }
    run_all(documents, common);
  }

 private:
  std::vector<std::string> files_;
  ExperimentOptions settings_;
};

}  // namespace

std::unique_ptr<Command> make_language_reproduce() { return std::make_unique<Reproduce>(); }
std::unique_ptr<Command> make_language_run() { return std::make_unique<Run>(); }

}  // namespace medgrad::app
