#include "control/command_line/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "control/command_line/completion.h"
#include "control/command_line/manual.h"

namespace cw {
namespace {

/// What CLI11 does not keep apart.
class Program : public CLI::App {
 public:
  using App::App;

  void say(const std::string& lesson) { lesson_ = lesson, renew_footer(); }
  void say(const std::vector<Ending>& endings) { endings_ = endings, renew_footer(); }
  const std::string& lesson() const { return lesson_; }
  const std::vector<Ending>& endings() const { return endings_; }

 private:
  void renew_footer() {
    std::string text = lesson_;
    if (!endings_.empty()) text += "\n\nEnds with:";
    for (const Ending& each : endings_) {
      text += "\n  " + std::to_string(each.status) + "  " + each.when;
    }
    footer(text);
  }

  std::string lesson_;
  std::vector<Ending> endings_;
};

/// Thrown out of parsing: what is to be printed instead of all else.
struct Written : std::exception {
  explicit Written(Result<std::string> it) : text(std::move(it)) {}
  Result<std::string> text;
};

/// Help has them as "TEXT:{lan,wan}" or "udp|dpdk".
std::vector<std::string> words_of(const CLI::Option& option) {
  std::string names = option.get_type_name();
  const size_t open = names.find(":{");
  if (open == names.npos && names.find('|') == names.npos) return {};
  if (open != names.npos) names = names.substr(open + 2, names.size() - open - 3);
  std::ranges::replace(names, '|', ',');
  std::vector<std::string> words = CLI::detail::split(names, ',');
  const auto is_word = [](unsigned char c) { return std::islower(c) != 0 || c == '_'; };
  const bool are_words =
      std::ranges::all_of(words, [&](const auto& each) { return is_word(each.front()); });
  return are_words ? words : std::vector<std::string>{};
}

/// Of what CLI11 calls it: "TEXT:{a,b}" is a word, "UINT:UINT in [1 - 9]" a number from 1 to 9.
void tell_value(ToldOption& told) {
  const size_t in = told.value.find(" in [");
  if (in != std::string::npos) {
    told.range = told.value.substr(in + 5, told.value.size() - in - 6);
    told.range.replace(told.range.find(" - "), 3, " to ");
    told.value = told.value.substr(0, told.value.find(':'));
  }
  if (told.value.find(":{") != std::string::npos) told.value = "WORD";
  if (told.value == "UINT") told.value = "NUMBER";
}

ToldOption told_of(const CLI::Option& option) {
  ToldOption told{.what = option.get_description(), .is_required = option.get_required()};
  told.is_place = option.get_positional();
  told.name = told.is_place ? option.get_name(true) : "--" + option.get_lnames().front();
  if (option.get_type_size() != 0) told.value = option.get_type_name();
  if (option.get_group() != "Options") told.group = option.get_group();
  told.initial = option.get_default_str();
  told.words = words_of(option);
  tell_value(told);
  told.is_repeated = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  return told;
}

ToldCommand told_of(const CLI::App& app) {
  ToldCommand told{.name = app.get_name(), .summary = app.get_description()};
  const auto* const program = dynamic_cast<const Program*>(&app);
  told.lesson = program == nullptr ? app.get_footer() : program->lesson();
  if (program != nullptr) told.endings = program->endings();
  const CLI::App* const above = app.get_parent();
  if (above != nullptr && app.get_footer() == above->get_footer()) told.lesson.clear();  // its own
  for (const CLI::Option* each : app.get_options()) {
    if (!each->get_group().empty()) told.options.push_back(told_of(*each));
  }
  for (const CLI::App* each : app.get_subcommands({})) told.commands.push_back(told_of(*each));
  return told;
}

Result<std::string> manual_from(const CLI::App& app, const std::string& file) {
  std::ifstream stream(file);
  if (!stream) return failure("--man: " + file + " cannot be read");
  const std::string written(std::istreambuf_iterator<char>(stream), {});
  auto page = manual_of(told_of(app), written);
  return page ? page : failure("--man: " + file + ": " + page.error().sentence);
}

void add_hidden(CLI::App& app) {
  app.add_option_function<std::string>(
         "--man", [&app](const std::string& file) { throw Written(manual_from(app, file)); })
      ->group("");
  app.add_option_function<std::string>(
         "--completion",
         [&app](const std::string& shell) { throw Written(completion_of(told_of(app), shell)); })
      ->group("")
      ->check(CLI::IsMember({"bash", "zsh"}));
}

std::string sentence_of(const CLI::App& app, const CLI::ParseError& error) {
  std::string what = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    return "\"" + app.remaining(true).front() + "\" is no option and not expected here";
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string name = what.substr(0, what.find(':'));
    const CLI::Option* const option = app.get_option_no_throw(name);
    if (option != nullptr && option->get_expected_max() == 1) {
      return name + ": takes one value and is given once";
    }
  }
  return what;
}

/// Help is of commands that there are.
void parse_words(CLI::App& app, int count, const char* const* words) {
  try {
    app.parse(count, words);
  } catch (const CLI::CallForHelp&) {
    const std::vector<std::string> left = app.remaining();
    const bool has_commands = !std::as_const(app).get_subcommands({}).empty();
    if (!has_commands || !app.get_subcommands().empty() || left.empty()) throw;
    throw CLI::ValidationError("\"" + left.front() + "\" is no command");
  }
}

}  // namespace

