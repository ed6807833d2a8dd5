#include "control/sim/scenario.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "control/config/impairment_keys.h"
#include "control/config/policy_keys.h"
#include "control/config/text/read.h"
#include "dataplane/sdr/seat/policy_needs.h"
#include "offload/codec/codecs.h"
#include "policies/policies.h"

namespace cw {

using config::Section;

namespace {

struct NamedSplit {
  const char* name;
  ImmediateSplit split;
};
const std::array splits = {NamedSplit{"10|18|4", {10, 18, 4}}, NamedSplit{"8|22|2", {8, 22, 2}},
                           NamedSplit{"8|24|0", {8, 24, 0}}};

/// The file's view of a scenario, while it is being read.
struct Draft {
  Scenario& scenario;
  const Policies& policies;
  PathScenario every_path;  // where each path begins
  Bytes payload = Bytes(4096), chunk = Bytes(4096), overhead_burst = Bytes(256 << 10);
  double overhead = 1;
};
using DraftPtr = std::shared_ptr<Draft>;

void declare_network(Section& section, const DraftPtr& draft) {
  Scenario& scenario = draft->scenario;
  section.key("receivers", scenario.receivers, "Sites that one sender serves, each by itself.")
      .range(1, 64);
  config::declare_impairment(section, draft->every_path.there);
  section.then([draft](Section& network) {
    PathScenario& base = draft->every_path;
    base.back = base.there;
    Section& there = network.table("there", "Only from the sender: data.");
    there.like(network.path());
    config::declare_impairment(there, base.there);
    Section& back = network.table("back", "Only to the sender: credit and notes.");
    back.like(network.path());
    config::declare_impairment(back, base.back);
  });
  section.then([draft](Section& network) {
    network.rows("path", "One route of several; without any there is one, as above.",
                 [draft](Section& row, size_t) {
                   PathScenario& path = draft->scenario.paths.emplace_back(draft->every_path);
                   Section& there = row.table("there", "This path, from the sender.");
                   there.like("network");
                   config::declare_impairment(there, path.there);
                   Section& back = row.table("back", "This path, to the sender.");
                   back.like("network");
                   config::declare_impairment(back, path.back);
                 });
  });
  section.then([draft](Section& network) {
    std::vector<PathScenario>& paths = draft->scenario.paths;
    if (paths.empty()) paths.push_back(draft->every_path);
    if (paths.size() > limits::paths_max) {
      network.complain("path", "network.path has " + std::to_string(paths.size()) + " rows; 1 to " +
                                   std::to_string(limits::paths_max) + " are accepted");
    }
  });
}

void declare_stream(Section& section, const DraftPtr& draft) {
  sdr::StreamConfig& stream = draft->scenario.stream;
  std::vector<std::string> names;
  names.reserve(std::size(splits));
  for (const NamedSplit& each : splits) names.emplace_back(each.name);
  section.choice("split", size_t{0}, names, "Bits of the immediate: message id, slot, user.",
                 [&stream](size_t i) { stream.split = splits[i].split; });
  section.key("messages", stream.messages, "Posted or in flight at once; a power of two.")
      .range(1, 1024);
  section.key("payload", draft->payload, "Bytes of a slot: one packet.")
      .range(limits::payload_bytes_min, limits::payload_bytes_max);
  section.key("chunk", draft->chunk, "Bytes of one bit of the bitmap; whole slots.")
      .range("256 B", "64 MiB");
  section.key("channels", stream.channels, "Transport QPs side by side.")
      .range(1, limits::channels_max);
  section.key("generations", stream.generations, "Lives of a message id told apart: 1, 2 or 4.")
      .range(1, limits::generations_max);
  section.then([draft](Section& here) {
    sdr::StreamConfig& cut = draft->scenario.stream;
    cut.payload_bytes = static_cast<uint32_t>(draft->payload.count());
    cut.chunk_slots = static_cast<uint32_t>(draft->chunk.count() / draft->payload.count());
    if (draft->chunk.count() % draft->payload.count() != 0) {
      here.complain("chunk", "stream.chunk must be a multiple of stream.payload");
    }
  });
}

void declare_pacer(Section& section, const DraftPtr& draft) {
  PacerOptions& pacer = draft->scenario.pacer;
  section.key("rate", pacer.rate, "What the sender keeps to, headers included.");
  section
      .key("packet_overhead", pacer.packet_overhead_bytes, "Bytes on the wire around each packet.")
      .range(0, 1000);
  section.ratio("overhead", draft->overhead, "Resends and repair, as a share of the data.");
  section.key("overhead_burst", draft->overhead_burst, "Resends and repair that may be saved up.")
      .range("9216 B", "1 GiB");
  static_assert(limits::frame_bytes_max == 9216);
  section.then([draft](Section&) {
    PacerOptions& options = draft->scenario.pacer;
    options.overhead_ppm = static_cast<uint32_t>(std::lround(draft->overhead * 1e6));
    options.overhead_burst_bytes = static_cast<uint32_t>(draft->overhead_burst.count());
  });
}

void declare_workload(Section& section, WorkloadScenario& workload) {
  section.key("messages", workload.messages, "Measured, per receiver.").range(1, 1e9);
  section.key("warm_up", workload.warm_up, "Messages before them, not measured.").range(0, 1e9);
  section.key("sizes", workload.sizes, "Sizes of messages, taken in turn.");
  section.key("size_min", workload.size_min, "Without sizes: uniform from here ...")
      .range("0 B", "8 GiB");
  section.key("size_max", workload.size_max, "... to here.").range("0 B", "8 GiB");
  section.key("in_flight", workload.in_flight, "Messages open at the sender at once.")
      .range(1, 1024);
  section.key("posted", workload.posted, "Receives posted ahead.").range(1, 1024);
  section
      .key("patience", workload.patience,
           "A receive is completed this long after its first bytes, with whatever holes.")
      .or_none();
  section.then([&workload](Section& here) {
    if (workload.sizes.empty() && workload.size_min > workload.size_max) {
      here.complain("size_min", "workload.size_min must not be above workload.size_max");
    }
  });
}

void declare_run(Section& section, const DraftPtr& draft) {
  RunScenario& run = draft->scenario.run;
  section.key("seed", run.seed, "With the file it decides everything that happens.");
  section.key("limit", run.limit, "Virtual time after which the run ends as it is.")
      .range("1 ms", "2400 h");
  section.key("turn", run.turn, "Time between two turns of a busy worker: exactness for speed.")
      .range("100 ns", "10 ms");
  section.key("carry_bytes", run.carry_bytes,
              "Copy payloads onto the wire instead of lending them.");
  section.key("verify", run.verify, "Compare every byte that is said to be in place.");
}

/// For a round trip as the file has it.
sdr::LinkGuess guess_of(const Scenario& scenario) {
  const PathScenario& first = scenario.paths.front();
  return {.rate = scenario.pacer.rate,
          .rtt = first.there.delay + first.back.delay,
          .paths = static_cast<uint32_t>(scenario.paths.size())};
}

/// What follows from several tables.
void settle(Scenario& scenario, Section& file) {
  // As much line time at once as one turn takes, or the line would idle between turns.
  scenario.pacer.horizon = scenario.run.turn;
  sdr::StreamConfig& stream = scenario.stream;
  stream.data_slots_max = std::max(1u, stream.slots_for(scenario.workload.largest().count()));
  if (stream.chunk_slots == 0 || scenario.paths.empty()) return;  // that was complained about
  const sdr::PolicyChoice policy{scenario.policy, scenario.policy_params};
  stream = sdr::coded(stream, sdr::needs_of(policy, stream, guess_of(scenario)), code::all());
  if (const auto fits = sdr::check(stream); !fits) {
    file.complain("stream", "stream: " + fits.error().sentence);
  }
}

void declare(Section& file, const DraftPtr& draft) {
  Scenario& scenario = draft->scenario;
  declare_network(file.table("network", "The wire: each direction of each path."), draft);
  declare_stream(file.table("stream", "How messages are cut."), draft);
  declare_pacer(file.table("pacer", "The sender's budget."), draft);
  Section& policy = file.table("policy", "Reliability: a policy and its own parameters.");
  config::declare_policy(policy, draft->policies.known, scenario.policy, scenario.policy_params);
  declare_workload(file.table("workload", "What is sent."), scenario.workload);
  declare_run(file.table("run", "How long and how exactly."), draft);
  file.then([draft](Section& here) { settle(draft->scenario, here); });
}

DraftPtr make_draft(Scenario& scenario, const Policies& policies) {
  scenario.policy = policies.initial;
  scenario.pacer.rate = Rate::from_gbps(25);
  return std::make_shared<Draft>(
      Draft{.scenario = scenario, .policies = policies, .every_path = {}});
}

}  // namespace

Bytes WorkloadScenario::largest() const {
  return sizes.empty() ? size_max : *std::ranges::max_element(sizes);
}

Policies Policies::built_in() {
  const auto known = policy::for_streams();
  return {.known = {known.begin(), known.end()}, .initial = cw_policy_selective_repeat()};
}

Result<Scenario> read_scenario(std::string_view file, std::string_view text,
                               const Policies& policies) {
  Scenario scenario;
  Section schema;
  declare(schema, make_draft(scenario, policies));
  const config::Mistakes mistakes = config::read(schema, text);
  if (!mistakes.empty()) return failure(config::to_text(mistakes, file));
  return scenario;
}

std::string scenario_keys(const Policies& policies) {
  Scenario scenario;
  Section schema;
  declare(schema, make_draft(scenario, policies));
  return config::help(schema);
}

}  // namespace cw
