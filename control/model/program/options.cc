#include "control/model/program/options.h"

#include <algorithm>
#include <utility>

#include "control/command_line/command_line.h"
#include "control/units/units.h"

namespace cw::model {
namespace {

constexpr const char* summary =
    "Says on paper how long a message takes under each reliability policy, and which is best.";

constexpr const char* lesson =
    "Times are the sender's, from the first packet to the final acknowledgement: one round trip "
    "is\n"
    "in them. A chunk is what is lost, sent again and coded as one. What our policies do, who "
    "work\n"
    "packet by packet, is told by chunks of one packet: leave --chunk out.\n"
    "\n"
    "Where a law is known not to hold the policy is refused in a sentence; where it is a bound "
    "only\n"
    "that is said. Without --policy the usual ones are compared, codes of several strengths among\n"
    "them. Parameters that are not named have the policy's own defaults, and are printed.\n"
    "\n"
    "Two laws for codes. keeping, the default, is what `erasure` does: what has come is kept, and\n"
    "more repair is sent where more is lost (m to m_max). paper is SDR-RDMA's: all chunks of a "
    "row\n"
    "that failed are sent again, and every message waits for all repair.\n"
    "\n"
    "Examples:\n"
    "  causeway-model --bandwidth 400Gbit/s --rtt 25ms --chunk 64KiB --size 128MiB\n"
    "      --chunk-loss 1e-3 --policy selective_repeat:detect=rto,alpha=2\n"
    "      --policy erasure:codec=rs,k=32,m=8 --json\n"
    "  causeway-model --rtt 60ms --size 4MiB --gilbert 8,0.1% --aim mean --overhead-limit 15%\n"
    "      the usual policies under bursts of eight packets, none that sends 15 % more.\n"
    "  causeway-model --packet-loss 1e-4 --sweep size=64KiB..1GiB --sweep loss=1e-6..1e-2\n"
    "      --plot map.svg\n"
    "      which policy wins, over message size and loss, as a map.\n"
    "  causeway-model --packet-loss 1e-3 --size 64MiB --ring 8\n"
    "      an Allreduce of 64 MiB around eight datacenters.\n";

const std::vector<Ending> endings = {
    {0, "Done."},
    {1, "No law holds for any of the policies, or the picture cannot be written."},
    {2, "A mistake in the arguments; all of them are told."}};

/// What the command line fills; units are read afterwards, so that all mistakes are told at once.
struct Texts {
  std::string bandwidth = "100Gbit/s", rtt = "25ms", size = "128MiB", chunk, payload = "4096";
  std::string in_flight = "1", chunk_loss, packet_loss, gilbert, profile;
  std::vector<std::string> policies, sweeps;
  std::string law = "keeping", aim = "tail", overhead_limit;
  std::string ring, ring_compute = "0ms", seed = "1";
};

void add_link_options(CommandLine& app, Texts& texts) {
  const auto add = [&](const char* name, std::string& text, const char* value, const char* what) {
    app.add_option(name, text, what).type_name(value).group("The link");
  };
  add("--bandwidth", texts.bandwidth, "RATE",
      "What leaves per second, headers left out (100 "
      "Gbit/s).");
  add("--rtt", texts.rtt, "TIME", "There and back (25 ms).");
  add("--packet-loss", texts.packet_loss, "SHARE", "Packets lost, each by itself.");
  add("--chunk-loss", texts.chunk_loss, "SHARE", "Chunks lost, each by itself.");
  add("--gilbert", texts.gilbert, "MEAN_BURST,SHARE",
      "Packets lost in bursts of this mean length.");
  add("--profile", texts.profile, "amazon|google|microsoft",
      "With --packet-loss: in events as on cloud paths.");
}

void add_message_options(CommandLine& app, Texts& texts) {
  const auto add = [&](const char* name, std::string& text, const char* value, const char* what) {
    app.add_option(name, text, what).type_name(value).group("The message");
  };
  add("--size", texts.size, "SIZE", "Of a message (128 MiB); with --ring of the collective.");
  add("--chunk", texts.chunk, "SIZE", "Lost, resent and coded as one (a packet's payload).");
  add("--payload", texts.payload, "SIZE", "Of a packet (4096 B).");
  add("--in-flight", texts.in_flight, "NUMBER", "Messages at once (1).");
  add("--ring", texts.ring, "NUMBER",
      "An Allreduce around so many datacenters: 2 N - 2 rounds of size / N each.");
  add("--ring-compute", texts.ring_compute, "TIME", "What a datacenter computes per round (0).");
  add("--seed", texts.seed, "NUMBER", "Of the dice that --ring throws (1).");
}

void add_answer_options(CommandLine& app, Texts& texts, Options& options) {
  app.add_option("--policy", texts.policies, "A policy; may be repeated (the usual ones).")
      .type_name("NAME[:PARAM=VALUE,...]")
      .one_at_a_time()
      .group("The answer");
  app.add_option("--fallback-law", texts.law, "What a code's fallback sends again (keeping).")
      .type_name("keeping|paper")
      .group("The answer");
  app.add_option("--aim", texts.aim, "What is best: least p99.9, least mean, most goodput (tail).")
      .type_name("tail|mean|goodput")
      .group("The answer");
  app.add_option("--overhead-limit", texts.overhead_limit,
                 "The best sends no more: 25% beyond the message, or 1.25 bytes per byte.")
      .type_name("SHARE|RATIO")
      .group("The answer");
  app.add_option("--sweep", texts.sweeps,
                 "An input's values: bandwidth, rtt, size, chunk, payload, loss, burst, in-flight, "
                 "or a parameter as erasure.m; twice at most.")
      .type_name("NAME=FROM..TO[:COUNT]")
      .one_at_a_time()
      .group("The answer");
  app.add_option("--plot", options.plot,
                 "A picture: curves of one sweep, the winner's map of two (size and loss).")
      .type_name("FILE.svg")
      .group("The answer");
  app.add_flag("--json", options.is_json, "One JSON object.").group("The answer");
}

/// Reads the texts into options and keeps what is wrong with them.
class Reader {
 public:
  Reader(const Texts& texts, Options& options) : texts_(texts), options_(options) {}

