// Runs a program as a unit of systemd would, where no systemd runs: capabilities, seccomp filters,
// devices, mounts and limits of a unit file and its drop-ins, applied by hand.
//
//   lab-confined UNIT [DROP-IN ...] --run FOLDER -- PROGRAM ARGUMENT ...
//
// FOLDER becomes /run/causeway, the RuntimeDirectory, and PROGRAM appears as /run/program. A
// setting that is neither applied nor in `left_alone` is an error: nothing passes unseen.
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Words = std::vector<std::string>;
using Settings = std::map<std::string, Words>;  // a setting given twice has the words of both

constexpr uid_t nobody = 65534;

// What takes no right away that a gateway's process could miss here, or is about the unit's life.
const std::set<std::string> left_alone = {
    "Type", "ExecStartPre", "ExecStart", "ExecReload", "Restart", "RestartPreventExitStatus",
    "MemorySwapMax", "RestartSec", "FileDescriptorStoreMax", "TimeoutStopSec", "WatchdogSec",
    "User", "Nice", "RuntimeDirectory", "RuntimeDirectoryPreserve", "StateDirectory", "ProtectHome",
    "ProtectControlGroups", "ProtectHostname", "ProtectProc", "RestrictSUIDSGID",
    "SystemCallArchitectures", "LockPersonality",
    // These remove capabilities that the bounding set does not have, and calls of groups that the
    // filter does not allow.
    "ProtectKernelModules", "ProtectKernelLogs", "ProtectClock"};

void must(bool is_done, const std::string& what) {
  if (!is_done) throw std::runtime_error(what + ": " + std::strerror(errno));
}

Words words_of(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void read_unit(const std::string& file, Settings& settings) {
  std::ifstream stream(file);
  must(static_cast<bool>(stream), file);
  std::string section;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with('[')) section = line;
    const size_t equals = line.find('=');
    if (section != "[Service]" || line.starts_with('#') || equals == std::string::npos) continue;
    Words& words = settings[line.substr(0, equals)];
    const Words more = words_of(line.substr(equals + 1));
    if (more.empty()) words.clear();  // an empty one starts anew
    words.insert(words.end(), more.begin(), more.end());
  }
}

/// Gives each setting out once, and names those that nobody has asked for.
class Unit {
 public:
  explicit Unit(Settings settings) : settings_(std::move(settings)) {}

  Words take(const std::string& name) {
    const auto found = settings_.extract(name);
    return found ? found.mapped() : Words{};
  }
  bool take_yes(const std::string& name) { return take(name) == Words{"yes"}; }
  void expect_empty() const {
    for (const auto& [name, words] : settings_) {
      if (!left_alone.contains(name)) throw std::runtime_error(name + "= is not known here");
    }
  }

 private:
  Settings settings_;
};

// ---- what of the file system is there

void mount_tmpfs(const char* place, const char* mode) {
  must(mount("tmpfs", place, "tmpfs", MS_NOSUID, mode) == 0, place);
}

void set_read_only(const char* place, bool is_read_only, bool is_recursive) {
  mount_attr attributes{};
  (is_read_only ? attributes.attr_set : attributes.attr_clr) = MOUNT_ATTR_RDONLY;
  const unsigned flags = is_recursive ? AT_RECURSIVE : 0;
  must(mount_setattr(AT_FDCWD, place, flags, &attributes, sizeof(attributes)) == 0, place);
}

void bind_file(const std::string& from, const char* to) {
  close(open(to, O_CREAT | O_CLOEXEC, 0755));
  must(mount(from.c_str(), to, nullptr, MS_BIND, nullptr) == 0, from);
}

void make_run(const std::string& folder, const std::string& program) {
  mount_tmpfs("/run", "mode=755");
  must(mkdir("/run/causeway", 0755) == 0, "/run/causeway");
  must(mount(folder.c_str(), "/run/causeway", nullptr, MS_BIND, nullptr) == 0, folder);
  bind_file(program, "/run/program");
}

/// The devices that DevicePolicy=closed leaves, and those of DeviceAllow=.
void make_devices(const Words& allowed) {
  Words paths = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
  for (const std::string& word : allowed) {
    if (word.starts_with("/dev/")) paths.push_back(word);
  }
  std::map<std::string, dev_t> devices;
  for (const std::string& path : paths) {
    struct stat about{};
    if (stat(path.c_str(), &about) == 0) devices[path] = about.st_rdev;
    if (path == "/dev/net/tun") devices[path] = makedev(10, 200);
  }
  mount_tmpfs("/dev", "mode=755");
  umask(0);
  must(mkdir("/dev/net", 0755) == 0, "/dev/net");
  for (const auto& [path, number] : devices) {
    if (path.find('/', 5) != std::string::npos && !path.starts_with("/dev/net/")) {
      mkdir(path.substr(0, path.rfind('/')).c_str(), 0755);
    }
    must(mknod(path.c_str(), S_IFCHR | 0666, number) == 0, path);
  }
}

