#include "manual.h"

#include <string_view>

#include "medgrad/version.h"
#include "program.h"
#include "text.h"

namespace medgrad::app {
namespace {

// Text as roff wants it: what would be a request, an escape, or a hyphen that is not one.
std::string roff(std::string_view text) {
  std::string result;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) result += "\\&";
    line_begins = c == '\n';
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if (c == '\'') {
      result += "\\(aq";
    } else if (c == '`') {
      result += "\\(ga";
    } else if (c == '^') {
      result += "\\(ha";
    } else if (c == '~') {
      result += "\\(ti";
    } else {
      result += c;
    }
  }
  return result;
}

std::string row(std::string_view left, std::string_view right) {
  return ".TP\n.B " + roff(left) + "\n" + roff(right) + "\n";
}

// Lines that are laid out already stay as they are.
std::string verbatim(std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text.empty() ? "" : ".PP\n.nf\n" + roff(text) + "\n.fi\n";
}

std::string section(const Description& command) {
  std::string text = ".SS medgrad " + roff(command.name) + "\n" + ".B medgrad " +
                     roff(command.name) + "\n" + roff(command.usage) + "\n.PP\n" +
                     roff(sentence(command.summary)) + "\n";
  for (const Description::Argument& one : command.arguments) text += row(one.name, one.help);
  text += verbatim(command.details);
  for (const Description::Option& one : command.options)
    if (!one.help.empty() && !is_common(one)) text += row(heading(one), one.help);
  return text;
}

// Options that all commands have are explained once.
std::string common_options(const std::vector<Description>& commands) {
  std::string text;
  for (const Description::Option& one : commands.front().options)
    if (is_common(one) && !one.help.empty()) text += row(heading(one), one.help);
  return text;
}

}  // namespace

std::string manual_page(const std::vector<Description>& commands) {
  const std::string version(kVersion);
  std::string text =
      ".\\\" Made by `medgrad help \\-\\-man`.\n.TH MEDGRAD 1 \"\" \"medgrad " + version +
      "\" \"User Commands\"\n.SH NAME\nmedgrad \\- robust estimates of noisy gradients\n"
      ".SH SYNOPSIS\n.B medgrad\n.I COMMAND\n[options]\n.br\n.B medgrad help\n"
      ".RI [ COMMAND ]\n.br\n.B medgrad \\-\\-version\n.SH DESCRIPTION\n" +
      roff(kTagline) + "\n.SH COMMANDS\n";
  for (const Description& command : commands) text += section(command);
  text += ".SH OPTIONS OF EVERY COMMAND\n" + common_options(commands);
  text += ".SH ENVIRONMENT\n" +
          row("MEDGRAD_DATA", "the folder that holds the data sets of the language tasks") +
          row("XDG_DATA_HOME, HOME",
              "where data sets are looked for next: $XDG_DATA_HOME/medgrad, or "
              "~/.local/share/medgrad where it is not set") +
          row("MEDGRAD_SIMD",
              "the instruction set to use, one of those that medgrad doctor shows (default: the "
              "best one)");
  text += ".SH EXIT STATUS\n" + row("0", "success") + row("1", "failure, such as a full disk") +
          row("2", "a mistake in the options, files or data; one sentence says what is wrong");
  text += ".SH EXAMPLES\n" +
          row("medgrad aggregate geometric-median gradients.csv",
              "the geometric median of the rows of a file") +
          row("medgrad help estimate vclip", "the formula and the parameters of a method") +
          row("medgrad reproduce", "the paper's synthetic experiments, with a report");
  return text;
}

}  // namespace medgrad::app