  std::string read() {
    for (const auto& [name, text] : {std::pair{"bandwidth", &texts_.bandwidth},
                                     {"rtt", &texts_.rtt},
                                     {"size", &texts_.size},
                                     {"chunk", &texts_.chunk},
                                     {"payload", &texts_.payload},
                                     {"in-flight", &texts_.in_flight}}) {
      const Input& input = *find_input(name);
      if (text->empty()) continue;
      take(std::string("--") + name, input.parse(*text), options_.inputs.*(input.value));
    }
    read_loss();
    read_plans();
    read_wish();
    read_sweeps();
    read_ring();
    check_scene();
    return mistakes_;
  }

 private:
  void complain(const std::string& sentence) {
    mistakes_ += (mistakes_.empty() ? "" : "\n") + sentence;
  }
  template <class T, class U>
  void take(const std::string& option, const Result<T>& value, U& target) {
    if (value) {
      target = static_cast<U>(*value);
    } else {
      complain(option + ": " + value.error().sentence);
    }
  }

  void read_loss() {
    Inputs& it = options_.inputs;
    const auto given =
        !texts_.chunk_loss.empty() + !texts_.packet_loss.empty() + !texts_.gilbert.empty();
    if (given != 1) {
      return complain("say how much is lost by one of --packet-loss, --chunk-loss and --gilbert");
    }
    if (!texts_.chunk_loss.empty()) {
      it.loss_kind = LossKind::OfChunks;
      take("--chunk-loss", parse_share(texts_.chunk_loss), it.loss);
    } else if (!texts_.packet_loss.empty()) {
      take("--packet-loss", parse_share(texts_.packet_loss), it.loss);
    } else {
      it.loss_kind = LossKind::InBursts;
      const size_t comma = std::min(texts_.gilbert.find(','), texts_.gilbert.size());
      take("--gilbert", parse_real(texts_.gilbert.substr(0, comma)), it.burst);
      take("--gilbert",
           parse_share(
               std::string_view(texts_.gilbert).substr(std::min(comma + 1, texts_.gilbert.size()))),
           it.loss);
      if (it.burst < 1) complain("--gilbert: bursts have one packet at least");
    }
    if (texts_.profile.empty()) return;
    const BurstProfile* profile = find_burst_profile(texts_.profile);
    if (profile == nullptr) {
      complain("--profile: \"" + texts_.profile +
               "\" is none of random, amazon, google, microsoft");
    } else if (texts_.packet_loss.empty()) {
      complain("--profile goes with --packet-loss, which says how much is lost");
    } else {
      it.loss_kind = LossKind::OfProfile;
      it.profile = *profile;
    }
  }

