// Follows a document as a stranger does: types what it says, in order, on the machines it names,
// and looks whether what comes is what it says.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/docs/document.h"
#include "tests/docs/machines.h"
#include "tests/lab/program.h"

namespace cw::docs {

/// Thread: one.
class Reader {
 public:
  /// Of documents in `tree`. `is_night`: also what takes long.
  Reader(const std::string& tree, const std::string& programs, bool is_night);

  /// Follows it to its end, after those that come before it. Returns the first thing that is not
  /// as it says, with place and output; empty: all is.
  std::string follow(const std::string& path);

 private:
  /// A program in the background, and how much it had said when the last commands were typed.
  struct Running {
    std::string place;
    size_t line = 0;
    std::unique_ptr<lab::Program> program;
    size_t mark = 0;
  };

  std::string follow(const std::string& path, bool is_before);
  std::string follow(const Document& document, bool is_before);
  std::string type(const Block& block, const Block* printed);
  std::string type_once(const Block& block, const Block* printed);
  std::string start(const Block& block, const Block* printed);
  std::string wait_for_log(const Block& printed);
  std::string write(const Block& block);
  std::string look_for_excerpt(const Block& block) const;
  std::string said_at(const std::string& place) const;

  std::string tree_;
  bool is_night_;
  Machines machines_;
  std::vector<Running> running_;
};

}  // namespace cw::docs
