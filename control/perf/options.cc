#include "control/perf/options.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "control/command_line/command_line.h"
#include "control/config/text/file.h"
#include "control/perf/shared/exits.h"
#include "control/units/units.h"
#include "control/wan/link/link_options.h"

namespace cw::perf {
namespace {

constexpr const char* summary =
    "Measures RDMA writes between two ends: how much, how many, how long each takes. The "
    "long-haul\n"
    "side of a gateway without the gateway: messages, a reliability policy, packets.";

constexpr const char* lesson =
    "The client decides what is measured and tells the server; the server needs no options but "
    "the\n"
    "ones that both must have alike: --udp-port, and --key-file and --plugin if they are used.\n"
    "\n"
    "A completion runs from the post of a message until the policy says that it is done. "
    "Bandwidth\n"
    "counts messages that arrived whole, from the first post to the last completion.\n"
    "\n"
    "Examples:\n"
    "  causeway-perf server\n"
    "  causeway-perf client 192.0.2.7 --size 1MiB --count 1000 --inflight 16 --rate 500Mbit/s\n"
    "      on two machines; the server's UDP and TCP port 18515 must be open.\n"
    "  causeway-perf client 192.0.2.7 --policy go_back_n --verify --json\n"
    "      another policy; every byte is compared; one JSON object.\n"
    "  causeway-perf client --port sim --rtt 25ms --loss 1% --seed 7 --rate 10Gbit/s\n"
    "      both ends in this process, over a simulated link and in virtual time: the same figures\n"
    "      for the same seed.\n"
    "  causeway-perf client --port sim --gilbert 8,0.5% --policy selective_repeat\n"
    "      --policy-param detect=nack\n"
    "      loss in bursts of eight; a parameter of the policy.\n"
    "  causeway-perf client 192.0.2.7 --inflight 1 --size 1MiB --wan /run/wan\n"
    "      --phase loss=0% --phase loss=1%\n"
    "      a hundred messages without loss, a hundred with, and so on; the link between is\n"
    "      causeway-wan's, on this machine, and figures come for each setting.\n"
    "  causeway-perf server --port dpdk --device net_memif0,role=server,socket=/run/wire\n"
    "      --address 192.0.2.1 --peer 192.0.2.2\n"
    "  causeway-perf client 127.0.0.1 --port dpdk --device "
    "net_memif0,role=client,socket=/run/wire\n"
    "      --address 192.0.2.2 --peer 192.0.2.1 --rate 20Gbit/s\n"
    "      over a wire in memory; the ends meet by TCP as ever.\n"
    "  causeway-perf client 192.0.2.1 --port xdp --device eth0\n"
    "      --address 192.0.2.2 --peer 192.0.2.1\n"
    "      by AF_XDP on an interface that the kernel keeps; its server says --port xdp, too.\n"
    "  causeway-perf client 192.0.2.1 --port verbs --device rxe0\n"
    "      --address 192.0.2.2 --peer 192.0.2.1\n"
    "      by an RNIC, which places what arrives; its server says --port verbs, too.\n";

// Whoever knows it may pretend to be the other end, and everybody does: --key-file is for networks
// where that matters.
constexpr const char* key_default = "causeway-perf measures in the open";
constexpr size_t key_bytes_min = 16;
constexpr uint32_t payload_of_sim = 4096;

/// What the command line fills; units are read afterwards, so that mistakes are told in our words.
struct Texts {
  std::string op = "write", size = "64KiB", count = "1000", duration, in_flight = "16",
              port = "udp";
  std::string policy, rate = "1Gbit/s", overhead = "100%", payload, seed = "1", patience = "2s";
  std::string udp_port = "18515", key_file, rtt;
  std::string phase_messages = "100", warm_up = "0";
  std::vector<std::string> settings;
  wan::LinkTexts link;
  std::string server_port = "udp";
};

void add_shared_options(CommandLine& app, Texts& texts, Options& options) {
  const auto add = [&](const char* name, std::string& text, const char* value, const char* what) {
    app.add_option(name, text, what).type_name(value).group("Both ends alike");
  };
  add("--udp-port", texts.udp_port, "NUMBER", "The server's; its TCP port too (18515).");
  add("--key-file", texts.key_file, "FILE", "A secret of 16 bytes or more; else a public one.");
  add("--plugin", options.plugin, "FILE", "A policy as a shared object.");
  const auto add_line = [&](const char* name, std::string& text, const char* value,
                            const char* what) {
    app.add_option(name, text, what)
        .type_name(value)
        .group("--port dpdk, xdp and verbs, each end its own");
  };
  add_line("--device", options.line.device, "DEVICE",
           "Such as net_memif0,role=client; of xdp, eth0; of verbs, rxe0.");
  add_line("--address", options.line.address, "IP", "Ours on that line.");
  add_line("--peer", options.line.peer, "IP", "The other end's.");
  add_line("--next-hop", options.line.next_hop, "MAC|IP", "Else the kernel or ARP and ND tell.");
  add_line("--eal", options.line.eal, "ARGUMENTS", "Further ones of DPDK, in one word.");
  app.add_flag("--json", options.is_json, "The report as one JSON object.");
}

void add_client_options(CommandLine& app, Texts& texts, Options& options) {
  app.add_option("HOST", options.host, "Where the server runs; not with --port sim.");
  const auto add = [&](const char* name, std::string& text, const char* value, const char* what) {
    app.add_option(name, text, what).type_name(value).group("What is measured");
  };
  add("--op", texts.op, "OP", "write: one-sided writes (the only one).");
  add("--size", texts.size, "SIZE", "Of one message (64KiB).");
  add("--count", texts.count, "NUMBER", "Messages (1000).");
  add("--duration", texts.duration, "TIME", "Post for so long instead of --count messages.");
  add("--inflight", texts.in_flight, "NUMBER", "Posted and not yet done, at most (16).");
  add("--policy", texts.policy, "NAME", "Reliability (selective_repeat, or that of --plugin).");
  app.add_option("--policy-param", texts.settings, "A parameter of the policy; may be repeated.")
      .type_name("NAME=VALUE")
      .group("What is measured");
  add("--port", texts.port, "udp|dpdk|xdp|verbs|sim",
      "Sockets, a NIC's own queues, a kernel's interface by AF_XDP, an RNIC, or both ends in this "
      "process (udp).");
  add("--rate", texts.rate, "RATE", "Of the sender, Ethernet headers included (1Gbit/s).");
  add("--overhead", texts.overhead, "SHARE", "Resends and repair at most, of the data (100%).");
  add("--payload", texts.payload, "SIZE", "Of a packet, at most (what the route's MTU allows).");
  add("--patience", texts.patience, "TIME",
      "A begun message that gains nothing for so long is taken with its holes (2s).");
  add("--seed", texts.seed, "NUMBER", "Of the bytes, and of the simulated link (1).");
  app.add_flag("--verify", options.parameters.verify, "Compare every byte at the server.")
      .group("What is measured");
}

void add_phase_options(CommandLine& app, Texts& texts, Options& options) {
  const char* const group = "A link that changes: blocks of messages on one warm stream";
  app.add_option("--wan", options.phases.wan, "The socket of causeway-wan --control.")
      .type_name("PATH")
      .group(group);
  app.add_option("--phase", options.phases.settings,
                 "What the link is told, as in loss=1%; given again: in turn.")
      .type_name("SETTING")
      .group(group);
  app.add_option("--phase-messages", texts.phase_messages, "In a row under one setting (100).")
      .type_name("NUMBER")
      .group(group);
  app.add_option("--warm-up", texts.warm_up, "Messages before the first block (0).")
      .type_name("NUMBER")
      .group(group);
}

bool is_of_simulation(std::string_view name) {
  return name != "rate" && name != "queue" && name != "mark" && name != "mtu";
}

void add_link_options(CommandLine& app, Texts& texts) {
  for (const wan::LinkOption& option : wan::link_options()) {
    if (!is_of_simulation(option.name)) continue;
    const auto store = [&texts, name = option.name](const std::string& text) {
      texts.link[name] = text;
    };
    app.add_option(std::string("--") + option.name, store, option.sentence)
        .type_name(option.value)
        .group("The simulated link, each way");
  }
  app.add_option("--rtt", texts.rtt, "Both ways together: half of it is each way's delay.")
      .type_name("TIME")
      .group("The simulated link, each way");
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

template <class T>
Result<T> narrowed(const std::string& text) {
  const auto count = parse_count(text);
  if (!count) return std::unexpected(count.error());
  if (*count > std::numeric_limits<T>::max()) return failure(text + " is too large");
  return static_cast<T>(*count);
}

Result<std::string> key_of(const std::string& file) {
  if (file.empty()) return key_default;
  auto key = config::text_of_file(file);
  if (!key || key->size() >= key_bytes_min) return key;
  return failure(file + " has " + std::to_string(key->size()) + " bytes and must have " +
                 std::to_string(key_bytes_min) + " at least");
}

void read_parameters(const Texts& texts, Parameters& it, std::string& mistake) {
  it.op = texts.op;
  it.policy = texts.policy;
  read(it.size, "--size", parse_bytes(texts.size), mistake);
  read(it.count, "--count", parse_count(texts.count), mistake);
  if (!texts.duration.empty()) {
    read(it.duration, "--duration", parse_duration(texts.duration), mistake);
  }
  read(it.in_flight, "--inflight", narrowed<uint32_t>(texts.in_flight), mistake);
  read(it.rate, "--rate", parse_rate(texts.rate), mistake);
  read(it.overhead, "--overhead", parse_share(texts.overhead), mistake);
  read(it.patience, "--patience", parse_duration(texts.patience), mistake);
  read(it.seed, "--seed", parse_count(texts.seed), mistake);
  if (!texts.payload.empty()) {
    Bytes payload;
    read(payload, "--payload", parse_bytes(texts.payload), mistake);
    it.payload_bytes = static_cast<uint32_t>(std::min<uint64_t>(payload.count(), UINT32_MAX));
  }
  for (const std::string& text : texts.settings) {
    read(it.settings.emplace_back(), "--policy-param", plugins::parse_setting(text), mistake);
  }
}

Result<void> read_link(Texts& texts, Options& options) {
  if (!texts.rtt.empty()) {
    if (texts.link.contains("delay")) return failure("give --rtt or --delay, not both");
    const auto rtt = parse_duration(texts.rtt);
    if (!rtt) return failure("--rtt: " + rtt.error().sentence);
    texts.link["delay"] = std::to_string(rtt->ns() / 2) + "ns";
  }
  if (options.mode != Mode::Simulation && !texts.link.empty()) {
    return failure("--" + (texts.rtt.empty() ? texts.link.begin()->first : "rtt") +
                   " describes the simulated link of --port sim; real packets are impaired by "
                   "causeway-wan");
  }
  return {};
}

std::optional<LineKind> kind_of(const std::string& port) {
  if (port == "udp") return LineKind::Udp;
  if (port == "dpdk") return LineKind::Dpdk;
  if (port == "xdp") return LineKind::Xdp;
  return port == "verbs" ? std::optional(LineKind::Verbs) : std::nullopt;
}

/// The client's mode, and that what was given fits it.
Result<void> read_mode(const Texts& texts, Options& options) {
  if (!kind_of(texts.port) && texts.port != "sim") {
    return failure("--port is \"" + texts.port + "\" and must be udp, dpdk, xdp, verbs or sim");
  }
  options.mode = texts.port == "sim" ? Mode::Simulation : Mode::Client;
  if (options.mode == Mode::Client && options.host.empty()) {
    return failure("where does the server run? causeway-perf client HOST; --help shows more");
  }
  if (options.mode == Mode::Simulation && !options.host.empty()) {
    return failure("--port sim has both ends in this process: leave \"" + options.host + "\" out");
  }
  return {};
}

/// What the end is over, and that its line is whole where it has one, and not given otherwise.
Result<void> read_line(const std::string& port, Options& options) {
  const Line& line = options.line;
  options.line_kind = kind_of(port).value_or(LineKind::Udp);
  const bool has_line = options.line_kind != LineKind::Udp;
  const std::pair<const char*, const std::string*> needed[] = {
      {"--device", &line.device}, {"--address", &line.address}, {"--peer", &line.peer}};
  for (const auto& [name, text] : needed) {
    if (has_line && text->empty()) {
      return failure("--port " + port + " needs " + name + "; --help shows an example");
    }
    if (!has_line && !text->empty()) {
      return failure(std::string(name) + " is of --port dpdk, xdp and verbs, and --port is " +
                     port);
    }
  }
  return {};
}

Result<void> read_phases(const Texts& texts, Options& options) {
  PhaseOptions& it = options.phases;
  std::string mistake;
  read(it.messages, "--phase-messages", parse_count(texts.phase_messages), mistake);
  read(it.warm_up, "--warm-up", parse_count(texts.warm_up), mistake);
  if (it.messages == 0) mistake = "--phase-messages is 0 and must be 1 at least";
  if (it.wan.empty() == it.has_any()) mistake = "--wan and --phase belong together";
  if (it.has_any() && options.mode == Mode::Simulation) {
    mistake = "--phase changes the link of causeway-wan, which --port sim has none of";
  }
  if (!mistake.empty()) return failure(mistake);
  return {};
}

Result<void> read_client(Texts& texts, Options& options) {
  if (const auto mode = read_mode(texts, options); !mode) return mode;
  if (const auto line = read_line(texts.port, options); !line) return line;
  std::string mistake;
  read_parameters(texts, options.parameters, mistake);
  if (!mistake.empty()) return failure(mistake);
  if (const auto phases = read_phases(texts, options); !phases) return phases;
  if (const auto link = read_link(texts, options); !link) return link;
  const auto impairment = wan::make_impairment(texts.link);
  if (!impairment) return failure(impairment.error().sentence);
  options.impairment = *impairment;
  Parameters checked = options.parameters;
  if (checked.payload_bytes == 0) checked.payload_bytes = payload_of_sim;
  if (options.mode == Mode::Simulation) options.parameters.payload_bytes = checked.payload_bytes;
  return check(checked);
}

Result<void> read_shared(const Texts& texts, Options& options) {
  std::string mistake;
  read(options.udp_port, "--udp-port", narrowed<uint16_t>(texts.udp_port), mistake);
  read(options.key, "--key-file", key_of(texts.key_file), mistake);
  if (mistake.empty() && options.udp_port == 0) mistake = "--udp-port must be 1 to 65535";
  if (!mistake.empty()) return failure(mistake);
  return {};
}

}  // namespace

Result<Options> parse_options(std::span<const char* const> arguments,
                              const std::vector<NamedLine>& others) {
  Options options;
  Texts texts;
  CommandLine app(summary, "causeway-perf");
  app.footer(lesson);
  app.ends_with(endings());
  app.column_width(34);
  CommandLine server = app.add_subcommand("server", "Waits for a client and takes its messages.");
  CommandLine client = app.add_subcommand("client", "Sends messages and reports.");
  for (CommandLine* each : {&server, &client}) {
    each->footer(lesson);
    each->column_width(34);
    add_shared_options(*each, texts, options);
  }
  server.add_flag("--keep", options.serves_on, "Serve one client after the other.");
  server.add_option("--port", texts.server_port, "As the client's (udp).")
      .type_name("udp|dpdk|xdp|verbs")
      .group("Both ends alike");
  add_client_options(client, texts, options);
  add_link_options(client, texts);
  add_phase_options(client, texts, options);
  for (const auto& [name, line] : others) app.add_foreign(name, line);
  auto help = app.parse(arguments);
  if (!help) return std::unexpected(help.error());
  options.help = std::move(*help);
  if (!options.help.empty()) return options;
  if (const auto shared = read_shared(texts, options); !shared)
    return std::unexpected(shared.error());
  if (!client.is_chosen()) {
    if (!kind_of(texts.server_port)) {
      return failure("--port of a server is \"" + texts.server_port +
                     "\" and must be udp, dpdk, xdp or verbs");
    }
    if (const auto line = read_line(texts.server_port, options); !line) {
      return std::unexpected(line.error());
    }
    return options;
  }
  if (const auto read = read_client(texts, options); !read) return std::unexpected(read.error());
  return options;
}

}  // namespace cw::perf
