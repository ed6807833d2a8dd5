#include "control/wan/options.h"

#include <algorithm>
#include <utility>

#include "control/command_line/command_line.h"
#include "control/units/units.h"

namespace cw::wan {
namespace {

constexpr const char* summary =
    "Joins two Ethernet interfaces by a link as bad as you like: it carries frames both ways and\n"
    "delays, loses, reorders, duplicates and damages them. Whatever runs over them is impaired.";

constexpr const char* lesson =
    "Every option of the link holds for both directions. For one of them write it with the\n"
    "direction in front, --a-to-b.loss 1% or --b-to-a.rate 100Mbit/s; that one wins.\n"
    "\n"
    "Sizes and rates count Ethernet frames without their checksum; --mtu counts IP packets.\n"
    "The same seed and the same packets meet the same fate. ARP and neighbour discovery pass\n"
    "unharmed and at once, as they would on a real router's segment, unless --impair-arp.\n"
    "Give the two interfaces no addresses, and turn the offloads of the hosts' own ends off:\n"
    "  ethtool -K HOST_IF tx off tso off gso off gro off tx-udp-segmentation off\n"
    "\n"
    "With --control PATH the link can be changed while it runs. A line holds any number of the\n"
    "link's options without dashes, and is answered; what is under way keeps its fate:\n"
    "  causeway-wan set PATH loss=1% a-to-b.rate=100Mbit/s   or  echo loss=1% | nc -U PATH\n"
    "  causeway-wan set PATH loss=                           takes an option back\n"
    "  causeway-wan set PATH                                 shows them\n"
    "\n"
    "Examples:\n"
    "  causeway-wan va vb --rtt 25ms --rate 500Mbit/s --loss 1% --seconds 30 --json\n"
    "      500 Mbit/s and 12.5 ms each way; one packet in a hundred is lost; ends by itself and\n"
    "      prints what it did as one JSON object.\n"
    "  causeway-wan eth1 eth2 --delay 10ms --a-to-b.gilbert 8,0.5% --blackout 5s,1s,60s\n"
    "      A to B loses 0.5 % in bursts of eight; every minute the link is dead for a second;\n"
    "      runs until Ctrl-C.\n"
    "\n"
    "A run in which the emulator itself was late (p99 over 500 us) or failed to carry frames is\n"
    "called void in the report: its figures are about the machine, not about the link.\n";

const std::vector<Ending> endings = {{0, "Done; whether the run is void, the report says."},
                                     {1, "An interface or a socket cannot be had."},
                                     {2, "A mistake in the arguments."}};

/// What the command line fills; units are read afterwards, so that mistakes are told in our words.
struct Texts {
  std::array<std::string, 2> interfaces;
  LinkTexts both, one[2];
  bool is_polite = false;
  std::string rtt, seed = "1", seconds, stats_every, spin = "0us", gather = "0us",
                   memory = "256MiB";
};

void add_link_options(CommandLine& app, Texts& texts) {
  const auto add = [&](const std::string& prefix, LinkTexts& into, bool is_shown) {
    for (const LinkOption& option : link_options()) {
      const auto store = [&into, name = option.name](const std::string& text) {
        into[name] = text;
      };
      app.add_option("--" + prefix + option.name, store, option.sentence)
          .type_name(option.value)
          .group(is_shown ? "The link" : "");
    }
  };
  add("", texts.both, true);
  add("a-to-b.", texts.one[0], false);
  add("b-to-a.", texts.one[1], false);
  app.add_option("--rtt", texts.rtt, "Both ways together: half of it is each way's delay.")
      .type_name("TIME")
      .group("The link");
}

void add_run_options(CommandLine& app, Texts& texts, Options& options) {
  const auto add = [&](const char* name, std::string& text, const char* value, const char* what) {
    app.add_option(name, text, what).type_name(value).group("The run");
  };
  add("--seconds", texts.seconds, "NUMBER", "End after so long (until SIGINT or SIGTERM).");
  add("--seed", texts.seed, "NUMBER", "Decides everything that chance decides (1).");
  add("--stats-every", texts.stats_every, "TIME", "Live counters on standard error.");
  app.add_option("--control", options.control,
                 "A socket to change the link by while it runs; see below.")
      .type_name("PATH")
      .group("The run");
  add("--memory", texts.memory, "SIZE", "For frames under way, both directions (256MiB).");
  add("--spin", texts.spin, "TIME", "Wake so much early and spin for the rest (0us).");
  add("--gather", texts.gather, "TIME",
      "Let frames gather so long while they come in a row: costs lateness, saves processor (0us).");
  const auto flag = [&](const char* name, bool& value, const char* what) {
    app.add_flag(name, value, what).group("The run");
  };
  flag("--json", options.is_json, "The report as one JSON object.");
  flag("--no-realtime", texts.is_polite,
       "Wait in line with other programs; by default SCHED_FIFO, where allowed.");
  flag("--impair-arp", options.impairs_arp,
       "Impair ARP and neighbour discovery too; by default they pass.");
  app.add_flag("!--no-impair-arp", options.impairs_arp, "").group("");
  flag("--fix-offloads", options.fixes_offloads,
       "Turn the two interfaces' offloads off, and on again at the end.");
}

/// Stores a parsed value, or keeps the first sentence.
template <class T>
void read(T& target, const char* option, Result<T> parsed, std::string& mistake) {
  if (parsed) {
    target = *parsed;
  } else if (mistake.empty()) {
    mistake = std::string(option) + ": " + parsed.error().sentence;
  }
}

/// Half of the round trip, as the delay of both directions.
Result<void> apply_rtt(Texts& texts) {
  if (texts.rtt.empty()) return {};
  for (const LinkTexts* each : {&texts.both, &texts.one[0], &texts.one[1]}) {
    if (each->contains("delay")) return failure("give --rtt or --delay, not both");
  }
  const auto rtt = parse_duration(texts.rtt);
  if (!rtt) return failure("--rtt: " + rtt.error().sentence);
  texts.both["delay"] = std::to_string(rtt->ns() / 2) + "ns";
  return {};
}

Result<void> read_directions(Texts& texts, Options& options) {
  const auto has_rtt = apply_rtt(texts);
  if (!has_rtt) return has_rtt;
  for (size_t i = 0; i < 2; ++i) {
    LinkTexts own = texts.one[i];
    own.insert(texts.both.begin(), texts.both.end());
    const auto impairment = make_impairment(own);
    if (!impairment) {
      const char* const where = texts.one[i].empty() ? "" : i == 0 ? "A to B: " : "B to A: ";
      return failure(where + impairment.error().sentence);
    }
    options.directions[i] = {std::move(own), *impairment};
  }
  return {};
}

Result<void> read_run(const Texts& texts, Options& options) {
  options.is_realtime = !texts.is_polite;
  std::string mistake;
  read(options.seed, "--seed", parse_count(texts.seed), mistake);
  read(options.memory, "--memory", parse_bytes(texts.memory), mistake);
  read(options.spin, "--spin", parse_duration(texts.spin), mistake);
  read(options.gather, "--gather", parse_duration(texts.gather), mistake);
  if (!texts.stats_every.empty()) {
    read(options.stats_every, "--stats-every", parse_duration(texts.stats_every), mistake);
  }
  if (!texts.seconds.empty()) {
    double seconds = 0;
    read(seconds, "--seconds", parse_real(texts.seconds), mistake);
    if (seconds > 1e9 && mistake.empty()) mistake = "--seconds: at most 1000000000";
    options.duration = Duration::from_s(1).scaled(std::min(seconds, 1e9));
  }
  if (options.memory < Bytes(1 << 20) && mistake.empty()) mistake = "--memory: at least 1MiB";
  if (options.spin > Duration::from_ms(10) && mistake.empty()) mistake = "--spin: at most 10ms";
  if (options.gather > Duration::from_ms(10) && mistake.empty()) mistake = "--gather: at most 10ms";
  if (options.interfaces[0] == options.interfaces[1] && mistake.empty()) {
    mistake = "IF_A and IF_B are both \"" + options.interfaces[0] + "\": a link has two ends";
  }
  if (!mistake.empty()) return failure(mistake);
  return {};
}

}  // namespace

Result<Options> parse_options(std::span<const char* const> arguments) {
  Options options;
  Texts texts;
  CommandLine app(summary, "causeway-wan");
  app.footer(lesson);
  app.ends_with(endings);
  app.column_width(38);
  app.add_option("IF_A", options.interfaces[0], "One end of the link.").required();
  app.add_option("IF_B", options.interfaces[1], "The other end.").required();
  add_link_options(app, texts);
  add_run_options(app, texts, options);
  auto help = app.parse(arguments);
  if (!help) return std::unexpected(help.error());
  options.help = std::move(*help);
  if (!options.help.empty()) return options;
  const auto run = read_run(texts, options);
  if (!run) return failure(run.error().sentence);
  const auto directions = read_directions(texts, options);
  if (!directions) return failure(directions.error().sentence);
  return options;
}

}  // namespace cw::wan
