#include "control/command_line/manual.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <sstream>

#include "control/command_line/mdoc_text.h"

namespace cw {
namespace {

// In the order in which manuals have them.
constexpr std::array order = {"NAME",    "SYNOPSIS", "DESCRIPTION", "OPTIONS",  "COMMANDS",
                              "SIGNALS", "FILES",    "EXIT STATUS", "EXAMPLES", "SEE ALSO"};
constexpr std::array program_tells = {"NAME", "SYNOPSIS", "OPTIONS", "EXIT STATUS"};

using Sections = std::map<std::string, std::string>;

/// Of "Asks a gateway. It must run." the first is its line, "asks a gateway", the rest described.
struct Summary {
  std::string line, rest;
};

Summary summary_of(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  const size_t end = std::min(text.find(". "), text.size());
  Summary summary{.line = text.substr(0, end), .rest = {}};
  if (end < text.size()) summary.rest = mdoc_sentences(text.substr(end + 2));
  if (summary.line.ends_with('.')) summary.line.pop_back();
  summary.line[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(summary.line[0])));
  summary.line = mdoc_escaped(summary.line);
  return summary;
}

/// What help says in half a line.
std::string sentence_of(const std::string& what) {
  std::string sentence = what;
  sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
  return sentence.ends_with('.') ? sentence : sentence + ".";
}

std::string places_of(const ToldCommand& command) {
  std::string text;
  for (const ToldOption& each : command.options) {
    if (!each.is_place) continue;
    text += each.is_required ? ".Ar " : ".Op Ar ";
    text += mdoc_escaped(each.name) + (each.is_repeated ? " ...\n" : "\n");
  }
  return text;
}

std::string synopsis_of(const ToldCommand& program) {
  const std::string begin = ".Nm " + program.name + "\n.Op Ar option ...\n";
  std::string text = program.commands.empty() ? begin + places_of(program) : "";
  for (const ToldCommand& each : program.commands) {
    text += begin + ".Cm " + mdoc_escaped(each.name) + "\n" + places_of(each);
  }
  return text;
}

std::string option_text(const ToldOption& option) {
  std::string text = option.is_place ? ".It Ar " + mdoc_escaped(option.name)
                                     : ".It Fl " + mdoc_escaped(option.name.substr(1));
  if (!option.is_place && !option.value.empty()) text += " Ar " + mdoc_escaped(option.value);
  if (option.is_repeated) text += " ...";
  text += "\n" + mdoc_sentences(sentence_of(option.what));
  if (option.value == "WORD") {
    text += "One of";
    for (const std::string& each : option.words) {
      text += (&each == option.words.data() ? " " : ", ") + mdoc_escaped(each);
    }
    text += ".\n";
  }
  if (!option.range.empty()) text += mdoc_escaped(option.range) + ".\n";
  if (!option.initial.empty()) text += "Left out: " + mdoc_escaped(option.initial) + ".\n";
  return text;
}

/// A list for each group of them, in the order in which help has these.
std::string options_text(const ToldCommand& command, const std::string& heading) {
  std::vector<std::string> groups;
  for (const ToldOption& each : command.options) {
    if (std::ranges::find(groups, each.group) == groups.end()) groups.push_back(each.group);
  }
  std::string text;
  for (const std::string& group : groups) {
    if (!group.empty()) text += heading + mdoc_escaped(group) + "\n";
    text += ".Bl -tag -width Ds\n";
    for (const ToldOption& each : command.options) {
      if (each.group == group) text += option_text(each);
    }
    text += ".El\n";
  }
  return text;
}

std::string commands_text(const ToldCommand& program) {
  std::string text;
  for (const ToldCommand& each : program.commands) {
    text += ".Ss " + mdoc_escaped(each.name) + "\n" + mdoc_sentences(each.summary);
    if (each.lesson != program.lesson) {
      const MdocLesson lesson = mdoc_lesson(each.lesson);
      for (const std::string& part : {lesson.description, lesson.examples}) {
        if (!part.empty()) text += (part.starts_with('.') ? "" : ".Pp\n") + part;
      }
    }
    ToldCommand own = each;
    std::erase_if(own.options, [](const ToldOption& option) { return option.name == "--help"; });
    text += options_text(own, ".Pp\n");
  }
  return text;
}

std::string endings_text(const std::vector<Ending>& endings) {
  if (endings.empty()) return "";
  std::string text = ".Bl -tag -width 130\n";
  for (const Ending& each : endings) {
    text += ".It " + std::to_string(each.status) + "\n" + mdoc_sentences(each.when);
  }
  return text + ".El\n";
}

Sections told_by(const ToldCommand& program) {
  MdocLesson lesson = mdoc_lesson(program.lesson);
  const Summary summary = summary_of(program.summary);
  if (!summary.rest.empty()) lesson.description = summary.rest + ".Pp\n" + lesson.description;
  return {{"NAME", ".Nm " + program.name + "\n.Nd " + summary.line + "\n"},
          {"SYNOPSIS", synopsis_of(program)},
          {"DESCRIPTION", std::move(lesson.description)},
          {"OPTIONS", options_text(program, ".Ss ")},
          {"COMMANDS", commands_text(program)},
          {"EXIT STATUS", endings_text(program.endings)},
          {"EXAMPLES", std::move(lesson.examples)}};
}

}  // namespace

Result<std::string> manual_of(const ToldCommand& program, const std::string& written) {
  Sections sections = told_by(program);
  std::string page;  // its head first
  std::string* into = &page;
  std::istringstream lines(written);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(".Sh ")) {
      const std::string name = line.substr(4);
      if (std::ranges::find(order, name) == order.end() ||
          std::ranges::find(program_tells, name) != program_tells.end()) {
        return failure("section " + name + " is none that people write");
      }
      into = &sections[name];
      if (!into->empty()) *into += ".Pp\n";
    } else {
      *into += line + "\n";
    }
  }
  for (const char* each : order) {
    const std::string& text = sections[each];
    if (!text.empty()) page += std::string(".Sh ") + each + "\n" + text;
  }
  return page;
}

}  // namespace cw