void enclose(Unit& unit, const std::string& folder, const std::string& program) {
  must(unshare(CLONE_NEWNS) == 0, "unshare");
  must(mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private mounts");
  make_run(folder, program);
  const Words devices = unit.take("DeviceAllow");
  if (unit.take("DevicePolicy") == Words{"closed"}) make_devices(devices);
  if (unit.take_yes("PrivateTmp")) mount_tmpfs("/tmp", "mode=1777");
  if (unit.take("ProtectSystem") == Words{"strict"}) {
    set_read_only("/", true, true);
    for (const char* place : {"/dev", "/run/causeway", "/tmp", "/proc"}) {
      set_read_only(place, false, false);
    }
    // With the rest of /sys it stays as it is: ProtectKernelTunables.
  }
  if (unit.take_yes("ProtectKernelTunables")) {
    must(mount("/proc/sys", "/proc/sys", nullptr, MS_BIND, nullptr) == 0, "/proc/sys");
    set_read_only("/proc/sys", true, false);
    set_read_only("/sys", true, true);
  }
}

// ---- rights

uint64_t capabilities_of(const Words& names) {
  static const std::map<std::string, int> numbers = {{"CAP_NET_BIND_SERVICE", CAP_NET_BIND_SERVICE},
                                                     {"CAP_NET_ADMIN", CAP_NET_ADMIN},
                                                     {"CAP_NET_RAW", CAP_NET_RAW},
                                                     {"CAP_IPC_LOCK", CAP_IPC_LOCK},
                                                     {"CAP_SYS_ADMIN", CAP_SYS_ADMIN},
                                                     {"CAP_BPF", CAP_BPF}};
  uint64_t set = 0;
  for (const std::string& name : names) {
    if (!numbers.contains(name)) throw std::runtime_error(name + " is not known here");
    set |= uint64_t{1} << numbers.at(name);
  }
  return set;
}

/// As User= does, with the ambient set on top.
void become_nobody(uint64_t bounding, uint64_t ambient) {
  for (int number = 0; number <= CAP_LAST_CAP; ++number) {
    if ((bounding >> number & 1) != 0) continue;
    must(prctl(PR_CAPBSET_DROP, number) == 0 || errno == EINVAL, "bounding set");
  }
  must(prctl(PR_SET_KEEPCAPS, 1) == 0, "keepcaps");
  must(syscall(SYS_setgroups, 0, nullptr) == 0, "setgroups");
  must(setresgid(nobody, nobody, nobody) == 0 && setresuid(nobody, nobody, nobody) == 0, "user");
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  for (size_t half = 0; half < 2; ++half) {
    const auto word = static_cast<uint32_t>(ambient >> 32 * half);
    data[half] = {.effective = word, .permitted = word, .inheritable = word};
  }
  must(syscall(SYS_capset, &header, data) == 0, "capset");
  for (int number = 0; number <= CAP_LAST_CAP; ++number) {
    if ((ambient >> number & 1) == 0) continue;
    must(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0) == 0, "ambient set");
  }
}

void set_limits(Unit& unit) {
  constexpr rlim_t locked_default = 8 << 20;  // systemd's
  const bool is_free = unit.take("LimitMEMLOCK") == Words{"infinity"};
  const rlim_t locked = is_free ? RLIM_INFINITY : locked_default;
  const rlimit limit{.rlim_cur = locked, .rlim_max = locked};
  must(setrlimit(RLIMIT_MEMLOCK, &limit) == 0, "LimitMEMLOCK");
  if (unit.take("LimitCORE") == Words{"0"}) {
    constexpr rlimit none{.rlim_cur = 0, .rlim_max = 0};
    must(setrlimit(RLIMIT_CORE, &none) == 0, "LimitCORE");
  }
  const Words mask = unit.take("UMask");
  if (!mask.empty()) umask(static_cast<mode_t>(std::stoul(mask.back(), nullptr, 8)));
}

void set_environment(Unit& unit) {
  for (const std::string& word : unit.take("Environment")) {
    const size_t equals = word.find('=');
    setenv(word.substr(0, equals).c_str(), word.substr(equals + 1).c_str(), 1);
  }
}

// ---- system calls

