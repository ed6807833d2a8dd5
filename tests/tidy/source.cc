#include "tests/tidy/source.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace cw::tidy {
namespace {
namespace fs = std::filesystem;

constexpr std::array top_folders = {"dataplane", "policies", "plugins", "control", "offload",
                                    "tests",     "bench",    "configs", ".ci"};
constexpr std::array data_folders = {"tests/data", "tests/fuzz/corpus"};

File read_file(const fs::path& root, const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  File file = make_file(fs::relative(path, root).generic_string(), text.str());
  file.is_executable = (fs::status(path).permissions() & fs::perms::owner_exec) != fs::perms::none;
  return file;
}

bool is_generated(const fs::path& path) { return path.filename() == "__pycache__"; }

bool is_picture(const fs::path& path) { return path.extension() == ".png"; }

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// A cursor that copies code and blanks prose, one literal or comment at a time.
class Blanker {
 public:
  explicit Blanker(std::string_view text) : text_(text), out_(text) {}

  std::string run() {
    while (at_ < text_.size()) step();
    return std::move(out_);
  }

 private:
  void step() {
    if (has("//")) return blank_to(end_of("\n", 0));
    if (has("/*")) return blank_to(end_of("*/", 2));
    if (has("R\"") && !follows_word()) return blank_raw_string();
    if (text_[at_] == '"') return blank_quoted('"');
    // An apostrophe after a digit or letter parts the digits of a number.
    if (text_[at_] == '\'' && !follows_word()) return blank_quoted('\'');
    ++at_;
  }
  bool has(std::string_view token) const { return text_.substr(at_).starts_with(token); }
  bool follows_word() const { return at_ > 0 && is_word_char(text_[at_ - 1]); }
  // Behind the `size` bytes of the mark that closes what opens here with as many bytes.
  size_t end_of(std::string_view mark, size_t size) const {
    const size_t found = text_.find(mark, at_ + size);
    return found == std::string_view::npos ? text_.size() : found + size;
  }
  void blank_quoted(char quote) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2 : 1;
    }
    blank_inside(std::min(end, text_.size()));
  }
  void blank_raw_string() {
    const size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return blank_to(text_.size());
    const std::string close = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
    const size_t found = text_.find(close, open);
    ++at_;  // the R
    blank_inside(found == std::string_view::npos ? text_.size() : found + close.size() - 1);
  }
  // Keeps the quotes themselves, so that a literal stays visible as one.
  void blank_inside(size_t end) {
    ++at_;
    blank_to(end);
    if (at_ < text_.size()) ++at_;
  }
  void blank_to(size_t end) {
    for (; at_ < end; ++at_) {
      if (text_[at_] != '\n') out_[at_] = ' ';
    }
  }

  std::string_view text_;
  std::string out_;
  size_t at_ = 0;
};

// Preprocessor lines blanked: their braces and colons belong to no function.
std::string blank_directives(std::string_view code) {
  std::string out(code);
  bool continues = false;
  size_t start = 0;
  for (const std::string_view line : lines_of(code)) {
    const size_t first = line.find_first_not_of(' ');
    const bool is_directive = continues || (first != std::string_view::npos && line[first] == '#');
    continues = is_directive && line.ends_with('\\');
    if (is_directive) std::fill_n(out.begin() + static_cast<long>(start), line.size(), ' ');
    start += line.size() + 1;
  }
  return out;
}

// The names before `at` in a qualified name, outermost first: "std::chrono::" for steady_clock.
std::string_view qualifier_before(std::string_view code, size_t at) {
  size_t start = at;
  while (start > 0 && (is_word_char(code[start - 1]) || code[start - 1] == ':')) --start;
  return code.substr(start, at - start);
}

// Whether a type's name stands right before: `Duration time()` declares, `return time()` calls.
bool follows_type(std::string_view code, size_t at, std::string_view previous) {
  static const std::set<std::string_view> not_types = {"return", "co_return", "else", "do", "case"};
  const size_t end = at == 0 ? std::string_view::npos : code.find_last_not_of(' ', at - 1);
  if (end == std::string_view::npos || end + 1 == at || previous.empty()) return false;
  const bool is_adjacent = previous.data() + previous.size() == code.data() + end + 1;
  return is_adjacent && !not_types.contains(previous);
}

bool is_include(std::string_view code) {
  const size_t hash = code.find_first_not_of(" \t");
  if (hash == std::string_view::npos || code[hash] != '#') return false;
  const size_t word = code.find_first_not_of(" \t", hash + 1);
  return word != std::string_view::npos && code.substr(word).starts_with("include");
}

enum class Brace { Container, Function, Other };

