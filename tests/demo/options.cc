#include "tests/demo/options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "control/command_line/command_line.h"
#include "control/units/units.h"
#include "dataplane/base/limits.h"
#include "dataplane/sdr/seat/policy_needs.h"
#include "policies/policies.h"

namespace cw::demo {
namespace {

constexpr const char* summary =
    "Two sites on this machine, joined by a bad link; the same traffic with and without gateways.\n"
    "Needs root, for network namespaces; leaves nothing behind.";

constexpr const char* lesson =
    "What you see:\n"
    "  without   the hosts' packets are routed over the link as it is\n"
    "  with      a gateway at each site carries them, and repairs what the link loses\n"
    "TCP (CUBIC) and UDP are iperf3's. The file's checksum is compared at both ends. Messages are\n"
    "causeway-perf's, sent once and never again: one lost packet spoils one. The added latency is\n"
    "that of single packets through the gateways, against others beside them, at the same time "
    "and\n"
    "without other load; a repaired packet is late by the time of its repair. The link and who\n"
    "offers UDP go before other programs, where that is allowed; the gateways do not.\n"
    "\n"
    "Examples:\n"
    "  ./demo\n"
    "  ./demo --rtt 100ms --loss 0.1% --policy go_back_n\n"
    "  ./demo --rtt 20ms --policy hybrid       # repair that is sent before anybody asks\n"
    "  ./demo --wan dpdk                   whole RoCEv2 frames, through DPDK and a ring that is\n"
    "                                      shared with the kernel (net_af_packet): any --mtu\n"
    "  ./demo --wan xdp --lan xdp          on interfaces that the kernel keeps (AF_XDP)\n"
    "  ./demo --cores 2                    two packets' threads in each gateway, on two cores\n"
    "  ./demo --loss 0% --seconds 10       what the gateways cost when nothing is lost\n"
    "  ./demo --loss 1% --burst 8 --json   loss in bursts of eight; one JSON object\n"
    "  ./demo --rdma                       two real RDMA hosts instead, in two minutes\n"
    "  ./demo --rdma --wan verbs           whose gateways have RNICs, too, in five\n"
    "  ./demo --wander                     a line that changes while hosts send, in three minutes\n"
    "  ./demo --page                       gateways to look at in a browser, until Ctrl-C\n"
    "\n"
    "With --rdma the hosts are virtual machines with soft-RoCE, Debian's kernel and perftest. "
    "Each\n"
    "round is a run of ib_write_bw over RC of each kind: without gateways and with, over the link "
    "as\n"
    "it is and over one that loses nothing, with QP timeout 18 (-u 18, 1.07 s), without gateways "
    "also\n"
    "with perftest's 14. Told are the medians, and what the hosts had to send again or asked to "
    "have\n"
    "sent again (rcvd_seq_err, out_of_seq_request, duplicate_request, completer_retry_err). Their\n"
    "processors are emulated, so bandwidths are small. With --wan verbs each machine is host and\n"
    "gateway, and the gateways' packets are written by one RNIC into the memory of the other's.\n"
    "\n"
    "With --wander the line is calm, loses one in a hundred in bursts of three, then one in ten\n"
    "thousand, and at last one in a thousand over twice the round trip. Three policies meet the\n"
    "same, each with gateways of its own: that of --policy, selective_repeat and erasure. Host A\n"
    "sends 64 KiB in UDP datagrams every 10 ms, once and never again; told is how long each took\n"
    "until the last of it was there, apart for those that began in a phase's first second, and\n"
    "what the gateways put on the line for each byte of the hosts; of adaptive what it decided.\n"
    "\n"
    "With --page nothing is measured: host A sends as with --wander, and site A's page is at the\n"
    "address that is printed, with sliders for what the line loses and how long it is.\n"
    "\n"
    "Exit status: 0 measured; 1 a byte was wrong; 2 a mistake in the arguments; 3 it could not be\n"
    "measured; 128 and more: ended by a signal.\n";

struct Texts {
  std::string rtt = "25ms", loss = "1%", burst = "1", rate = "500Mbit/s", mtu = "1500", seed = "1";
  std::string wan = "udp", lan = "tun", cores = "1", seconds = "30", warm_up = "2", udp_rate,
              file = "64MiB", rounds = "3", port = "0";
};

constexpr std::array wans{Wan::Udp, Wan::Dpdk, Wan::Verbs, Wan::Xdp};
constexpr std::array lans{Lan::Tun, Lan::Xdp};

/// Of each data slot, the most that a policy of this name sends as repair.
double repair_share(const std::string& name) {
  for (const cw_policy_ops* each : policy::for_streams()) {
    if (name != each->name) continue;
    std::vector<double> params;
    params.reserve(each->param_count);
    for (uint32_t i = 0; i < each->param_count; ++i) params.push_back(each->params[i].initial);
    const cw_policy_limits needs = sdr::needs_of({each, params}, {}, {});
    const uint32_t data = uint32_t{needs.rows} * needs.k;
    return data == 0 ? 0 : static_cast<double>(needs.m_cap) / data;
  }
  return 0;
}

/// What differs before anybody has said anything.
void take_defaults_of_rdma(const CommandLine& app, Texts& texts, Options& options) {
  if (!app.has("--rtt")) texts.rtt = "20ms";
  if (!app.has("--seconds")) texts.seconds = "3";
  if (!app.has("--policy")) options.policy = "hybrid";
}

void take_defaults_of_wander(const CommandLine& app, Texts& texts, Options& options) {
  if (!app.has("--seconds")) texts.seconds = "12";
  if (!app.has("--policy")) options.policy = adaptive_policy;
}

void take_defaults_of_page(const CommandLine& app, Options& options) {
  if (!app.has("--policy")) options.policy = adaptive_policy;
}

/// An option of another demo; empty when there is none.
std::string misplaced(const CommandLine& app, const Options& options) {
  const auto first_of = [&app](std::initializer_list<const char*> names) {
    const auto found = std::ranges::find_if(names, [&app](const char* it) { return app.has(it); });
    return found == names.end() ? std::string() : *found;
  };
  const auto meaningless = [](const std::string& name, const char* with) {
    return name + " has no meaning with " + with + "; leave one of them out";
  };
  if (options.is_rdma) {
    const std::string name = first_of({"--lan", "--cores", "--seed", "--warm-up", "--udp-rate",
                                       "--file", "--wander", "--page", "--port"});
    return name.empty() ? name : meaningless(name, "--rdma");
  }
  if (const std::string name = first_of({"--rounds", "--guest"}); !name.empty()) {
    return name + " is for --rdma only; add it";
  }
  if (options.is_page) {
    const std::string name =
        first_of({"--cores", "--warm-up", "--udp-rate", "--file", "--wander", "--json"});
    return name.empty() ? name : meaningless(name, "--page");
  }
  if (app.has("--port")) return "--port is for --page only; add it";
  if (!options.is_wander) return {};
  const std::string name =
      first_of({"--loss", "--burst", "--cores", "--warm-up", "--udp-rate", "--file"});
  return name.empty() ? name : meaningless(name, "--wander");
}

/// Stores a parsed value, or keeps the first sentence.
template <class T, class Parsed>
void read(T& target, const char* option, const Result<Parsed>& parsed, std::string& mistake) {
  if (parsed) {
    target = T(*parsed);
  } else if (mistake.empty()) {
    mistake = std::string(option) + ": " + parsed.error().sentence;
  }
}

Result<uint32_t> number(const std::string& text, uint32_t min, uint32_t max) {
  const auto count = parse_count(text);
  if (count && *count >= min && *count <= max) return static_cast<uint32_t>(*count);
  return failure("\"" + text + "\" is not a whole number from " + std::to_string(min) + " to " +
                 std::to_string(max));
}

/// Whether that is none of the gateways' own; what there is otherwise.
std::string unknown_policy(const std::string& name, bool may_adapt) {
  if (may_adapt && name == adaptive_policy) return {};
  std::string all = may_adapt ? adaptive_policy : "";
  for (const cw_policy_ops* each : policy::for_streams()) {
    if (name == each->name) return {};
    all += (all.empty() ? "" : ", ") + std::string(each->name);
  }
  return "--policy: \"" + name + "\" is none; there are " + all;
}

/// Over AF_XDP; empty: nothing.
std::string too_much_for_xdp(const Options& options) {
  if (options.wan != Wan::Xdp && options.lan != Lan::Xdp) return {};
  if (options.is_rdma) return "--wan xdp has no meaning with --rdma; leave one of them out";
  if (options.cores > 1) return "--cores: the demo's cables have one queue each, for one core";
  return {};
}

Result<Options> read_texts(const Texts& texts, Options options) {
  std::string mistake;
  read(options.rtt, "--rtt", parse_duration(texts.rtt), mistake);
  read(options.loss, "--loss", parse_share(texts.loss), mistake);
  read(options.burst, "--burst", parse_real(texts.burst), mistake);
  read(options.rate, "--rate", parse_rate(texts.rate), mistake);
  read(options.mtu, "--mtu", number(texts.mtu, 1280, 9000), mistake);
  read(options.seed, "--seed", parse_count(texts.seed), mistake);
  const auto processors = static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
  read(options.cores, "--cores", number(texts.cores, 1, std::min(processors, 16u)), mistake);
  read(options.seconds, "--seconds", number(texts.seconds, 1, 3600), mistake);
  read(options.warm_up, "--warm-up", number(texts.warm_up, 0, 60), mistake);
  if (!texts.udp_rate.empty()) {
    read(options.udp_rate, "--udp-rate", parse_rate(texts.udp_rate), mistake);
  }
  read(options.file, "--file", parse_bytes(texts.file), mistake);
  read(options.port, "--port", number(texts.port, 0, 65535), mistake);
  read(options.rounds, "--rounds", number(texts.rounds, 1, 100), mistake);
  const auto wan = std::ranges::find(wans, texts.wan, [](Wan it) { return name_of(it); });
  if (!mistake.empty()) return failure(mistake);
  if (wan == wans.end()) {
    return failure("--wan: \"" + texts.wan + "\" is no port; udp, dpdk, xdp and verbs are");
  }
  options.wan = *wan;
  const auto lan = std::ranges::find(lans, texts.lan, [](Lan it) { return name_of(it); });
  if (lan == lans.end()) {
    return failure("--lan: \"" + texts.lan + "\" is no port; tun and xdp are");
  }
  options.lan = *lan;
  if (const std::string why = too_much_for_xdp(options); !why.empty()) return failure(why);
  if (options.wan == Wan::Verbs && !options.is_rdma) {
    return failure("--wan verbs is for --rdma only, whose machines have RNICs; add it");
  }
  const std::string no_policy = unknown_policy(options.policy, options.may_adapt());
  if (!no_policy.empty()) return failure(no_policy);
  if (options.is_wander && options.seconds < 2) {
    return failure("--seconds: at least 2 with --wander, as the first of each phase counts apart");
  }
  if (options.loss >= 0.5) return failure("--loss: more than half is no link");
  if (options.burst < 1) return failure("--burst: a mean burst has at least 1 packet");
  if (options.rate < Rate::from_mbps(1)) return failure("--rate: at least 1Mbit/s");
  if (options.rtt > Duration::from_s(2)) return failure("--rtt: at most 2s");
  if (options.file.count() == 0 || options.file > Bytes(1 << 30)) {
    return failure("--file: 1B to 1GiB");
  }
  return options;
}

}  // namespace

const char* name_of(Wan wan) {
  switch (wan) {
    case Wan::Udp:
      return "udp";
    case Wan::Dpdk:
      return "dpdk";
    case Wan::Verbs:
      return "verbs";
    case Wan::Xdp:
      return "xdp";
  }
  return "";
}

const char* name_of(Lan lan) { return lan == Lan::Xdp ? "xdp" : "tun"; }

Rate Options::offered_udp() const {
  constexpr double share = 0.8;
  return udp_rate == Rate() ? rate.scaled(share / (1 + repair_share(policy))) : udp_rate;
}

std::vector<std::string> Options::line_arguments() const {
  return {"--rtt", std::to_string(rtt.ns()) + "ns", "--rate", std::to_string(rate.bps()) + "bit/s",
          "--seed", std::to_string(seed),
          // Two cores carry all of this: nobody may wake for each frame.
          "--gather", "100us"};
}

Result<Options> parse_options(std::span<const char* const> arguments) {
  Options options;
  Texts texts;
  CommandLine app(summary, "causeway-demo");
  app.footer(lesson);
  const auto add = [&](const char* name, std::string& text, const char* value, const char* what,
                       const char* group) {
    app.add_option(name, text, what).type_name(value).group(group);
  };
  const char *const link = "The link, each way", *const run = "The run";
  add("--rtt", texts.rtt, "TIME", "There and back (25ms; 20ms with --rdma).", link);
  add("--loss", texts.loss, "SHARE", "Of all packets (1%).", link);
  add("--burst", texts.burst, "NUMBER", "Packets lost in a row, on average (1).", link);
  add("--rate", texts.rate, "RATE", "What it carries (500Mbit/s).", link);
  add("--mtu", texts.mtu, "NUMBER", "Of the link and of the hosts (1500).", link);
  add("--seed", texts.seed, "NUMBER", "Decides which packets are lost (1).", link);
  add("--policy", options.policy, "NAME",
      "Of the gateways (selective_repeat; hybrid with --rdma; adaptive with --wander, --page).",
      run);
  add("--wan", texts.wan, "udp|dpdk|xdp|verbs", "The gateways' port to the link (udp).", run);
  add("--lan", texts.lan, "tun|xdp", "And to the hosts (tun).", run);
  add("--cores", texts.cores, "NUMBER", "Of each gateway, each with links of its own (1).", run);
  add("--seconds", texts.seconds, "NUMBER",
      "Of each measurement of bandwidth (30; 3 with --rdma) or phase (12, --wander), or of all "
      "(no end, --page).",
      run);
  add("--warm-up", texts.warm_up, "NUMBER", "Seconds of TCP before it counts (2).", run);
  add("--udp-rate", texts.udp_rate, "RATE", "Of UDP (four fifths of what repair leaves of --rate).",
      run);
  add("--file", texts.file, "SIZE", "Of the file (64MiB).", run);
  app.add_flag("--rdma", options.is_rdma, "Two real RDMA hosts instead of all this.").group(run);
  add("--rounds", texts.rounds, "NUMBER", "With --rdma: of each measurement (3).", run);
  add("--guest", options.guest, "FOLDER", "With --rdma: what make_guest made (build/guest).", run);
  app.add_flag("--wander", options.is_wander, "A line that changes instead, under three policies.")
      .group(run);
  app.add_flag("--page", options.is_page, "Gateways to look at in a browser instead.").group(run);
  add("--port", texts.port, "NUMBER", "With --page: where (8080, or any if that is taken).", run);
  app.add_flag("--json", options.is_json, "One JSON object instead of the table.").group(run);
  auto help = app.parse(arguments);
  if (!help) return std::unexpected(help.error());
  options.help = std::move(*help);
  if (!options.help.empty()) return options;
  if (const std::string why = misplaced(app, options); !why.empty()) return failure(why);
  if (options.is_rdma) take_defaults_of_rdma(app, texts, options);
  if (options.is_wander) take_defaults_of_wander(app, texts, options);
  if (options.is_page) take_defaults_of_page(app, options);
  auto read = read_texts(texts, options);
  if (read && read->is_page && !app.has("--seconds")) read->seconds = 0;
  return read;
}

}  // namespace cw::demo
