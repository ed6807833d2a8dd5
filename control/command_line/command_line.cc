#include "control/command_line/command_line.h"

#include <CLI/CLI.hpp>
#include <utility>

namespace cw {
namespace {

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

CommandLine::CommandLine(const std::string& summary, const std::string& program)
    : app_(std::make_shared<CLI::App>(summary, program)) {}

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

void CommandLine::footer(const std::string& text) { app_->footer(text); }

void CommandLine::column_width(size_t characters) {
  app_->get_formatter()->column_width(characters);
}

CommandLine CommandLine::add_subcommand(const std::string& name, const std::string& what) {
  app_->require_subcommand(1);
  app_->fallthrough();
  return CommandLine(std::shared_ptr<CLI::App>(app_, app_->add_subcommand(name, what)));
}

Result<std::string> CommandLine::parse(std::span<const char* const> arguments) {
  try {
    app_->parse(static_cast<int>(arguments.size()), arguments.data());
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
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? 0 : exit_mistake;
  }
  return std::nullopt;
}

bool CommandLine::has(const std::string& name) const { return app_->count(name) > 0; }

bool CommandLine::is_chosen() const { return app_->parsed(); }

}  // namespace cw
