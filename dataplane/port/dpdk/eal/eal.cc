#include "dataplane/port/dpdk/eal/eal.h"

#include <fcntl.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "dataplane/port/dpdk/eal/eal_log.h"

namespace cw {
namespace {

/// Nothing in there is of use to a process that shares nothing; an empty folder of a dead process
/// would stay for ever. The folder above it stays: another process may be about to make its own
/// there.
void remove_runtime_folder() {
  std::error_code ignored;
  std::filesystem::remove(rte_eal_get_runtime_dir(), ignored);  // only when empty
}

/// DPDK prints all of its options where one is wrong, which hides the sentence about it.
class SilentOutput {
 public:
  SilentOutput() : kept_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
  }
  ~SilentOutput() {
    std::fflush(stdout);
    dup2(kept_, STDOUT_FILENO);
    close(kept_);
  }
  SilentOutput(const SilentOutput&) = delete;
  SilentOutput& operator=(const SilentOutput&) = delete;

 private:
  int kept_;
};

int init_eal(std::vector<char*>& argv) {
  const SilentOutput silent;
  return rte_eal_init(static_cast<int>(argv.size()) - 1, argv.data());
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

Result<EalChoice> start(const EalOptions& options) {
  if (!eal_log::open(options.log)) return failure("dpdk: no memory for its log");
  std::vector<std::string> arguments = eal_arguments(options, hugepage_bytes_free());
  EalChoice choice;
  choice.has_hugepages = std::ranges::find(arguments, "--no-huge") == arguments.end();
  choice.has_pci = std::ranges::find(arguments, "--no-pci") == arguments.end();
  choice.arguments = joined(arguments);

  std::string program = "causeway";
  std::vector<char*> argv = {program.data()};
  for (std::string& each : arguments) argv.push_back(each.data());
  argv.push_back(nullptr);
  cpu_set_t cores;
  const bool has_cores = sched_getaffinity(0, sizeof cores, &cores) == 0;
  const int taken = init_eal(argv);
  const int error = rte_errno;
  // EAL binds its caller to the lcore; where threads run is not its affair.
  if (has_cores) sched_setaffinity(0, sizeof cores, &cores);
  remove_runtime_folder();
  if (taken < 0) {
    const std::string logged = eal_log::first_error();
    const bool lacks_hugepages =
        choice.has_hugepages && hugepage_bytes_free() < uint64_t{options.memory_mib} << 20;
    return failure("dpdk does not start with \"" + choice.arguments +
                   "\": " + (logged.empty() ? std::strerror(error) : logged) +
                   advice_for_eal(error, lacks_hugepages));
  }
  constexpr int info = 6;
  if (options.log != nullptr) options.log(info, ("started with " + choice.arguments).c_str());
  return choice;
}

}  // namespace

Result<EalChoice> start_eal(const EalOptions& options) {
  static const Result<EalChoice> started = start(options);
  return started;
}

}  // namespace cw