  void read_plans() {
    for (const std::string& text : texts_.policies) {
      auto plan = parse_plan(text);
      if (plan) options_.plans.push_back(std::move(*plan));
      if (!plan) complain("--policy: " + plan.error().sentence);
    }
    if (texts_.policies.empty()) options_.plans = usual_plans();
    if (texts_.law != "keeping" && texts_.law != "paper") {
      complain("--fallback-law: \"" + texts_.law + "\" is neither keeping nor paper");
    }
    if (texts_.law == "paper") options_.fallback = FallbackLaw::Paper;
  }

  void read_wish() {
    constexpr std::pair<const char*, Aim> aims[] = {
        {"tail", Aim::Tail}, {"mean", Aim::Mean}, {"goodput", Aim::Goodput}};
    const auto aim =
        std::ranges::find_if(aims, [&](const auto& each) { return texts_.aim == each.first; });
    if (aim == std::end(aims)) {
      complain("--aim: \"" + texts_.aim + "\" is none of tail, mean, goodput");
    } else {
      options_.wish.aim = aim->second;
    }
    if (texts_.overhead_limit.empty()) return;
    double& most = options_.wish.overhead_max;
    const auto ratio = parse_real(texts_.overhead_limit);
    if (ratio && *ratio >= 1) {
      most = *ratio;
    } else if (const auto share = parse_share(texts_.overhead_limit)) {
      most = 1 + *share;
    } else {
      complain("--overhead-limit: \"" + texts_.overhead_limit +
               "\" is neither a share beyond the message, 25%, nor bytes per byte, 1.25");
    }
  }

  void read_sweeps() {
    for (const std::string& text : texts_.sweeps) {
      auto sweep = parse_sweep(text);
      if (sweep) options_.sweeps.push_back(std::move(*sweep));
      if (!sweep) complain("--sweep: " + sweep.error().sentence);
    }
    if (texts_.sweeps.size() > 2) complain("--sweep is given twice at most");
    if (!texts_.sweeps.empty() && !texts_.ring.empty()) complain("--ring does not go with --sweep");
    if (options_.plot.empty() || !texts_.sweeps.empty()) return;
    for (const char* text : {"size=64KiB..1GiB:15", "loss=1e-6..1e-2:13"}) {
      options_.sweeps.push_back(*parse_sweep(text));
    }
  }

  void read_ring() {
    if (texts_.ring.empty()) return;
    Ring ring;
    Duration compute;
    take("--ring", parse_count(texts_.ring), ring.datacenters);
    take("--ring-compute", parse_duration(texts_.ring_compute), compute);
    take("--seed", parse_count(texts_.seed), ring.seed);
    if (ring.datacenters < 2 || ring.datacenters > 64) {
      return complain("--ring: 2 to 64 datacenters are accepted");
    }
    ring.compute_ms = compute.ms();
    options_.ring = ring;
    options_.inputs.size_bytes = std::max(1.0, options_.inputs.size_bytes / ring.datacenters);
  }

  void check_scene() {
    const auto scene = scene_of(options_.inputs);
    if (!scene) complain(scene.error().sentence);
  }

  const Texts& texts_;
  Options& options_;
  std::string mistakes_;
};

}  // namespace

Result<Options> parse_options(std::span<const char* const> arguments) {
  Options options;
  Texts texts;
  CommandLine app(summary, "causeway-model");
  app.footer(lesson);
  app.ends_with(endings);
  app.set_version(CW_VERSION);
  add_link_options(app, texts);
  add_message_options(app, texts);
  add_answer_options(app, texts, options);
  const auto asked = app.parse(arguments);
  if (!asked) return std::unexpected(asked.error());
  options.help = *asked;
  if (!options.help.empty()) return options;
  if (const std::string mistakes = Reader(texts, options).read(); !mistakes.empty()) {
    return failure(mistakes);
  }
  return options;
}

}  // namespace cw::model
