// A program's command line: what it may say, where that goes, what --help shows. It is CLI11's, of
// which users of this header see nothing, since every source that includes it takes four seconds
// more. Values that carry a unit are stored as text, and read by whoever asked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/command_line/told.h"
#include "dataplane/base/result.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
class Option;
}  // namespace CLI

namespace cw {

/// An option that a command line has; the rest that is to be said of it.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  /// What help calls its value, "TIME".
  CommandOption type_name(const std::string& name) const;
  /// Where help shows it; empty: nowhere.
  CommandOption group(const std::string& name) const;
  CommandOption required() const;
  /// Help tells what the target held when the option was added.
  CommandOption shows_default() const;
  /// Of several values: each is given with the option's name again.
  CommandOption one_at_a_time() const;
  CommandOption delimiter(char between_values) const;
  CommandOption between(uint64_t min, uint64_t max) const;
  CommandOption one_of(const std::vector<std::string>& names) const;

 private:
  CLI::Option* option_;
};

/// What options fill must outlive parsing. A name without dashes is a place: "HOST". Two options
/// are there that help does not show: `--man FILE` prints the manual page, of which FILE has what
/// people write (manual.h), `--completion SHELL` what a shell needs (completion.h).
class CommandLine {
 public:
  CommandLine(const std::string& summary, const std::string& program);

  CommandOption add_option(const std::string& name, std::string& target, const std::string& what);
  CommandOption add_option(const std::string& name, uint32_t& target, const std::string& what);
  CommandOption add_option(const std::string& name, uint64_t& target, const std::string& what);
  CommandOption add_option(const std::string& name, std::optional<uint64_t>& target,
                           const std::string& what);
  /// Any number of values.
  CommandOption add_option(const std::string& name, std::vector<std::string>& target,
                           const std::string& what);
  CommandOption add_option(const std::string& name, std::vector<uint32_t>& target,
                           const std::string& what);
  /// The value is told instead of stored.
  CommandOption add_option(const std::string& name,
                           const std::function<void(const std::string&)>& told,
                           const std::string& what);
  /// True when given; written "!--name", false.
  CommandOption add_flag(const std::string& name, bool& target, const std::string& what);
  void set_version(const std::string& version);

  /// Below the options in help.
  void footer(const std::string& text);
  /// How the program may end; help has that last.
  void ends_with(const std::vector<Ending>& endings);
  /// Of names in help.
  void column_width(size_t characters);
  /// One of those so added must be given. It lives with this one. What this one's own options say
  /// may stand behind its name, too.
  CommandLine add_subcommand(const std::string& name, const std::string& what);
  /// One that somebody else parses, where the program is called with its name first: help and
  /// manual know it by `other`, which is given up.
  void add_foreign(const std::string& name, const CommandLine& other);

  ToldCommand told() const;

  /// Never throws. What --help or --version asks for, to be printed and nothing else done; empty:
  /// go on. Errors: one sentence that names the argument.
  Result<std::string> parse(std::span<const char* const> arguments);
  /// For a main(): prints what is asked for or the mistake. The status to end with; nothing: go on.
  std::optional<int> parse_or_end(int argc, char** argv, int exit_mistake);

  /// Whether the option was given.
  bool has(const std::string& name) const;
  /// Whether this subcommand was given.
  bool is_chosen() const;

 private:
  explicit CommandLine(std::shared_ptr<CLI::App> app) : app_(std::move(app)) {}
  template <class T>
  CommandOption add(const std::string& name, T& target, const std::string& what);

  std::shared_ptr<CLI::App> app_;
};

}  // namespace cw
