// The only file that knows CLI11.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <optional>
#include <span>

#include "base/suggest.h"
#include "base/text.h"
#include "command.h"
#include "description.h"
#include "medgrad/error.h"

namespace medgrad::app {
namespace {

// 0: one per core. The only place that reads --threads.
unsigned thread_count(std::string_view option, const std::string& text) {
  constexpr std::uint64_t kMost = 1024;
  const std::uint64_t threads = to_whole_number(option, text, 0);
  if (threads > kMost) throw Error(fmt::format("{} is {}; it must be at most 1024.", option, text));
  return static_cast<unsigned>(threads);
}

class Parser final : public Options {
 public:
  explicit Parser(Command& command) : command_(command) {
    app_.set_help_flag();  // ours is an ordinary flag: it knows the arguments around it
    app_.allow_extras();   // reported in our own words, below
    command.declare(*this);
    value("--seed", common_.seed, "N", "seed of the random numbers (default 0)");
    value("--threads", threads_, "N", "threads to use (default: one per core); also --jobs");
    value("--jobs", jobs_, "N", "");
    flag("--quiet", common_.quiet, "no progress and no warnings");
    flag("--help,-h", help_, "show this text");
  }

  void flag(const std::string& name, bool& target, const std::string& help) override {
    app_.add_flag(name, target);
    options_.push_back({comma_list("an option", name), "", help, {}});
  }
  void value(const std::string& name, std::string& target, const std::string& operand,
             const std::string& help) override {
    given_.push_back({app_.add_option(name, target), target});
    options_.push_back({comma_list("an option", name), operand, help, {}});
  }
  void argument(const std::string& name, std::string& target, const std::string& help) override {
    given_.push_back({app_.add_option(name, target), target});
    arguments_.push_back({name, help, false, {}});
  }
  void arguments(const std::string& name, std::vector<std::string>& target,
                 const std::string& help) override {
    app_.add_option(name, target);
    arguments_.push_back({name, help, true, {}});
  }
  void offer(const std::string& name, std::vector<std::string> words) override {
    for (Description::Option& one : options_)
      if (one.names.front() == name) one.words = words;
    for (Description::Argument& one : arguments_)
      if (one.name == name) one.words = words;
  }

  void run(std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::ArgumentMismatch& mismatch) {
      fail_mismatch(mismatch.what());
    } catch (const CLI::ParseError& error) {
      throw Error(see_help(error.what()));
    }
    if (help_) {
      std::cout << help_text(description());
      return;
    }
    std::vector<std::string> extras = app_.remaining();
    std::erase(extras, "--");  // what follows it is not an option, whatever it looks like
    if (!extras.empty()) fail_extra(extras.front());
    check_not_empty();
    if (!common_.seed.empty()) (void)to_whole_number("--seed", common_.seed, 0);
    if (!jobs_.empty() && !threads_.empty())
      throw Error("--jobs and --threads are the same; give one of them.");
    if (!threads_.empty()) common_.threads = thread_count("--threads", threads_);
    if (!jobs_.empty()) common_.threads = thread_count("--jobs", jobs_);
    try {
      with_named_remedies([this] { command_.run(common_); });
    } catch (const Error& error) {
      throw called_as_option(error);
    }
  }

  [[nodiscard]] Description description() const {
    return {.name = std::string(command_.name()),
            .summary = std::string(command_.summary()),
            .usage = std::string(command_.usage()),
            .details = command_.details(),
            .arguments = arguments_,
            .options = options_};
  }

 private:
  // The library speaks of parameters, we of options: where an Error is about the value of one that
  // the command has as an option, it is called so. Whatever is in the text of an option ("--against
  // krum:f=9: f is 9; ...") has parameters of its own.
  [[nodiscard]] Error called_as_option(const Error& error) const {
    if (error.subject().empty() || error.place().starts_with('-')) return error;
    const std::string name = option_name(error.subject());
    for (const Description::Option& one : options_) {
      for (const std::string& known : one.names)
        if (known == name || (error.subject().size() == 1 && known == "-" + error.subject()))
          return error.called(known);
    }
    return error;
  }

  // An empty text would pass for "not given", as where a variable of a script is not set.
  void check_not_empty() const {
    for (const auto& [option, text] : given_) {
      if (option->count() == 0 || !text.empty()) continue;
      const std::string name = option->get_name();
      throw Error(see_help(name + (name.starts_with('-') ? " needs a value" : " is empty")));
    }
  }

  [[nodiscard]] std::string see_help(std::string sentence) const {
    while (!sentence.empty() && (sentence.back() == '.' || sentence.back() == '\n'))
      sentence.pop_back();
    return fmt::format("{}; see medgrad help {}.", sentence, command_.name());
  }

  // CLI11 says "--tau: 1 required TEXT missing" and the like: the option's name is what counts.
  [[noreturn]] void fail_mismatch(const std::string& what) const {
    const std::string option = what.substr(0, what.find(':'));
    const bool missing = what.find("missing") != std::string::npos;
    throw Error(see_help(option + (missing ? " needs a value" : " may be given only once")));
  }

