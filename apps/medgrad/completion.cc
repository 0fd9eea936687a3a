#include "completion.h"

#include <string_view>

namespace medgrad::app {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

bool is_folder(std::string_view operand) { return operand == "DIR" || operand == "FOLDER"; }
bool is_file(std::string_view operand) {
  return operand.starts_with("FILE") || operand == "PATH" || is_folder(operand);
}

// What completes a word: the words themselves, "<files>", "<folders>", or nothing.
std::string completes(std::string_view operand, const std::vector<std::string>& words) {
  if (!words.empty()) return joined(words);
  return is_folder(operand) ? "<folders>" : is_file(operand) ? "<files>" : "";
}

std::string names_of(const std::vector<Description::Option>& options, bool with_value) {
  std::string text;
  for (const Description::Option& one : options)
    for (const std::string& name : one.names)
      if (!with_value || !one.operand.empty()) text += (text.empty() ? "" : " ") + name;
  return text;
}

// The case of a command in the bash script.
std::string bash_case(const Description& command) {
  std::string text = "    " + command.name + ")\n      options='" +
                     names_of(command.options, false) + "'\n      taking='" +
                     names_of(command.options, true) + "'\n      arguments=(";
  std::string last;
  for (const Description::Argument& one : command.arguments) {
    text +=
        (last.empty() && text.ends_with('(') ? "'" : " '") + completes(one.name, one.words) + "'";
    if (one.repeated) last = completes(one.name, one.words);
  }
  text += ")\n      others='" + last + "'\n      case $before in\n";
  for (const Description::Option& one : command.options) {
    const std::string values = completes(one.operand, one.words);
    if (one.operand.empty() || values.empty()) continue;
    text += "        ";
    for (const std::string& name : one.names) text += (&name == &one.names[0] ? "" : "|") + name;
    text += ") values='" + values + "' ;;\n";
  }
  return text + "      esac ;;\n";
}

// In single quotes, with what is special to _arguments escaped.
std::string zsh_text(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text.substr(0, text.find('\n'))) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return result;
}

std::string zsh_action(std::string_view operand, const std::vector<std::string>& words) {
  const std::string values = completes(operand, words);
  if (values == "<files>") return "_files";
  if (values == "<folders>") return "_files -/";
  return values.empty() ? " " : "(" + values + ")";
}

std::string zsh_case(const Description& command) {
  std::string text = "    " + command.name + ")\n      _arguments -S";
  for (const Description::Option& one : command.options) {
    for (const std::string& name : one.names) {
      text += " \\\n        '" + name + "[" + zsh_text(one.help, "[]:\\") + "]";
      if (!one.operand.empty())
        text += ":" + zsh_text(one.operand, ":\\") + ":" + zsh_action(one.operand, one.words);
      text += "'";
    }
  }
  for (const Description::Argument& one : command.arguments)
    text += " \\\n        '" + std::string(one.repeated ? "*" : "") + ":" +
            zsh_text(one.name, ":\\") + ":" + zsh_action(one.name, one.words) + "'";
  return text + " ;;\n";
}

}  // namespace

std::string bash_completion(const std::vector<Description>& commands) {
  std::string names, cases;
  for (const Description& command : commands) {
    names += command.name + " ";
    cases += bash_case(command);
  }
  return R"(# Completion of medgrad for bash, made by `medgrad help --completion bash`.
_medgrad() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]} options='' taking='' others='' values='' i place=0
  local -a arguments=()
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W ')" +
         names + R"(--help --version' -- "$current")
    return
  fi
  # In --option=value, bash makes the sign a word of its own.
  if [[ $current == = ]]; then
    current=''
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $command in
)" + cases +
         R"(    *) return ;;
  esac
  if [[ " $taking " != *" $before "* ]]; then
    if [[ $current == -* ]]; then
      values=$options
    else
      # Which argument is it? Options and their values do not count.
      for ((i = 2; i < COMP_CWORD; ++i)); do
        if [[ " $taking " == *" ${COMP_WORDS[i]} "* ]]; then
          ((++i))
          if [[ ${COMP_WORDS[i]} == = ]]; then ((++i)); fi
        elif [[ ${COMP_WORDS[i]} != -* ]]; then
          ((++place))
        fi
      done
      values=${arguments[place]-$others}
    fi
  fi
  case $values in
    '<files>')
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    '<folders>')
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current") ;;
  esac
}
complete -F _medgrad medgrad
)";
}

std::string zsh_completion(const std::vector<Description>& commands) {
  std::string names, cases;
  for (const Description& command : commands) {
    names += "    '" + command.name + ":" + zsh_text(command.summary, "") + "'\n";
    cases += zsh_case(command);
  }
  return R"(#compdef medgrad
# Completion of medgrad for zsh, made by `medgrad help --completion zsh`.
_medgrad() {
  local -a commands=(
)" + names +
         R"(  )
  if ((CURRENT == 2)); then
    _describe -t commands 'command' commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
)" + cases +
         R"(  esac
}
_medgrad "$@"
)";
}

}  // namespace medgrad::app
