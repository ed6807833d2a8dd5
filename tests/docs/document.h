// A document as its tests read it: its fences, what each is, and who runs it. README.md has the
// words that stand behind a fence.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cw::docs {

enum class Kind {
  Commands,  ///< what a reader types
  Printed,   ///< what he sees then
  File,      ///< what he writes into a file
  Excerpt,   ///< of a file of the project
  Picture,
};

struct Block {
  Kind kind = Kind::Picture;
  size_t line = 0;    ///< of the fence, from 1
  std::string text;   ///< each line with its end
  std::string place;  ///< the machine; empty: one without a line to the others
  // Of commands.
  bool is_background = false;  ///< runs until the document ends
  bool is_repeated = false;    ///< typed again until it prints what follows
  bool is_in_tree = false;     ///< begins in the project's folder, not at home
  bool is_for_night = false;   ///< takes long
  bool is_once = false;        ///< not typed again on the way to a document behind this one
  bool is_not_run = false;     ///< takes what no test has, as the text beside says
  int status = 0;              ///< with which they end
  std::string by;              ///< the test that runs them, instead
  // Of what is printed.
  bool is_log = false;    ///< by what runs in the background at `place`, since the last commands
  bool is_exact = false;  ///< figures, too
  // Of files and excerpts.
  std::string file;       ///< its name
  bool is_added = false;  ///< to the end of what there is
};

struct Document {
  std::string path;                ///< in the project
  std::vector<Block> blocks;       ///< in the order of the text
  std::vector<std::string> after;  ///< documents that a reader has followed before, in its folder
  std::vector<std::string> mistakes;  ///< each with path and line
};

/// Of its text. What it cannot be held to is a mistake.
Document parse_document(const std::string& path, const std::string& text);

/// Of a file of the project; one that is not there is empty.
Document read_document(const std::string& tree, const std::string& path);
std::string text_of(const std::string& file);

/// The lines of a text, without their ends.
std::vector<std::string> lines_in(const std::string& text);

}  // namespace cw::docs
