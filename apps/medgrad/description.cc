#include "description.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "base/json.h"
#include "text.h"

namespace medgrad::app {

bool is_common(const Description::Option& option) {
  constexpr std::string_view kCommon[] = {"--seed", "--threads", "--jobs", "--quiet", "--help"};
  return std::ranges::count(kCommon, option.names.front()) > 0;
}

std::string heading(const Description::Option& option) {
  std::string text;
  for (const std::string& name : option.names)  // short ones first, as everywhere
    if (!name.starts_with("--")) text += name + ", ";
  for (const std::string& name : option.names)
    if (name.starts_with("--")) text += name + ", ";
  text.resize(text.size() - 2);
  return option.operand.empty() ? text : text + " " + option.operand;
}

std::string help_text(const Description& command) {
  std::vector<TextRow> arguments, options;
  for (const Description::Argument& one : command.arguments)
    arguments.emplace_back(one.name, one.help);
  for (const Description::Option& one : command.options)
    if (!one.help.empty()) options.emplace_back(heading(one), one.help);
  std::string text = fmt::format("usage: medgrad {} {}\n\n{}\n", command.name, command.usage,
                                 wrapped(sentence(command.summary), 0));
  if (!arguments.empty()) text += "\n" + columns(arguments);
  text += command.details;
  return fmt::format("{}\noptions:\n{}", text, columns(options));
}

std::string to_json(const std::vector<Description>& commands) {
  Json all = Json::array();
  for (const Description& command : commands) {
    Json arguments = Json::array(), options = Json::array();
    for (const Description::Argument& a : command.arguments)
      arguments.push_back(
          {{"name", a.name}, {"help", a.help}, {"repeated", a.repeated}, {"words", a.words}});
    for (const Description::Option& o : command.options)
      options.push_back(
          {{"names", o.names}, {"operand", o.operand}, {"help", o.help}, {"words", o.words}});
    all.push_back({{"name", command.name},
                   {"summary", command.summary},
                   {"usage", command.usage},
                   {"details", command.details},
                   {"arguments", arguments},
                   {"options", options}});
  }
  return all.dump();
}

std::vector<Description> descriptions_from_json(const std::string& text) {
  std::vector<Description> commands;
  for (const Json& one : Json::parse(text)) {
    Description& command = commands.emplace_back(Description{.name = one["name"],
                                                             .summary = one["summary"],
                                                             .usage = one["usage"],
                                                             .details = one["details"],
                                                             .arguments = {},
                                                             .options = {}});
    for (const Json& a : one["arguments"])
      command.arguments.push_back({.name = a["name"],
                                   .help = a["help"],
                                   .repeated = a["repeated"],
                                   .words = a["words"].get<std::vector<std::string>>()});
    for (const Json& o : one["options"])
      command.options.push_back({.names = o["names"].get<std::vector<std::string>>(),
                                 .operand = o["operand"],
                                 .help = o["help"],
                                 .words = o["words"].get<std::vector<std::string>>()});
  }
  return commands;
}

}  // namespace medgrad::app
