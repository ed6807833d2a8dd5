// Text that people wrote for a terminal, as mdoc.
#pragma once

#include <string>
#include <string_view>

namespace cw {

/// Nothing in it means anything to mdoc.
std::string mdoc_escaped(std::string_view text);
/// One line a sentence, as manuals are written.
std::string mdoc_sentences(std::string_view text);

struct MdocLesson {
  std::string description, examples;
};
/// Paragraphs stay such, indented lines stay as they are; those below "Examples:" are apart.
MdocLesson mdoc_lesson(std::string_view text);

}  // namespace cw
