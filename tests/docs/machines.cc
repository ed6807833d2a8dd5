#include "tests/docs/machines.h"

#include <signal.h>

#include <fstream>
#include <stdexcept>

namespace cw::docs {
namespace {

namespace fs = std::filesystem;

// The first process of a machine. It waits for whoever loses its parent. Its /etc leads to this
// machine's, which can only be read; to copy that takes a second.
constexpr const char* first_process = R"(set -e
mkdir "$1/etc" "$1/run" "$1/lib"
mount --bind /etc "$1/etc"
mount -o remount,bind,ro "$1/etc"
mount -t tmpfs -o mode=0755 tmpfs /etc
ln -s "$1/etc"/* /etc
rm -f /etc/causeway
mkdir /etc/causeway
mount --bind "$1/run" /run
mount --bind "$1/lib" /var/lib
mount -t sysfs sysfs /sys
mount --bind "$2" "$2"
mount -o remount,bind,ro "$2"
echo ready >&2
sleep infinity &
wait
)";

}  // namespace

Machine::Machine(const lab::Space& space, const fs::path& folder, const std::string& tree)
    : space_(space),
      first_(std::make_unique<lab::Program>(
          space.fd(),
          lab::Arguments{"unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                         "bash", "-c", first_process, "first", folder, tree})) {}

void Machine::wait_ready() const {
  if (!first_->wait_for("ready")) throw std::runtime_error("no machine: " + first_->finish().err);
}

void Machine::end() const { first_->signal(SIGKILL); }

lab::Arguments Machine::command(const fs::path& script, const std::string& at) const {
  const std::string spaces = "/proc/" + std::to_string(first_->pid()) + "/ns/";
  return {"nsenter",
          "--mount=" + spaces + "mnt",
          "--pid=" + spaces + "pid_for_children",
          "bash",
          "-c",
          R"(cd "$1" && exec bash -euo pipefail "$2" 2>&1)",
          "bash",
          at,
          script};
}

Machines::Machines(std::string tree, std::string programs)
    : tree_(std::move(tree)), programs_(std::move(programs)) {
  fs::create_directories(home());
  fs::create_directories(folder_.path("scripts"));
}

const lab::Space& Machines::space_of(const std::string& name) {
  if (name.empty()) {
    if (!alone_) alone_.emplace(lab::Space::make());
    return *alone_;
  }
  if (!sites_) sites_.emplace(lab::SitesOptions{});
  return sites_->space(name == "a"        ? lab::At::GatewayA
                       : name == "b"      ? lab::At::GatewayB
                       : name == "host-a" ? lab::At::HostA
                       : name == "host-b" ? lab::At::HostB
                                          : lab::At::Between);
}

/// All at once: what the kernel does for one is mostly waiting.
Machines::~Machines() {
  for (const auto& [name, machine] : machines_) machine->end();
}

void Machines::start(const std::string& name) {
  const fs::path own = folder_.path(name.empty() ? "alone" : name);
  fs::create_directories(own);
  machines_.emplace(name, std::make_unique<Machine>(space_of(name), own, tree_));
}

Machine& Machines::machine(const std::string& name) {
  if (name.empty() && !machines_.contains(name)) start(name);
  if (!name.empty() && !line_) {
    for (const char* const each : {"line", "a", "b", "host-a", "host-b"}) start(each);
    start_line();
  }
  machines_[name]->wait_ready();
  return *machines_[name];
}

void Machines::start_line() {
  const Machine& between = *machines_["line"];
  between.wait_ready();
  line_ = std::make_unique<lab::Program>(
      between.namespace_fd(), between.command(script(std::string("exec ") + line_command), home()));
  const auto end = lab::Time::now() + std::chrono::seconds(30);
  while (line_->out_so_far().find("ready") == std::string::npos) {
    if (line_->has_ended() || lab::Time::now() > end) {
      throw std::runtime_error("no line: " + line_->out_so_far());
    }
  }
}

fs::path Machines::script(const std::string& lines) {
  const fs::path file = folder_.path("scripts/" + std::to_string(++script_count_));
  std::ofstream(file) << "export HOME='" << home().string() << "' PATH='" << programs_
                      << "':\"$PATH\" LANG=C.UTF-8 CPATH='" CW_HEADERS "' LIBRARY_PATH='"
                      << CW_LIBRARIES "' LD_LIBRARY_PATH='" CW_LIBRARIES "'\n"
                      << lines;
  return file;
}

}  // namespace cw::docs
