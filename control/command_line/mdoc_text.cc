#include "control/command_line/mdoc_text.h"

#include <sstream>

namespace cw {
namespace {

bool ends_sentence(std::string_view word) {
  while (word.ends_with(')') || word.ends_with('"')) word.remove_suffix(1);
  return word.ends_with('.') || word.ends_with('!') || word.ends_with('?');
}

/// Collects lines of one kind, prose or literal, and writes them when the other kind begins.
class LessonWriter {
 public:
  void take(const std::string& line) {
    if (line.empty()) return end_paragraph();
    if (line == "Examples:") return end_paragraph(), begin_examples();
    if (line.starts_with(' ')) return take_literal(line);
    end_literal();
    prose_ += line + " ";
  }
  MdocLesson finish() {
    end_prose();
    end_literal();
    return std::move(lesson_);
  }

 private:
  std::string& out() { return is_example_ ? lesson_.examples : lesson_.description; }

  void begin_examples() {
    end_literal();
    is_example_ = true;
  }
  void take_literal(const std::string& line) {
    end_prose();
    if (literal_.empty()) blank_lines_ = 0;
    for (; blank_lines_ > 0; --blank_lines_) literal_ += '\n';
    literal_ += mdoc_escaped(line.substr(line.starts_with("  ") ? 2 : 1)) + "\n";
  }
  void end_paragraph() {
    end_prose();
    ++blank_lines_;
  }
  void end_prose() {
    if (prose_.empty()) return;
    if (!out().empty()) out() += ".Pp\n";
    out() += mdoc_sentences(prose_);
    prose_.clear();
  }
  void end_literal() {
    if (literal_.empty()) return;
    out() += ".Bd -literal -offset 2n\n" + literal_ + ".Ed\n";
    literal_.clear();
    is_example_ = false;
  }

  MdocLesson lesson_;
  std::string prose_, literal_;
  int blank_lines_ = 0;
  bool is_example_ = false;
};

}  // namespace

std::string mdoc_escaped(std::string_view text) {
  std::string escaped;
  if (text.starts_with('.') || text.starts_with('\'')) escaped = "\\&";
  for (const char each : text) {
    if (each == '\\') {
      escaped += "\\e";
    } else if (each == '-') {
      escaped += "\\-";
    } else {
      escaped += each;
    }
  }
  return escaped;
}

std::string mdoc_sentences(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string lines, line;
  for (std::string word; words >> word;) {
    line += (line.empty() ? "" : " ") + word;
    if (!ends_sentence(word)) continue;
    lines += mdoc_escaped(line) + "\n";
    line.clear();
  }
  return line.empty() ? lines : lines + mdoc_escaped(line) + "\n";
}

MdocLesson mdoc_lesson(std::string_view text) {
  std::istringstream lines{std::string(text)};
  LessonWriter writer;
  for (std::string line; std::getline(lines, line);) writer.take(line);
  return writer.finish();
}

}  // namespace cw
