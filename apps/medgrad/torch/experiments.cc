#include "torch/experiments.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>

#include "bar.h"
#include "claims.h"
#include "lab/runner.h"
#include "language/experiments.h"
#include "language/gradient_settings.h"
#include "language/runs.h"
#include "medgrad/error.h"
#include "medgrad/torch/runtime.h"
#include "torch/task_choice.h"

namespace medgrad::app {
namespace {

using lab::Node;

void warn(const Common& common, const std::string& sentence) {
  if (!common.quiet) std::fprintf(stderr, "medgrad: %s\n", sentence.c_str());
}

// The parts between commas; an Error where one is empty.
std::vector<std::string> parts(const std::string& option, const std::string& text) {
  std::vector<std::string> found;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    found.push_back(text.substr(begin, end - begin));
    if (found.back().empty())
      throw Error(option + " is '" + text + "'; it must be values between commas.");
    begin = end + 1;
  }
  return found;
}

Node number(double x) { return {x, 1}; }
Node whole(const std::string& option, const std::string& text, std::uint64_t min) {
  return number(static_cast<double>(to_whole_number(option, text, min)));
}
template <class Make>
Node list(const std::string& option, const std::string& text, Make make) {
  Node::List nodes;
  for (const std::string& part : parts(option, text)) nodes.push_back(make(part));
  return {std::move(nodes), 1};
}

double positive(const std::string& option, const std::string& text) {
  const double x = to_number(option, text);
  if (!(x > 0) || std::isinf(x))
    throw Error(option + " is '" + text + "'; it must be a number above 0.");
  return x;
}

}  // namespace

void LanguageExperiments::declare(Options& options) {
  options.value("--out", out_, "DIR", "where results go (default results)");
  options.value("--memory", memory_, "GIB",
                "keep the gradients of all batches where they fit into so much (default 2.5); "
                "changes the time, not the numbers");
  options.flag("--pdf", pdf_, "also draw the figures as PDF");
  options.flag("--no-svg", no_svg_, "do not draw the figures as SVG");
}

void LanguageExperiments::run_all(const std::vector<NamedDocument>& documents, const Common& common,
                                  std::string command) const {
  std::vector<language::LanguageExperiment> experiments;
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const auto& [file, document] : documents) {
    experiments.push_back(language::read_language_experiment(document, file));
    names.push_back(experiments.back().name);
    if (!taken.insert(names.back()).second)
      throw Error("two experiments are called '" + names.back() +
                  "'; their folders would collide.");
  }
  const auto threads = to_whole_number("--threads", common.threads, 0);
  const double memory = to_number("--memory", memory_);
  if (!(memory >= 0 && memory < 1e6))
    throw Error("--memory is '" + memory_ + "'; it must be a number of GiB, 0 or more.");
  medgrad::torch::use_threads(static_cast<int>(threads));
  if (const std::string slow = medgrad::torch::runtime().warning; !slow.empty()) warn(common, slow);

  for (const language::LanguageExperiment& one : experiments) language::require_data(one.task);
  ThreadPool pool(static_cast<unsigned>(threads));
  const bool was_there = std::filesystem::exists(out_);
  std::vector<lab::ResultFolder> folders = lab::open_folders(out_, names);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<lab::Finished> finished;
  const std::filesystem::path work = std::filesystem::path(out_) / ".unfinished";
  try {
    Bar bar(common);
    for (std::size_t i = 0; i < experiments.size(); ++i) {
      const auto progress = [&](double share) {
        constexpr std::size_t kFine = 100'000;
        bar.show(i * kFine + static_cast<std::size_t>(share * kFine), experiments.size() * kFine);
      };
      finished.push_back(experiments[i].run({.pool = &pool,
                                             .memory = static_cast<std::size_t>(memory * 0x1p30),
                                             .progress = progress,
                                             .work = work,
                                             .stop = &stop_requested()}));
    }
  } catch (const language::Interrupted&) {
    throw std::runtime_error(
        "stopped; the same command starts again, and goes on with training runs where they were.");
  } catch (...) {
    folders.clear();
    std::error_code ignored;
    if (!was_there) std::filesystem::remove(out_, ignored);
    throw;
  }
  lab::write_results(finished, std::move(folders),
                     {.out = out_,
                      .pool = &pool,
                      .svg = !no_svg_,
                      .pdf = pdf_,
                      .command = std::move(command),
                      .warn = [&](const std::string& sentence) { warn(common, sentence); }});
  std::error_code ignored;
  for (const std::string& name : names) std::filesystem::remove_all(work / name, ignored);
  std::filesystem::remove(work, ignored);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (common.quiet) return;
  std::vector<lab::Results> results;
  for (lab::Finished& one : finished) {
    for (const std::string& note : one.results.notes) std::cout << note << "\n";
    results.push_back(std::move(one.results));
  }
  std::cout << "\n";
  print_claims(results, out_, seconds);
}