class Filter {
 public:
  explicit Filter(uint32_t otherwise) : context_(seccomp_init(otherwise)) {}
  ~Filter() { seccomp_release(context_); }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  /// Names that this processor has not are left out, as systemd does.
  void on(uint32_t action, const std::string& name) {
    const int number = seccomp_syscall_resolve_name(name.c_str());
    if (number != __NR_SCMP_ERROR) (void)seccomp_rule_add(context_, action, number, 0);
  }
  void on(uint32_t action, int number, scmp_arg_cmp argument) {
    errno = -seccomp_rule_add(context_, action, number, 1, argument);
    must(errno == 0, "a rule of seccomp");
  }
  void load() {
    errno = -seccomp_load(context_);
    must(errno == 0, "seccomp");
  }

 private:
  scmp_filter_ctx context_;
};

Settings read_groups(const std::string& file) {
  std::ifstream stream(file);
  must(static_cast<bool>(stream), file);
  Settings groups;
  for (std::string line; std::getline(stream, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with('@')) groups[line.substr(0, colon)] = words_of(line.substr(colon + 1));
  }
  return groups;
}

void allow(Filter& filter, const Settings& groups, const std::string& word) {
  if (!word.starts_with('@')) return filter.on(SCMP_ACT_ALLOW, word);
  if (!groups.contains(word)) throw std::runtime_error(word + " is not in syscall_groups.txt");
  for (const std::string& member : groups.at(word)) allow(filter, groups, member);
}

void restrict_families(const Words& names) {
  static const std::map<std::string, int> numbers = {
      {"AF_UNIX", AF_UNIX},       {"AF_INET", AF_INET},     {"AF_INET6", AF_INET6},
      {"AF_NETLINK", AF_NETLINK}, {"AF_PACKET", AF_PACKET}, {"AF_XDP", AF_XDP}};
  std::set<int> allowed;
  for (const std::string& name : names) allowed.insert(numbers.at(name));
  Filter filter(SCMP_ACT_ALLOW);
  for (int family = 0; family < AF_MAX; ++family) {
    if (allowed.contains(family)) continue;
    filter.on(SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket),
              SCMP_A0_32(SCMP_CMP_EQ, static_cast<uint32_t>(family)));
  }
  filter.load();
}

void restrict_namespaces() {
  Filter filter(SCMP_ACT_ALLOW);
  for (const uint64_t flag : {CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWIPC,
                              CLONE_NEWUTS, CLONE_NEWCGROUP}) {
    const auto has_flag = SCMP_A0_64(SCMP_CMP_MASKED_EQ, flag, flag);
    filter.on(SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), has_flag);
    filter.on(SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), has_flag);
  }
  filter.on(SCMP_ACT_ERRNO(EPERM), "setns");
  filter.on(SCMP_ACT_ERRNO(ENOSYS), "clone3");  // whose flags lie in memory
  filter.load();
}

void filter_calls(Unit& unit, const Settings& groups) {
  const Words families = unit.take("RestrictAddressFamilies");
  if (!families.empty()) restrict_families(families);
  if (unit.take_yes("RestrictNamespaces")) restrict_namespaces();
  const Words calls = unit.take("SystemCallFilter");
  const bool is_told = unit.take("SystemCallErrorNumber") == Words{"EPERM"};
  unit.expect_empty();
  if (calls.empty()) return;
  Filter filter(is_told ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_KILL_PROCESS);
  for (const std::string& word : calls) allow(filter, groups, word);
  filter.load();
}

void run(const Words& arguments) {
  const auto run_at = std::ranges::find(arguments, "--run");
  const auto dashes = std::ranges::find(arguments, "--");
  if (dashes - run_at != 2 || arguments.end() - dashes < 2) throw std::runtime_error("which?");
  Settings settings;
  for (auto file = arguments.begin(); file != run_at; ++file) read_unit(*file, settings);
  const Settings groups = read_groups(CW_SYSCALL_GROUPS);  // before it can be out of sight
  Unit unit(std::move(settings));
  const uint64_t bounding = capabilities_of(unit.take("CapabilityBoundingSet"));
  const uint64_t ambient = capabilities_of(unit.take("AmbientCapabilities"));
  const bool has_no_new = unit.take_yes("NoNewPrivileges");
  enclose(unit, run_at[1], dashes[1]);
  set_limits(unit);
  set_environment(unit);
  become_nobody(bounding, ambient);
  must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "the lab's end");  // setuid() forgets it
  if (has_no_new) must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "NoNewPrivileges");
  filter_calls(unit, groups);
  std::vector<char*> command;
  for (auto each = dashes + 1; each != arguments.end(); ++each) {
    command.push_back(const_cast<char*>(each->c_str()));
  }
  command.push_back(nullptr);
  execv("/run/program", command.data());
  must(false, "/run/program");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(Words(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lab-confined: %s\n", error.what());
  }
  return 125;
}
