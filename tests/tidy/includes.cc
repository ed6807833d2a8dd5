#include <algorithm>
#include <array>
#include <optional>

#include "tests/tidy/rules.h"

namespace cw::tidy {
namespace {

using Paths = std::vector<std::string>;

/// What lies outside the project and may be included.
enum class Outside {
  Integers,  ///< <stdint.h> and <stddef.h>: a door in plain C
  Sdk,       ///< <causeway/...> and the C standard library: code as a stranger writes it
  Standard,  ///< the C and C++ standard libraries
  System,    ///< also the operating system's headers
  All,
};

/// A room or a single file. `*` stands for one folder name. A room may always include itself, the
/// first entry that matches a path rules, and rooms to come are listed before they exist.
struct Room {
  std::string path;
  Paths may_include;
  Outside outside = Outside::Standard;
};

const Paths below_neighbour = {"dataplane/base", "dataplane/wire"};
const Paths below_core = {"dataplane/base", "dataplane/wire", "dataplane/port.h"};
const Paths doors_of_sdr = {"dataplane/policy.h",
                            "dataplane/codec.h",
                            "offload/coding/coder.h",
                            "offload/coding/code_executor.h",
                            "offload/crc32.h",
                            "offload/mac.h",
                            "offload/ones.h",
                            "offload/slot_map.h",
                            "offload/stage/pinned_threads.h",
                            "offload/stage/row_runner.h",
                            "offload/stage/stage.h"};

Paths operator+(Paths paths, const Paths& more) {
  paths.insert(paths.end(), more.begin(), more.end());
  return paths;
}

/// What users of `sdr` may see of it; what lies in its folders is behind these.
const Paths doors_of_streams = {"dataplane/sdr/endpoint.h",
                                "dataplane/sdr/link/trace/stream_trace.h",
                                "dataplane/sdr/link/stream_view.h",
                                "dataplane/sdr/message.h",
                                "dataplane/sdr/options.h",
                                "dataplane/sdr/seat/care/policy_call.h",
                                "dataplane/sdr/seat/care/policy_finder.h",
                                "dataplane/sdr/seat/policy_instance.h",
                                "dataplane/sdr/seat/policy_needs.h",
                                "dataplane/sdr/seat/policy_offer.h",
                                "dataplane/sdr/seat/trace",
                                "dataplane/sdr/recv_buffers.h",
                                "dataplane/sdr/sdk/platform.h",
                                "dataplane/sdr/sdr.h",
                                "dataplane/sdr/shard.h",
                                "dataplane/sdr/sink.h",
                                "dataplane/sdr/source.h",
                                "dataplane/sdr/stream/stream_config.h",
                                "dataplane/sdr/stream/stream_outcome.h",
                                "dataplane/sdr/swap/outcome_desk.h",
                                "dataplane/sdr/swap/swap_end.h"};

const Paths below_sdr =
    below_core + Paths{"dataplane/wan.h", "dataplane/pass", "dataplane/core"} + doors_of_sdr;

const std::vector<Room>& rooms() {
  static const std::vector<Room> table = {
      {"dataplane/base", {}},
      {"dataplane/wire", {"dataplane/base"}},
      {"dataplane/port.h", {"dataplane/base"}},
      {"dataplane/wan.h", below_core},
      {"dataplane/pass", below_core + Paths{"dataplane/wan.h", "dataplane/seal"}},
      {"dataplane/policy.h", {}, Outside::Integers},
      {"dataplane/codec.h", {}, Outside::Integers},
      {"dataplane/port/descriptor_store.h", {}},
      {"dataplane/port/done_row.h", {"dataplane/base", "dataplane/port.h"}},
      {"dataplane/port/hand_over.h", {"dataplane/base", "dataplane/port.h"}},
      {"dataplane/port/impair", below_core},
      {"dataplane/port/sim",
       below_core + Paths{"dataplane/port/impair", "dataplane/port/done_row.h"}},
      {"dataplane/neighbour", below_neighbour, Outside::System},
      {"dataplane/kernel", below_neighbour + Paths{"dataplane/neighbour"}, Outside::System},
      {"dataplane/device", {"dataplane/base", "dataplane/kernel"}, Outside::System},
      {"dataplane/port/frame",
       below_core + Paths{"dataplane/neighbour", "dataplane/kernel", "dataplane/port/hand_over.h"},
       Outside::System},
      {"dataplane/port/dpdk",
       below_core + Paths{"dataplane/neighbour", "dataplane/kernel", "dataplane/device",
                          "dataplane/port/frame", "dataplane/port/hand_over.h"},
       Outside::System},
      {"dataplane/port/xdp",
       below_core + Paths{"dataplane/neighbour", "dataplane/kernel", "dataplane/port/frame",
                          "dataplane/port/hand_over.h"},
       Outside::System},
      {"dataplane/port/verbs", below_core + Paths{"dataplane/kernel", "dataplane/wan.h"},
       Outside::System},
      {"dataplane/port/*",
       below_core + Paths{"dataplane/port/done_row.h", "dataplane/port/descriptor_store.h"},
       Outside::System},
      {"dataplane/seal",
       below_core + Paths{"dataplane/wan.h", "offload/aead/aead.h", "offload/mac.h"},
       Outside::System},
      {"dataplane/core", below_core + Paths{"dataplane/wan.h"}, Outside::System},
      {"dataplane/sdr", below_sdr},
      {"dataplane/gateway", below_sdr + doors_of_streams},
      {"dataplane/datagram/end",
       below_core + Paths{"dataplane/wan.h", "dataplane/core", "dataplane/datagram",
                          "dataplane/pass", "offload/mac.h"}},
      {"dataplane/datagram/sdk",
       below_core + Paths{"dataplane/wan.h", "dataplane/core", "dataplane/datagram",
                          "dataplane/pass", "dataplane/sdr/sdk/platform.h", "offload/mac.h"}},
      {"dataplane/datagram", below_core + Paths{"dataplane/wan.h", "dataplane/core"}},
      {"dataplane/collective/sdk/collective.h", {}, Outside::Integers},
      {"dataplane/collective/sdk",
       below_core + Paths{"dataplane/wan.h", "dataplane/pass", "dataplane/core",
                          "dataplane/datagram", "dataplane/collective",
                          "dataplane/sdr/sdk/attributes.h", "dataplane/sdr/sdk/handles.h",
                          "dataplane/sdr/sdk/misuse.h", "offload/crc32.h", "offload/mac.h"}},
      {"dataplane/collective",
       below_core + Paths{"dataplane/wan.h", "dataplane/core", "dataplane/datagram"}},
      {"dataplane/message/end", below_core + Paths{"dataplane/wan.h", "dataplane/core",
                                                   "dataplane/datagram", "dataplane/message"}},
      {"dataplane/message/sdk/messages.h", {}, Outside::Integers},
      {"dataplane/message/sdk",
       below_core + Paths{"dataplane/wan.h", "dataplane/core", "dataplane/datagram",
                          "dataplane/message", "dataplane/policy.h",
                          "dataplane/sdr/sdk/attributes.h", "dataplane/sdr/sdk/misuse.h"}},
      {"dataplane/message",
       below_core + Paths{"dataplane/wan.h", "dataplane/core", "dataplane/datagram",
                          "dataplane/policy.h", "dataplane/sdr/options.h", "dataplane/sdr/seat"}},
      {"policies/policies.h", {"dataplane/policy.h"}},
      {"policies/parts", {"dataplane/policy.h", "dataplane/base"}},
      {"policies/*", {"dataplane/policy.h", "dataplane/base", "policies/parts"}},
      {"plugins/example", {}, Outside::Sdk},
      {"plugins", {"dataplane/policy.h", "dataplane/codec.h", "dataplane/base"}, Outside::System},
      {"offload/bitmap.h", {}, Outside::Integers},
      {"offload/bitmap.c", {"offload/bitmap.h", "offload/bitmap_arena.h"}, Outside::Integers},
      {"offload/bitmap_arena.h", {"offload/bitmap.h"}, Outside::Integers},
      {"offload/dpa/memory_map.h", {}, Outside::Integers},
      {"offload/dpa/board.h", {"offload/dpa/memory_map.h"}, Outside::Integers},
      {"offload/dpa/program.c", {"offload/bitmap.h", "offload/dpa/board.h"}, Outside::Integers},
      {"offload/crc32.h", {}, Outside::Integers},
      {"offload/mac.h", {}, Outside::Integers},
      {"offload/aead/aead.h", {}, Outside::Integers},
      {"offload", {"dataplane/base", "dataplane/codec.h"}, Outside::System},
      {"control",
       below_core + doors_of_streams +
           Paths{"dataplane/codec.h", "dataplane/collective", "dataplane/datagram",
                 "dataplane/message", "dataplane/pass", "dataplane/wan.h", "dataplane/core",
                 "dataplane/device", "dataplane/gateway", "dataplane/kernel/owned_fd.h",
                 "dataplane/neighbour", "dataplane/policy.h", "dataplane/port", "dataplane/seal",
                 "policies", "plugins", "offload", "control"},
       Outside::All},
      {"tests",
       {"dataplane", "policies", "plugins", "offload", "control", "tests", "bench"},
       Outside::All},
      {"bench",
       {"dataplane", "policies", "plugins", "offload", "control", "tests", "bench"},
       Outside::All},
  };
  return table;
}

/// Where a library's headers may appear, besides tests and bench.
struct Vendor {
  std::string headers;  ///< a prefix of the name between the angle brackets
  Paths owners;
  bool is_slow = false;  ///< takes seconds to compile: tests and bench go through its door too
};
const std::vector<Vendor>& vendors() {
  static const std::vector<Vendor> table = {
      {"rte_", {"dataplane/port/dpdk"}},
      {"infiniband/", {"dataplane/port/verbs"}},
      {"rdma/", {"dataplane/port/verbs"}},
      {"bpf/", {"dataplane/port/xdp"}},
      {"xdp/", {"dataplane/port/xdp"}},
      {"isa-l", {"offload"}},
      {"zlib.h", {"offload"}},
      {"openssl/",
       {"offload/mac.c", "offload/aead", "dataplane/seal", "control/trace/trace_document.cc"}},
      {"intel-ipsec-mb.h", {"offload/aead"}},
      {"immintrin.h", {"offload"}},
      {"x86intrin.h", {"offload", "dataplane/core/turn/clock.cc"}},
      {"cpuid.h", {"offload", "dataplane/core/turn/clock.cc"}},
      {"CLI/", {"control/command_line"}, true},
      {"nlohmann/", {"control/json/json.cc"}, true},
      {"rapidcheck", {"tests/property"}, true},
      {"spdlog/", {"control/daemon/log.cc"}, true},
      {"toml++/", {"control/config/text/tree.cc"}, true},
  };
  return table;
}

constexpr std::array c_headers = {"assert.h",    "errno.h",   "inttypes.h", "limits.h",
                                  "math.h",      "signal.h",  "stdalign.h", "stdarg.h",
                                  "stdatomic.h", "stdbool.h", "stddef.h",   "stdint.h",
                                  "stdio.h",     "stdlib.h",  "string.h",   "time.h"};

constexpr std::array system_headers = {"arpa/",   "dirent.h", "dlfcn.h",   "elf.h",     "endian.h",
                                       "link.h",  "fcntl.h",  "ifaddrs.h", "linux/",    "net/",
                                       "netdb.h", "netinet/", "poll.h",    "pthread.h", "sched.h",
                                       "sys/",    "syslog.h", "unistd.h"};

bool is_standard(const std::string& name) {
  return name.find_first_of("./") == std::string::npos ||
         std::ranges::find(c_headers, name) != c_headers.end();
}

bool is_installed(const std::string& name) {
  return name.starts_with("causeway/") || std::ranges::find(c_headers, name) != c_headers.end();
}

bool is_system(const std::string& name) {
  return std::ranges::any_of(system_headers,
                             [&](const char* prefix) { return name.starts_with(prefix); });
}

/// The part of `path` that `pattern` covers, when it covers the whole path or a folder of it.
std::optional<std::string> covered(const std::string& path, const std::string& pattern) {
  const bool any_folder = pattern.ends_with("/*");
  std::string prefix = any_folder ? pattern.substr(0, pattern.size() - 1) : pattern;
  if (any_folder) {
    const size_t slash = path.find('/', prefix.size());
    if (!path.starts_with(prefix) || slash == std::string::npos) return std::nullopt;
    prefix = path.substr(0, slash);
  }
  if (path == prefix || is_below(path, prefix)) return prefix;
  return std::nullopt;
}

bool is_covered_by_any(const std::string& path, const Paths& patterns) {
  return std::ranges::any_of(patterns,
                             [&](const std::string& p) { return covered(path, p).has_value(); });
}

std::string joined(const Paths& paths) {
  std::string text;
  for (const std::string& path : paths) text += (text.empty() ? "" : ", ") + path;
  return text.empty() ? "nothing else of the project" : text;
}

/// The advice against a project include, or none.
std::optional<std::string> objection_inside(const std::string& name, const Room& room,
                                            const std::string& own) {
  static constexpr std::array folders = {"dataplane", "policies", "plugins", "control",
                                         "offload",   "tests",    "bench"};
  const auto holds = [&](const char* folder) { return is_below(name, folder); };
  if (std::ranges::none_of(folders, holds)) {
    return "write the path of \"" + name + "\" from the repository root";
  }
  const bool is_own = name == own || is_below(name, own);
  if (is_own || is_covered_by_any(name, room.may_include)) return std::nullopt;
  return own + " may include itself and " + joined(room.may_include) + ", not \"" + name +
         "\": pass what it needs as an argument, or move the code to the room that owns it";
}

/// The advice against a library include, or none.
std::optional<std::string> objection_outside(const std::string& name, const std::string& path,
                                             const Room& room, const std::string& own) {
  const bool is_integers = name == "stdint.h" || name == "stddef.h";
  if (room.outside == Outside::Integers) {
    if (is_integers) return std::nullopt;
    return "a door in plain C includes only <stdint.h> and <stddef.h>, not <" + name + ">";
  }
  if (room.outside == Outside::Sdk) {
    if (is_installed(name)) return std::nullopt;
    return "an example includes only <causeway/...> and the C library, not <" + name + ">";
  }
  const bool is_test = is_covered_by_any(path, {"tests", "bench"});
  for (const Vendor& vendor : vendors()) {
    if (!name.starts_with(vendor.headers) || (is_test && !vendor.is_slow)) continue;
    if (is_covered_by_any(path, vendor.owners)) return std::nullopt;
    return "<" + name + "> belongs to " + joined(vendor.owners) + ": go through its door";
  }
  if (room.outside == Outside::All || is_standard(name)) return std::nullopt;
  if (room.outside == Outside::System && is_system(name)) return std::nullopt;
  return own + " may not include <" + name + ">: drivers, offload and control own libraries";
}

}  // namespace

Violations check_includes(const Files& files) {
  Violations found;
  for (const File& file : files) {
    if (!is_cpp(file.path)) continue;
    const auto room = std::ranges::find_if(
        rooms(), [&](const Room& r) { return covered(file.path, r.path).has_value(); });
    if (room == rooms().end()) {
      found.push_back({file.path, 1, "include-table",
                       "this folder is no room: give it a row in tests/tidy/includes.cc and in "
                       "ARCHITECTURE.md, or move the file"});
      continue;
    }
    const std::string own = *covered(file.path, room->path);
    for (const Include& include : includes_of(file)) {
      const auto objection = include.is_quoted
                                 ? objection_inside(include.name, *room, own)
                                 : objection_outside(include.name, file.path, *room, own);
      if (objection) found.push_back({file.path, include.line, "include-table", *objection});
    }
  }
  return found;
}

}  // namespace cw::tidy