// What an opening brace opens, told from the text between it and the previous `;`, `{` or `}`.
Brace brace_after(const std::string& head) {
  static const std::set<std::string_view> containers = {"namespace", "class", "struct",
                                                        "union",     "enum",  "extern"};
  const size_t parameters = head.find('('), assignment = head.find('=');
  const bool is_operator = head.find("operator") != std::string::npos;
  if (parameters == std::string::npos) {
    const auto words = words_of(head);
    const bool is_container =
        std::ranges::any_of(words, [](const Word& word) { return containers.contains(word.text); });
    return is_container ? Brace::Container : Brace::Other;
  }
  return assignment < parameters && !is_operator ? Brace::Other : Brace::Function;
}

}  // namespace

std::string to_string(const Violation& violation) {
  return violation.path + ":" + std::to_string(violation.line) + ": [" + violation.rule + "] " +
         violation.advice;
}

File make_file(std::string path, std::string text) {
  std::string code = is_cpp(path) ? blank_prose(text) : text;
  return {std::move(path), std::move(text), std::move(code)};
}

Files read_tree(const std::string& root) {
  Files files;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (entry.is_regular_file()) files.push_back(read_file(root, entry.path()));
  }
  for (const char* const folder : top_folders) {
    if (!fs::exists(fs::path(root) / folder)) continue;
    auto walk = fs::recursive_directory_iterator(fs::path(root) / folder);
    for (auto entry = begin(walk); entry != end(walk); ++entry) {
      const fs::path& path = entry->path();
      // Of the data only what people read: descriptions of packets, which name drop reasons.
      const bool is_data = std::ranges::any_of(data_folders, [&](const char* data) {
        return path.string().starts_with((fs::path(root) / data).string());
      });
      if (is_generated(path)) {
        entry.disable_recursion_pending();
      } else if (entry->is_regular_file() && !is_picture(path) &&
                 (!is_data || path.extension() == ".txt")) {
        files.push_back(read_file(root, path));
      }
    }
  }
  std::ranges::sort(files, {}, &File::path);
  return files;
}

std::string blank_prose(std::string_view text) { return Blanker(text).run(); }

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<Include> includes_of(const File& file) {
  std::vector<Include> includes;
  const auto code = lines_of(file.code);
  const auto text = lines_of(file.text);
  for (size_t i = 0; i < code.size(); ++i) {
    if (!is_include(code[i])) continue;  // commented out or none
    const size_t start = text[i].find_first_of("<\"");
    const size_t end = text[i].find_first_of(">\"", start + 1);
    if (start == std::string_view::npos || end == std::string_view::npos) continue;
    const std::string_view name = text[i].substr(start + 1, end - start - 1);
    includes.push_back({i + 1, std::string(name), text[i][start] == '"'});
  }
  return includes;
}

std::vector<Word> words_of(std::string_view code) {
  std::vector<Word> words;
  for (size_t at = 0; at < code.size();) {
    if (!is_word_char(code[at])) {
      ++at;
      continue;
    }
    const size_t start = at;
    while (at < code.size() && is_word_char(code[at])) ++at;
    const std::string_view before = code.substr(0, start), scope = qualifier_before(code, start);
    const size_t next = code.find_first_not_of(' ', at);
    const bool opens = next != std::string_view::npos && code[next] == '(';
    const std::string_view previous = words.empty() ? "" : words.back().text;
    words.push_back({.text = code.substr(start, at - start),
                     .is_called = opens && !follows_type(code, start, previous),
                     .is_member = before.ends_with('.') || before.ends_with("->"),
                     .is_std = scope.starts_with("std::"),
                     .is_scoped = scope.size() > 2 && !scope.starts_with("std::")});
  }
  return words;
}

std::vector<Function> functions_of(std::string_view code) {
  const std::string text = blank_directives(code);
  std::vector<Function> functions;
  std::vector<Brace> open;
  std::string head;
  size_t line = 1, function_line = 0;
  const auto is_inside = [&] { return !open.empty() && open.back() != Brace::Container; };
  for (const char c : text) {
    line += c == '\n';
    if (c == '{') {
      open.push_back(is_inside() ? Brace::Other : brace_after(head));
      if (open.back() == Brace::Function) function_line = line;
    } else if (c == '}' && !open.empty()) {
      if (open.back() == Brace::Function) {
        functions.push_back({function_line, line - function_line + 1});
      }
      open.pop_back();
    }
    if (c == '{' || c == '}' || c == ';') {
      head.clear();
    } else {
      head.push_back(c);
    }
  }
  return functions;
}

bool is_cpp(std::string_view path) {
  return path.ends_with(".h") || path.ends_with(".cc") || path.ends_with(".c") ||
         path.ends_with(".def");
}

bool is_header(std::string_view path) { return path.ends_with(".h"); }

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/';
}

}  // namespace cw::tidy
