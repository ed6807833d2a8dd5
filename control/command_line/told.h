// What a command line says of itself, for those who write it down: manual pages, shells.
#pragma once

#include <string>
#include <vector>

namespace cw {

/// How a program may end.
struct Ending {
  int status = 0;
  std::string when;
};

struct ToldOption {
  std::string name;   ///< "--wait"; of a place "HOST"
  std::string value;  ///< what help calls it, "TIME"; empty: a flag
  std::string range;  ///< "1 to 9"; empty: any
  std::string what, group, initial;
  std::vector<std::string> words;  ///< the only ones that it takes; empty: any
  bool is_place = false, is_required = false, is_repeated = false;

  bool takes_file() const;
};

/// A program, or one of its commands.
struct ToldCommand {
  std::string name, summary, lesson;
  std::vector<ToldOption> options;
  std::vector<ToldCommand> commands;
  std::vector<Ending> endings;
};

}  // namespace cw
