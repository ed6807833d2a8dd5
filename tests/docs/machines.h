// The machines that a reader has before him: two gateways with a line between them, a host behind
// each, and one that stands alone. To its programs each is a machine: network, processes, /etc,
// /run and /var/lib of its own. The working folder is one for all: what a reader copies from one
// machine to another is there already.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tests/lab/gateway.h"
#include "tests/lab/program.h"
#include "tests/lab/sites.h"
#include "tests/lab/space.h"

namespace cw::docs {

/// How the line between the gateways is made, at machine `line`.
inline constexpr const char* line_command =
    "causeway-wan ma mb --rtt 20ms --rate 500Mbit/s --control /run/line";

/// One of them. Whatever runs there ends with it.
class Machine {
 public:
  /// `folder` is its own, and there; `tree`, which nobody there can write, is the project's.
  /// It is started, and not ready then.
  Machine(const lab::Space& space, const std::filesystem::path& folder, const std::string& tree);

  /// Throws what it says when it does not become ready.
  void wait_ready() const;
  /// Begins to end it.
  void end() const;
  /// For lab::Program: runs a file of bash there, below `at`, with what both streams say in one.
  lab::Arguments command(const std::filesystem::path& script, const std::string& at) const;
  int namespace_fd() const { return space_.fd(); }

 private:
  const lab::Space& space_;
  std::unique_ptr<lab::Program> first_;
};

/// Thread: one.
class Machines {
 public:
  /// `programs` is the folder of the project's.
  Machines(std::string tree, std::string programs);
  ~Machines();

  /// By a name that a document has; empty: the one alone. Made when it is first asked for.
  Machine& machine(const std::string& name);
  /// Where all begin.
  std::filesystem::path home() const { return folder_.path("home"); }
  /// Writes a script that can be run at any of them, with `lines` as typed.
  std::filesystem::path script(const std::string& lines);

 private:
  const lab::Space& space_of(const std::string& name);
  void start(const std::string& name);
  void start_line();

  lab::Folder folder_;
  std::string tree_, programs_;
  std::optional<lab::Space> alone_;
  std::optional<lab::Sites> sites_;
  std::map<std::string, std::unique_ptr<Machine>> machines_;
  std::unique_ptr<lab::Program> line_;
  size_t script_count_ = 0;
};

}  // namespace cw::docs
