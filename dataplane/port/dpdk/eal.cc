#include "dataplane/port/dpdk/eal.h"

#include <fcntl.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "dataplane/device/device_text.h"
#include "dataplane/port/dpdk/eal_log.h"

namespace cw {
namespace {

namespace fs = std::filesystem;

/// What of the user's takes the place of which choice of ours.
constexpr std::string_view memory_arguments[] = {"-m",           "--no-huge",    "--in-memory",
                                                 "--huge-dir",   "--socket-mem", "--legacy-mem",
                                                 "--huge-unlink"};
constexpr std::string_view core_arguments[] = {"-l", "-c", "--lcores", "--main-lcore"};
constexpr std::string_view pci_arguments[] = {"--no-pci", "-a", "--allow", "-b", "--block"};
constexpr std::string_view prefix_arguments[] = {"--file-prefix"};
constexpr std::string_view sharing_arguments[] = {"--no-shconf", "--proc-type"};

template <size_t N>
bool names_any(const std::vector<std::string>& arguments, const std::string_view (&names)[N]) {
  const auto is_one = [](std::string_view argument, std::string_view name) {
    return argument == name || (argument.starts_with(name) && argument.size() > name.size() &&
                                (argument[name.size()] == '=' || !name.starts_with("--")));
  };
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return std::ranges::any_of(names, [&](auto name) { return is_one(argument, name); });
  });
}

/// The first processor that this thread may run on.
uint32_t first_core() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  for (uint32_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores)) return core;
  }
  return 0;
}

/// In the size of pages that has most of them.
uint64_t hugepage_bytes_free() {
  uint64_t most = 0;
  std::error_code ignored;
  for (const auto& folder : fs::directory_iterator("/sys/kernel/mm/hugepages", ignored)) {
    const std::string name = folder.path().filename().string();  // hugepages-2048kB
    const uint64_t kilobytes = std::strtoull(name.c_str() + name.find('-') + 1, nullptr, 10);
    uint64_t free_pages = 0;
    std::ifstream(folder.path() / "free_hugepages") >> free_pages;
    most = std::max(most, kilobytes * 1024 * free_pages);
  }
  return most;
}

/// Nothing in there is of use to a process that shares nothing; an empty folder of a dead process
/// would stay for ever. The folder above it stays: another process may be about to make its own
/// there.
void remove_runtime_folder() {
  std::error_code ignored;
  fs::remove(rte_eal_get_runtime_dir(), ignored);  // only when empty
}

/// What to do about it, for the errors that people meet.
std::string advice_for(int error, bool lacks_hugepages) {
  if (lacks_hugepages) {
    return "; `echo 512 > /proc/sys/vm/nr_hugepages` makes a GiB of hugepages, or leave out of "
           "eal what asks for them";
  }
  switch (error) {
    case EACCES:
    case EPERM:
      return "; run as root, or grant CAP_NET_ADMIN, CAP_NET_RAW and CAP_IPC_LOCK";
    case ENOMEM:
    case EAGAIN:
      return "; eal_memory says how much is wanted";
    case EINVAL:
      return "; see eal, whose arguments are those of any DPDK program (`dpdk-testpmd --help`)";
    default:
      return "";
  }
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
                   advice_for(error, lacks_hugepages));
  }
  constexpr int info = 6;
  if (options.log != nullptr) options.log(info, ("started with " + choice.arguments).c_str());
  return choice;
}

}  // namespace

std::vector<std::string> eal_arguments(const EalOptions& options, uint64_t hugepage_bytes) {
  std::vector<std::string> all;
  const auto add = [&all](std::initializer_list<const char*> words) {
    all.insert(all.end(), words.begin(), words.end());
  };
  if (!names_any(options.arguments, core_arguments)) {
    const std::string core = std::to_string(options.core ? *options.core : first_core());
    add({"-l", core.c_str()});
  }
  if (!names_any(options.arguments, memory_arguments)) {
    const std::string wanted = std::to_string(options.memory_mib);
    if (hugepage_bytes >= uint64_t{options.memory_mib} << 20) {
      add({"--in-memory"});  // which excludes --no-huge
    } else {
      add({"--no-huge", "-m", wanted.c_str()});
    }
  }
  if (!names_any(options.arguments, sharing_arguments)) add({"--no-shconf"});
  if (!names_any(options.arguments, prefix_arguments)) {
    const std::string prefix = "causeway-" + std::to_string(getpid());
    add({"--file-prefix", prefix.c_str()});
  }
  if (!names_any(options.arguments, pci_arguments)) {
    for (const std::string& device : options.devices) {
      if (is_pci_device(device)) add({"-a", device.c_str()});
    }
    if (std::ranges::none_of(options.devices, is_pci_device)) add({"--no-pci"});
  }
  add({"--no-telemetry"});
  all.insert(all.end(), options.arguments.begin(), options.arguments.end());
  return all;
}

Result<EalChoice> start_eal(const EalOptions& options) {
  static const Result<EalChoice> started = start(options);
  return started;
}

}  // namespace cw