CommandOption CommandOption::type_name(const std::string& name) const {
  return CommandOption(option_->type_name(name));
}

CommandOption CommandOption::group(const std::string& name) const {
  return CommandOption(option_->group(name));
}

CommandOption CommandOption::required() const { return CommandOption(option_->required()); }

CommandOption CommandOption::shows_default() const {
  return CommandOption(option_->capture_default_str());
}

CommandOption CommandOption::one_at_a_time() const {
  return CommandOption(option_->allow_extra_args(false));
}

CommandOption CommandOption::delimiter(char between_values) const {
  return CommandOption(option_->delimiter(between_values));
}

CommandOption CommandOption::between(uint64_t min, uint64_t max) const {
  return CommandOption(option_->check(CLI::Range(min, max)));
}

CommandOption CommandOption::one_of(const std::vector<std::string>& names) const {
  return CommandOption(option_->check(CLI::IsMember(names)));
}

bool ToldOption::takes_file() const { return value.starts_with("FILE") || value == "DIR"; }

CommandLine::CommandLine(const std::string& summary, const std::string& program)
    : app_(std::make_shared<Program>(summary, program)) {
  add_hidden(*app_);
}

template <class T>
CommandOption CommandLine::add(const std::string& name, T& target, const std::string& what) {
  return CommandOption(app_->add_option(name, target, what));
}

CommandOption CommandLine::add_option(const std::string& name, std::string& target,
                                      const std::string& what) {
  return add(name, target, what);
}

CommandOption CommandLine::add_option(const std::string& name, uint32_t& target,
                                      const std::string& what) {
  return add(name, target, what);
}

CommandOption CommandLine::add_option(const std::string& name, uint64_t& target,
                                      const std::string& what) {
  return add(name, target, what);
}

CommandOption CommandLine::add_option(const std::string& name, std::optional<uint64_t>& target,
                                      const std::string& what) {
  return add(name, target, what);
}

CommandOption CommandLine::add_option(const std::string& name, std::vector<std::string>& target,
                                      const std::string& what) {
  return add(name, target, what);
}

CommandOption CommandLine::add_option(const std::string& name, std::vector<uint32_t>& target,
                                      const std::string& what) {
  return add(name, target, what);
}

CommandOption CommandLine::add_option(const std::string& name,
                                      const std::function<void(const std::string&)>& told,
                                      const std::string& what) {
  return CommandOption(app_->add_option_function<std::string>(name, told, what));
}

CommandOption CommandLine::add_flag(const std::string& name, bool& target,
                                    const std::string& what) {
  return CommandOption(app_->add_flag(name, target, what));
}

void CommandLine::set_version(const std::string& version) {
  app_->set_version_flag("--version", version);
}

void CommandLine::footer(const std::string& text) {
  if (auto* const program = dynamic_cast<Program*>(app_.get())) return program->say(text);
  app_->footer(text);
}

void CommandLine::ends_with(const std::vector<Ending>& endings) {
  dynamic_cast<Program&>(*app_).say(endings);
}

void CommandLine::column_width(size_t characters) {
  app_->get_formatter()->column_width(characters);
}

CommandLine CommandLine::add_subcommand(const std::string& name, const std::string& what) {
  app_->require_subcommand(1);
  app_->fallthrough();
  return CommandLine(std::shared_ptr<CLI::App>(app_, app_->add_subcommand(name, what)));
}

void CommandLine::add_foreign(const std::string& name, const CommandLine& other) {
  app_->require_subcommand(1);
  other.app_->name(name);
  other.app_->preparse_callback(
      [name](size_t) { throw CLI::ValidationError(name, "must stand first"); });
  app_->add_subcommand(other.app_);
}

ToldCommand CommandLine::told() const { return told_of(*app_); }

Result<std::string> CommandLine::parse(std::span<const char* const> arguments) {
  try {
    parse_words(*app_, static_cast<int>(arguments.size()), arguments.data());
  } catch (const Written& written) {
    return written.text;
  } catch (const CLI::CallForHelp&) {
    return app_->help();
  } catch (const CLI::CallForVersion& version) {
    return version.what() + std::string("\n");
  } catch (const CLI::ParseError& error) {
    return failure(sentence_of(*app_, error) + "; --help shows every option");
  }
  return {};
}

std::optional<int> CommandLine::parse_or_end(int argc, char** argv, int exit_mistake) {
  try {
    parse_words(*app_, argc, argv);
  } catch (const Written& written) {
    if (written.text) return std::fputs(written.text->c_str(), stdout), 0;
    return std::fprintf(stderr, "%s\n", written.text.error().sentence.c_str()), exit_mistake;
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? 0 : exit_mistake;
  }
  return std::nullopt;
}

bool CommandLine::has(const std::string& name) const { return app_->count(name) > 0; }

bool CommandLine::is_chosen() const { return app_->parsed(); }

}  // namespace cw
