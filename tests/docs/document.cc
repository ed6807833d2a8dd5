#include "tests/docs/document.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

namespace cw::docs {
namespace {

constexpr std::array places = {"a", "b", "host-a", "host-b", "line"};

struct Word {
  std::string name, value;
};

std::vector<Word> words_in(const std::string& text) {
  std::istringstream stream(text);
  std::vector<Word> words;
  for (std::string word; stream >> word;) {
    const size_t equals = std::min(word.find('='), word.size());
    words.push_back({word.substr(0, equals), word.substr(std::min(equals + 1, word.size()))});
  }
  return words;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 4 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool take_place(Block& block, const std::string& value) {
  block.place = value;
  return std::ranges::find(places, value) != places.end();
}

bool take_of_commands(Block& block, const Word& word) {
  const auto set = [&](bool& flag) { return flag = word.value.empty(); };
  if (word.name == "at") return take_place(block, word.value);
  if (word.name == "background") return set(block.is_background);
  if (word.name == "until") return set(block.is_repeated);
  if (word.name == "long") return set(block.is_for_night);
  if (word.name == "once") return set(block.is_once);
  if (word.name == "not-run-here") return set(block.is_not_run);
  if (word.name == "in") return block.is_in_tree = word.value == "tree";
  if (word.name == "by") return !(block.by = word.value).empty();
  if (word.name != "status" || !is_number(word.value)) return false;
  block.status = std::stoi(word.value);
  return true;
}

bool take_of_printed(Block& block, const Word& word) {
  if (word.name == "exact") return block.is_exact = word.value.empty();
  if (word.name == "long") return block.is_for_night = word.value.empty();
  if (word.name == "at") return block.is_log = take_place(block, word.value);
  if (word.name != "picture" || !word.value.empty()) return false;
  block.kind = Kind::Picture;
  return true;
}

bool take_of_file(Block& block, const Word& word) {
  if (word.name == "at") return take_place(block, word.value);
  block.file = word.value;
  block.is_added = word.name == "add";
  block.kind = word.name == "from" ? Kind::Excerpt : Kind::File;
  return !word.value.empty() && (word.name == "file" || word.name == "from" || block.is_added);
}

bool take(Block& block, const std::string& language, const Word& word) {
  const bool is_file = word.name == "file" || word.name == "add" || word.name == "from";
  if (is_file || !block.file.empty()) return take_of_file(block, word);
  if (language == "sh") return take_of_commands(block, word);
  if (language == "text") return take_of_printed(block, word);
  return word.name == "at" && take_place(block, word.value);
}

/// Reads line by line.
class Reading {
 public:
  Reading(const std::string& path, const std::string& text) : lines_(lines_in(text)) {
    document_.path = path;
  }

  Document read() {
    for (at_ = 0; at_ < lines_.size(); ++at_) {
      const size_t indent = lines_[at_].find_first_not_of(' ');
      if (indent == std::string::npos) continue;
      if (lines_[at_].compare(indent, 3, "```") == 0) {
        read_fence(indent);
        continue;
      }
      if (lines_[at_].starts_with("<!-- run ")) read_order();
      look_for_indented_code(indent);
      is_directly_below_ = false;
    }
    for (size_t i = 0; i < document_.blocks.size(); ++i) hold_repeated(i);
    return document_;
  }

 private:
  void object(size_t line, const std::string& sentence) {
    document_.mistakes.push_back(document_.path + ":" + std::to_string(line) + ": " + sentence);
  }

  /// A text of commands that no test would see.
  void look_for_indented_code(size_t indent) {
    const std::string& line = lines_[at_];
    const bool is_item =
        line.find_first_of("*-+") == indent ||
        (line[indent] >= '0' && line[indent] <= '9' && line.find(". ") < indent + 4);
    if (indent < 4) is_in_list_ = is_item || (is_in_list_ && indent > 0);
    const bool is_after_gap =
        at_ == 0 || lines_[at_ - 1].find_first_not_of(' ') == std::string::npos;
    if (indent >= 4 && is_after_gap && !is_in_list_) {
      object(at_ + 1, "an indented block is run by nobody: make it a fence");
    }
  }

  /// `<!-- run after=FILE -->`
  void read_order() {
    const std::string& line = lines_[at_];
    const size_t end = line.find(" -->");
    for (const Word& word : words_in(line.substr(8, end == std::string::npos ? 0 : end - 8))) {
      if (word.name == "after" && !word.value.empty()) {
        document_.after.push_back(word.value);
      } else {
        object(at_ + 1, "a document is not run " + word.name);
      }
    }
  }

  void read_fence(size_t indent) {
    const std::string info = lines_[at_].substr(indent + 3);
    std::vector<Word> words = words_in(info);
    Block block;
    block.line = at_ + 1;
    while (++at_ < lines_.size() && lines_[at_].find("```") != indent) {
      const std::string& line = lines_[at_];
      block.text +=
          line.substr(std::min({line.size(), indent, line.find_first_not_of(' ')})) + "\n";
    }
    if (at_ == lines_.size()) object(block.line, "this fence does not end");
    if (words.empty()) return object(block.line, "say what this is: sh, text, toml file=NAME ...");
    const std::string language = words.front().name;
    words.erase(words.begin());
    block.kind = language == "sh"     ? Kind::Commands
                 : language == "text" ? Kind::Printed
                                      : Kind::Picture;
    for (const Word& word : words) {
      if (!take(block, language, word)) {
        object(block.line, "\"" + word.name + (word.value.empty() ? "" : "=" + word.value) +
                               "\" says nothing of " + language);
      }
    }
    hold(block, language);
    document_.blocks.push_back(block);
    is_directly_below_ = true;
  }

  /// What can be seen before anything runs.
  void hold(const Block& block, const std::string& language) {
    const Block* before = document_.blocks.empty() ? nullptr : &document_.blocks.back();
    if (block.kind == Kind::Picture && language != "text") {
      object(block.line, language + " needs file=, add= or from=, as else nothing holds it");
    }
    if (block.is_not_run && !says_not_run(block)) {
      object(block.line, "the text beside does not say: not run here");
    }
    if (block.kind != Kind::Printed || block.is_log) return;
    const bool is_of_commands = before != nullptr && is_directly_below_ &&
                                (before->kind == Kind::Commands || before->is_log);
    if (!is_of_commands) return object(block.line, "below no commands: whose text is this?");
    if (before->is_not_run || !before->by.empty()) {
      object(block.line, "nothing holds what commands print that are not run here");
    }
  }

  void hold_repeated(size_t i) {
    const std::vector<Block>& blocks = document_.blocks;
    if (!blocks[i].is_repeated) return;
    const bool has_text = i + 1 < blocks.size() && blocks[i + 1].kind == Kind::Printed;
    if (!has_text || blocks[i + 1].is_log) object(blocks[i].line, "until what? A text says it");
  }

  /// Within the block, or the paragraphs before and behind it.
  bool says_not_run(const Block& block) const {
    const size_t first = block.line > 8 ? block.line - 8 : 0;
    const size_t behind = std::min(lines_.size(), at_ + 6);
    std::string around;
    for (size_t i = first; i < behind; ++i) around += lines_[i] + " ";
    std::erase(around, '*');
    return around.find("not run here") != std::string::npos ||
           around.find("Not run here") != std::string::npos;
  }

  std::vector<std::string> lines_;
  Document document_;
  size_t at_ = 0;
  bool is_in_list_ = false, is_directly_below_ = false;
};

}  // namespace

std::vector<std::string> lines_in(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

Document read_document(const std::string& tree, const std::string& path) {
  return parse_document(path, text_of(tree + "/" + path));
}

Document parse_document(const std::string& path, const std::string& text) {
  return Reading(path, text).read();
}

}  // namespace cw::docs