  [[noreturn]] void fail_extra(const std::string& extra) const {
    const std::string name = extra.substr(0, extra.find('='));
    const std::string of = "medgrad " + std::string(command_.name());
    if (!name.starts_with("-") || name == "-")
      throw Error(see_help(fmt::format("'{}' is one argument too many for {}", extra, of)));
    std::vector<std::string_view> known;
    for (const Description::Option& one : options_)
      known.insert(known.end(), one.names.begin(), one.names.end());
    const std::string sentence = fmt::format("{} is not an option of {}", name, of);
    const std::string hint = suggestion(name, known);
    throw Error(hint.empty() ? see_help(sentence) : sentence + "." + hint);
  }

  Command& command_;
  CLI::App app_;
  Common common_;
  std::string threads_, jobs_;
  bool help_ = false;
  std::vector<Description::Option> options_;
  std::vector<Description::Argument> arguments_;
  struct Given {
    const CLI::Option* option;
    const std::string& text;
  };
  std::vector<Given> given_;
};

// The digits of a whole number that may be written with a point and a power of ten: "1.5e3" has
// 1500. Digits are moved, not numbers multiplied, so that nothing is rounded. Where it is far too
// large for 64 bits there are only so many digits as are needed to see that.
std::optional<std::string> whole_digits(std::string_view text) {
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  std::string digits(text.substr(0, e));
  int power = 0;
  if (e < text.size()) {
    std::string_view exponent = text.substr(e + 1);
    if (exponent.starts_with('+') && exponent.size() > 1 && exponent[1] != '-')
      exponent.remove_prefix(1);
    const char* const end = exponent.data() + exponent.size();
    const auto [stop, error] = std::from_chars(exponent.data(), end, power);
    if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
    constexpr int kFar = 1'000'000;  // more digits than a command line has
    if (error != std::errc()) power = exponent.starts_with('-') ? -kFar : kFar;
    power = std::clamp(power, -kFar, kFar);
  }
  if (const std::size_t point = digits.find('.'); point != std::string::npos) {
    power -= static_cast<int>(digits.size() - point - 1);
    digits.erase(point, 1);
  }
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  digits.erase(0, digits.find_first_not_of('0'));
  if (digits.empty()) return "0";
  for (; power < 0 && digits.back() == '0'; ++power) digits.pop_back();
  if (power < 0) return std::nullopt;
  constexpr int kTooMany = 21;  // digits; 2^64 has 20
  digits.append(static_cast<std::size_t>(std::min(power, kTooMany)), '0');
  return digits;
}

}  // namespace

void Command::start(std::vector<std::string> arguments) { Parser(*this).run(std::move(arguments)); }

Description describe(Command& command) { return Parser(command).description(); }

std::string option_name(std::string_view parameter) {
  std::string name = fmt::format("--{}", parameter);
  std::ranges::replace(name, '_', '-');
  return name;
}

double to_number(std::string_view option, const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range && stop == end)
    throw Error(fmt::format("{} is '{}', which is out of range for a number.", option, text));
  if (error != std::errc() || stop != end || std::isnan(value))
    throw Error(fmt::format("{} is '{}'; it must be a number.", option, text));
  return value;
}

std::uint64_t to_whole_number(std::string_view option, const std::string& text, std::uint64_t min) {
  const std::optional<std::string> digits = whole_digits(text);
  std::uint64_t value = 0;
  if (digits) {
    const char* const end = digits->data() + digits->size();
    if (std::from_chars(digits->data(), end, value).ec == std::errc::result_out_of_range)
      throw Error(fmt::format("{} is '{}', which is too large.", option, text));
  }
  if (!digits || value < min) {
    throw Error(
        fmt::format("{} is '{}'; it must be a whole number, {} or more.", option, text, min));
  }
  return value;
}

std::vector<std::string> comma_list(std::string_view option, const std::string& text) {
  std::vector<std::string> entries;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    entries.push_back(text.substr(begin, end - begin));
    if (entries.back().empty())
      throw Error(
          fmt::format("{} is '{}', in which an entry is empty; entries are separated by "
                      "commas.",
                      option, text));
    begin = end + 1;
  }
  return entries;
}

void check_word(std::string_view option, const std::string& text,
                std::span<const std::string_view> words) {
  if (std::ranges::find(words, text) != words.end()) return;
  throw Error(fmt::format("{} is '{}'; it must be {}.", option, text, one_of(words)));
}

void check_action(std::string_view command, const std::string& action,
                  std::initializer_list<std::string_view> actions) {
  const std::span<const std::string_view> all(actions.begin(), actions.size());
  if (action.empty())
    throw Error(fmt::format("ACTION is missing; {} needs one: {}.", command, one_of(all)));
  if (std::ranges::find(all, action) == all.end()) {
    throw Error(
        fmt::format("'{}' is not an action of {}{}", action, command, instead_of(action, all)));
  }
}

}  // namespace medgrad::app
