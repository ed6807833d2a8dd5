// The source tree as text, and the little that the rules need to know about C++.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cw::tidy {

/// A file of the project. `code` has as many lines as `text`, of the same lengths, but comments and
/// the insides of literals are spaces, so that a rule never trips over prose.
struct File {
  std::string path;  ///< from the repository root
  std::string text;
  std::string code;
  bool is_executable = false;
};

using Files = std::vector<File>;

/// Something that a rule objects to. Prints as `path:line: [rule] advice`.
struct Violation {
  std::string path;
  size_t line;
  std::string rule;
  std::string advice;  ///< what to do instead
};

using Violations = std::vector<Violation>;

std::string to_string(const Violation& violation);

/// Makes a File of a path and a text.
File make_file(std::string path, std::string text);

/// Everything below `root` that is written by hand; build trees, data and hidden folders left out.
Files read_tree(const std::string& root);

/// `text` with comments and the insides of string and character literals blanked.
std::string blank_prose(std::string_view text);

std::vector<std::string_view> lines_of(std::string_view text);

struct Include {
  size_t line;
  std::string name;
  bool is_quoted;
};
std::vector<Include> includes_of(const File& file);

/// An identifier and what stands around it.
struct Word {
  std::string_view text;
  bool is_called;  ///< an opening parenthesis follows, and no type stands before: no declaration
  bool is_member;  ///< after `.` or `->`
  bool is_std;     ///< after `std::`, or in a namespace of std's such as `std::chrono::`
  bool is_scoped;  ///< after any other `x::`
};
std::vector<Word> words_of(std::string_view code);

/// A function body found by its braces; the lines from its opening brace to its closing one.
struct Function {
  size_t line;
  size_t line_count;
};
/// Bodies at namespace or class level. `code` has its prose blanked. An estimate: macros that hide
/// braces fool it.
std::vector<Function> functions_of(std::string_view code);

bool is_cpp(std::string_view path);     ///< .h .cc .c .def
bool is_header(std::string_view path);  ///< .h
bool is_below(std::string_view path, std::string_view folder);

}  // namespace cw::tidy