void GradientOptions::declare(Options& options) {
  options.value("--batch", batch_, "LIST", "batch sizes between commas (default: the paper's)");
  options.value("--tau", tau_, "LIST", "step sizes of the methods (default 0.01)");
  options.value("--steps", steps_, "N", "steps that the methods take (default 400)");
  options.value("--methods", methods_, "LIST",
                "online methods (default momentum,vclip,cclip; medgrad list methods), or none");
  options.value("--dropout", dropout_, "P",
                "of the model; above 0 it is drawn anew for every gradient");
  options.flag("--random-order", random_order_, "batches in a new order in every pass");
  options.flag("--noise", noise_, "also measure the noise: histogram, Q-Q plot, tail index");
  options.value("--size", size_, "S", "paper (default) or small, a small model of the same kind");
  options.value("--limit", limit_, "N", "use the first N batches only; 0: all");
}

void GradientOptions::apply(Node& document, const Common& common) const {
  const auto put = [&](const char* key, Node node) {
    language::put(document, key, std::move(node));
  };
  if (!batch_.empty())
    put("batch", list("--batch", batch_, [](const auto& x) { return whole("--batch", x, 1); }));
  if (!tau_.empty())
    put("tau", list("--tau", tau_, [](const auto& x) { return number(positive("--tau", x)); }));
  if (!steps_.empty()) put("steps", whole("--steps", steps_, 1));
  if (methods_ == "none") {
    put("methods", {Node::List{}, 1});
  } else if (!methods_.empty()) {
    put("methods", list("--methods", methods_, [](const auto& x) { return Node{x, 1}; }));
  }
  if (!dropout_.empty()) {
    const double p = to_number("--dropout", dropout_);
    if (!(p >= 0 && p < 1))
      throw Error("--dropout is '" + dropout_ + "'; it must be at least 0 and below 1.");
    put("dropout", number(p));
  }
  if (random_order_) put("order", {std::string("random"), 1});
  if (noise_) put("noise", {true, 1});
  if (!size_.empty()) {
    check_word("--size", size_, {"paper", "small"});
    put("size", {size_, 1});
  }
  if (!limit_.empty()) put("limit", whole("--limit", limit_, 0));
  if (!common.seed.empty()) put("seed", whole("--seed", common.seed, 0));
}

std::string GradientOptions::given(const Common& common) const {
  std::string text;
  const std::pair<const char*, const std::string&> values[] = {
      {"--batch", batch_},     {"--tau", tau_},   {"--steps", steps_}, {"--methods", methods_},
      {"--dropout", dropout_}, {"--size", size_}, {"--limit", limit_}, {"--seed", common.seed}};
  for (const auto& [option, value] : values)
    if (!value.empty()) text.append(" ").append(option).append(" ").append(value);
  if (random_order_) text.append(" --random-order");
  if (noise_) text.append(" --noise");
  return text;
}

}  // namespace medgrad::app
