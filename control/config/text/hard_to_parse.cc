#include "control/config/text/hard_to_parse.h"

#include <cctype>

namespace cw::config {
namespace {

constexpr uint32_t key_parts_max = 256;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

bool is_ascii(char each) { return static_cast<unsigned char>(each) < 0x80; }
bool continues_letter(char each) { return (static_cast<unsigned char>(each) & 0xc0) == 0x80; }
bool is_space(char each) { return std::isspace(static_cast<unsigned char>(each)) != 0; }
bool is_in_key(char each) {
  return std::isalnum(static_cast<unsigned char>(each)) != 0 ||
         std::string_view("._- \t\"'").contains(each);
}

/// Walks through a text and knows what is quoted.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {
    if (text_.starts_with(byte_order_mark)) text_.remove_prefix(byte_order_mark.size());
  }

  std::optional<Mistake> first() {
    while (!text_.empty()) {
      const char* const why = !quote_.empty() ? step_quoted() : is_remark_ ? step_remark() : step();
      if (why != nullptr) return Mistake{place_, why};
    }
    return std::nullopt;
  }

 private:
  // Each goes over one character, or a quote; why it may not be there, or null.
  const char* step() {
    const char each = text_[0];
    if (!is_ascii(each)) {
      return skip(1), "syntax: letters beyond ASCII must be in quotes, or behind #";
    }
    dots_ = is_in_key(each) ? dots_ + (each == '.' ? 1 : 0) : 0;
    if (dots_ >= key_parts_max) return skip(1), "syntax: a key has 256 parts at most";
    is_remark_ = each == '#';
    if (each != '"' && each != '\'') return skip(1);
    const std::string_view three = text_.substr(0, 3);
    const bool is_long = three == R"(""")" || three == "'''";
    quote_ = is_long ? three : text_.substr(0, 1);
    joins_lines_ = false;
    return skip(quote_.size());
  }
  const char* step_remark() {
    is_remark_ = text_[0] != '\n';
    return skip(1);
  }
  const char* step_quoted() {
    const bool is_escape = quote_[0] == '"' && text_[0] == '\\' && text_.size() > 1;
    if (is_escape && !is_ascii(text_[1])) {
      return skip(1), "syntax: a letter beyond ASCII needs no \\ before it";
    }
    if (joins_lines_ && !is_ascii(text_[0])) {
      return skip(1), "syntax: a line that \\ joins to the one before must begin with ASCII";
    }
    joins_lines_ = is_space(text_[is_escape ? 1 : 0]) && (is_escape || joins_lines_);
    if (is_escape) return skip(2);
    const bool is_end = text_.starts_with(quote_);
    const size_t count = is_end ? quote_.size() : 1;
    if (is_end || (text_[0] == '\n' && quote_.size() == 1)) quote_ = {};
    return skip(count);
  }

  const char* skip(size_t count) {
    for (const char each : text_.substr(0, count)) {
      if (is_after_line_) place_ = {place_.line + 1, 0};
      is_after_line_ = each == '\n';
      place_.column += continues_letter(each) ? 0 : 1;
    }
    text_.remove_prefix(count);
    return nullptr;
  }

  std::string_view text_, quote_;  // what is left; how it is quoted
  Place place_{1, 0};              // of what was skipped last
  uint32_t dots_ = 0;              // of this key
  bool is_remark_ = false, is_after_line_ = false;
  bool joins_lines_ = false;  // behind a \ that ends a line
};

}  // namespace

std::optional<Mistake> first_hard_to_parse(std::string_view text) { return Walk(text).first(); }

std::string in_ascii(std::string_view text) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  std::string made;
  made.reserve(text.size());
  for (const char each : text) {
    if (is_ascii(each)) {
      made += each;
    } else if (!continues_letter(each)) {
      made += 'x';
    }
  }
  return made;
}

}  // namespace cw::config
