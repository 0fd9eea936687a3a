#include "torch/workers_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "medgrad/error.h"
#include "medgrad/registry.h"
#include "text.h"

namespace medgrad::app {
namespace {

constexpr std::uint64_t kMostWorkers = 4096;

std::size_t count(const char* option, const std::string& text, std::uint64_t least,
                  std::uint64_t most) {
  const std::uint64_t n = to_whole_number(option, text, least);
  if (n > most) throw Error(option, text, fmt::format("it must be at most {}", most));
  return static_cast<std::size_t>(n);
}

}  // namespace

void WorkersChoice::declare(Options& options) {
  options.value("--aggregate", aggregate_, "RULE",
                "workers train together, and this rule makes one gradient of theirs, such as mean, "
                "median or nnm+krum; medgrad list aggregators shows all of them");
  std::vector<std::string> rules_offered, attacks_offered;
  for (const Entry<Rule>& entry : rules()) rules_offered.emplace_back(entry.name);
  for (const Entry<Attack>& entry : attacks()) attacks_offered.emplace_back(entry.name);
  options.offer("--aggregate", rules_offered);
  options.value("--workers", workers_, "N",
                "simulate N workers in this process (default: those of medgrad launch, or of "
                "torchrun's variables)");
  options.value("--f", f_, "F",
                "how many bad workers the rule is to bear (default: as --byzantine says, else the "
                "rule's own)");
  options.value(
      "--topology", topology_, "T",
      "sharded (default): every worker makes a part of the result; server: worker 0 does");
  options.offer("--topology", {"sharded", "server"});
  options.value("--byzantine", byzantine_, "B", "the last B workers lie (default 0)");
  options.value("--attack", attack_, "A",
                "what they send, such as alie or ipm:strength=2; medgrad list attacks shows all of "
                "them");
  options.offer("--attack", attacks_offered);
  options.value("--events", events_, "LIST",
                "what happens to workers at which step, separated by commas: 6:alie@40 lies from "
                "step 40 on, 4:killed@120-160 is away in between, 3:stalled@200 for good");
  options.value("--deadline", deadline_, "S",
                "seconds until a worker that does not answer is left behind (default 30)");
  options.value("--quorum", quorum_, "Q",
                "with fewer workers the run ends with a checkpoint (default 1)");
}

std::string WorkersChoice::help() {
  return fmt::format(
      "\n{}\n",
      wrapped(
          "With --aggregate, N workers take N times as many batches in a step: worker i the i-th "
          "of the next N (with --accumulate, the i-th few), with dropout of its own. They are "
          "simulated here with --workers N, or are processes: medgrad launch -n N -- train … "
          "--aggregate RULE. The results are the same bits.",
          0));
}

std::optional<language::TeamOptions> WorkersChoice::read(std::size_t world) const {
  if (aggregate_.empty()) {
    const std::array<std::pair<const char*, const std::string&>, 7> others{
        {{"--workers", workers_},
         {"--f", f_},
         {"--byzantine", byzantine_},
         {"--attack", attack_},
         {"--events", events_},
         {"--deadline", deadline_},
         {"--quorum", quorum_}}};
    for (const auto& [option, text] : others)
      if (!text.empty())
        throw Error(fmt::format(
            "{} is for workers that train together; say by which rule with --aggregate.", option));
    return std::nullopt;
  }
  language::TeamTexts texts;
  texts.aggregate = aggregate_;
  texts.attack = attack_;
  check_word("--topology", topology_, {"sharded", "server"});
  texts.topology = topology_;
  texts.workers = world;
  if (!workers_.empty()) {
    texts.workers = count("--workers", workers_, 1, kMostWorkers);
    if (world > 0 && texts.workers != world)
      throw Error("--workers", workers_, fmt::format("this process is one of {} already", world));
  } else if (world == 0) {
    throw Error(
        "--aggregate is for several workers; simulate them with --workers N, or start them with "
        "medgrad launch -n N.");
  }
  if (!f_.empty()) texts.f = count("--f", f_, 0, kMostWorkers);
  if (!byzantine_.empty()) texts.byzantine = count("--byzantine", byzantine_, 0, kMostWorkers);
  if (!events_.empty()) texts.events = comma_list("--events", events_);
  try {
    if (!attack_.empty()) (void)medgrad::make_attack(attack_);
  } catch (const Error& error) {
    if (error.subject().empty()) throw;
    throw error.at("--attack " + attack_);
  }
  language::TeamOptions options;
  try {
    options = language::team_options(texts);
  } catch (const Error& error) {
    const std::string& subject = error.subject();
    if (subject == "byzantine" || subject == "attack" || subject == "events" ||
        (subject == "f" && !f_.empty()))
      throw error.called("--" + subject);
    if (subject.empty()) throw;
    throw error.at("--aggregate " + aggregate_);
  }
  if (!deadline_.empty()) {
    options.deadline = to_number("--deadline", deadline_);
    if (!(options.deadline >= 0.1 && options.deadline <= 86400))
      throw Error("--deadline", deadline_, "it must be from 0.1 to 86400 seconds");
  }
  if (!quorum_.empty()) options.quorum = count("--quorum", quorum_, 1, texts.workers);
  return options;
}

}  // namespace medgrad::app
