#include "control/command_line/completion.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <vector>

namespace cw {
namespace {

/// What may follow an option, whichever command has it.
struct Values {
  std::set<std::string> words;
  bool are_files = false;
};

void gather(const ToldCommand& command, std::map<std::string, Values>& valued) {
  for (const ToldOption& each : command.options) {
    if (each.is_place || each.value.empty()) continue;
    Values& values = valued[each.name];
    values.words.insert(each.words.begin(), each.words.end());
    values.are_files = values.are_files || each.takes_file();
  }
  for (const ToldCommand& each : command.commands) gather(each, valued);
}

std::string quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char each : text) quoted += each == '\'' ? std::string("'\\''") : std::string(1, each);
  return quoted + "'";
}

std::string joined(const auto& words, const char* between) {
  std::string text;
  for (const std::string& each : words) text += (text.empty() ? "" : between) + each;
  return text;
}

/// A command's name for a pattern of case; the program's own words stand at none.
struct Choice {
  std::string command;
  std::map<std::string, std::string> words;  // each with what it is
  bool takes_files = false;
};

Choice choice_of(const ToldCommand& command, const ToldCommand& program) {
  const bool is_program = &command == &program;
  Choice choice{.command = is_program ? "" : command.name, .words = {}};
  for (const ToldCommand& each : command.commands) {
    choice.words.emplace(each.name, each.summary);
  }
  for (const ToldCommand* from : {&command, &program}) {
    for (const ToldOption& each : from->options) {
      if (!each.is_place) choice.words.emplace(each.name, each.what);
      for (const std::string& word : each.words) {
        if (each.is_place) choice.words.emplace(word, each.what);
      }
      choice.takes_files = choice.takes_files || (each.is_place && each.takes_file());
    }
    if (is_program) break;
  }
  return choice;
}

std::vector<Choice> choices_of(const ToldCommand& program) {
  std::vector<Choice> choices = {choice_of(program, program)};
  for (const ToldCommand& each : program.commands) choices.push_back(choice_of(each, program));
  return choices;
}

std::string command_names(const ToldCommand& program) {
  return joined(program.commands | std::views::transform(&ToldCommand::name), "|");
}

std::string for_bash(const ToldCommand& program, const std::string& function) {
  std::map<std::string, Values> valued;
  gather(program, valued);
  std::string script = function +
                       "() {\n"
                       "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                       "  local command='' each words='' files=''\n"
                       "  case $before in\n";
  for (const auto& [name, values] : valued) {
    script += "    " + name + ") words=" + quoted(joined(values.words, " ")) +
              (values.are_files ? " files=yes" : "") + ";;\n";
  }
  script += "    *)\n";
  if (!program.commands.empty()) {
    script +=
        "      for each in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
        "        case $each in " +
        command_names(program) +
        ") command=$each; break;; esac\n"
        "      done\n";
  }
  script += "      case $command in\n";
  for (const Choice& each : choices_of(program)) {
    const std::string words = joined(std::views::keys(each.words), " ");
    script += "        " + quoted(each.command) + ") words=" + quoted(words) +
              (each.takes_files ? " files=yes" : "") + ";;\n";
  }
  return script +
         "      esac;;\n"
         "  esac\n"
         "  mapfile -t COMPREPLY < <(\n"
         "    compgen -W \"$words\" -- \"$word\"\n"
         "    [[ ! $files ]] || compgen -f -- \"$word\")\n"
         "  [[ ! $files ]] || compopt -o filenames 2>/dev/null\n"
         "}\n"
         "complete -F " +
         function + " " + program.name + "\n";
}

std::string for_zsh(const ToldCommand& program, const std::string& function) {
  std::map<std::string, Values> valued;
  gather(program, valued);
  std::string script = "#compdef " + program.name + "\n\n" + function +
                       "() {\n"
                       "  local command= each\n"
                       "  local -a found\n"
                       "  case ${words[CURRENT - 1]} in\n";
  for (const auto& [name, values] : valued) {
    script += "    (" + name + ") " +
              (values.words.empty() ? "" : "compadd -- " + joined(values.words, " ") + "; ") +
              (values.are_files ? "_files; " : "") + "return;;\n";
  }
  script += "  esac\n";
  if (!program.commands.empty()) {
    script +=
        "  for each in ${words[2, CURRENT - 1]}; do\n"
        "    case $each in (" +
        command_names(program) +
        ") command=$each; break;; esac\n"
        "  done\n";
  }
  script += "  case $command in\n";
  for (const Choice& each : choices_of(program)) {
    script += "    (" + quoted(each.command) + ") found=(\n";
    for (const auto& [word, what] : each.words)
      script += "      " + quoted(word + ":" + what) + "\n";
    script += std::string("    )") + (each.takes_files ? "; _files" : "") + ";;\n";
  }
  return script + "  esac\n  _describe -o " + program.name +
         " found\n"
         "}\n\n"
         "# Loaded by its name it completes at once; read from a file it is made known.\n"
         "if [[ ${funcstack[1]} == " +
         function + " ]]; then " + function + " \"$@\"; else compdef " + function + " " +
         program.name + "; fi\n";
}

}  // namespace

std::string completion_of(const ToldCommand& program, const std::string& shell) {
  if (shell == "zsh") return for_zsh(program, "_" + program.name);
  std::string function = "_" + program.name;
  std::ranges::replace(function, '-', '_');
  return for_bash(program, function);
}

}  // namespace cw
