#include "control/perf/collective/options.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "control/perf/shared/exits.h"
#include "control/perf/shared/subcommand.h"
#include "control/units/units.h"
#include "dataplane/port/sim/fabric/way/topology.h"

namespace cw::perf {
namespace {

constexpr const char* lesson =
    "Hosts are members of a group on a simulated fabric of 100 Gbit/s (leaves of 16, half as many\n"
    "spines; a fat tree of radix 32 from 513 hosts on), in virtual time, with the code that runs "
    "on\n"
    "real ports. Columns as OSU's benchmarks print them, and what hosts injected and fetched.\n"
    "bytes_hops is counted at all cables, control included; ring_bytes_hops is computed: what a "
    "ring\n"
    "would take on the same fabric, along its routes, without control.\n"
    "\n"
    "  causeway-perf allgather --port sim --hosts 188 --size 256KiB --json\n"
    "  causeway-perf broadcast --port sim --hosts 8 --size 16MiB --loss 1%\n"
    "  causeway-perf allgather --port sim --algorithm ring --hosts 188 --size 16KiB\n"
    "  causeway-perf fsdp --port sim --hosts 188 --size 16KiB --type bf16\n"
    "\n"
    "With --port udp each process is one member, at its place in --members; all are told the same "
    "but\n"
    "their --rank, wait for each other, and rank 0 prints. --loss is of what comes to each "
    "member.\n"
    "\n"
    "  causeway-perf broadcast --port udp --group 239.7.7.7 --members 192.0.2.1,192.0.2.2 --rank "
    "0\n";

struct Subcommand {
  const char* name;
  group::Operation operation;
  const char* lesson;
};
constexpr Subcommand subcommands[] = {
    {"broadcast", group::Operation::Broadcast, "Rank 0's bytes to all members of a group."},
    {"allgather", group::Operation::Allgather, "All members' bytes to all members of a group."},
    {"reduce-scatter", group::Operation::ReduceScatter,
     "To each member of a group the sum of what all have for it."},
    {"fsdp", group::Operation::Pair,
     "Allgather and Reduce-Scatter of the same size at once, as sharded training does them."},
};
const Subcommand* find_collective(std::string_view name) {
  const auto it = std::ranges::find(subcommands, name, &Subcommand::name);
  return it == std::end(subcommands) ? nullptr : it;
}
bool is_added_up(group::Operation operation) {
  return operation == group::Operation::ReduceScatter || operation == group::Operation::Pair;
}

struct Texts {
  std::string port = "sim", algorithm = "multicast", type = "f32", size = "256KiB", rate,
              delay = "500ns", loss = "0%", far_delay = "25ms", far_loss = "0%", site_group;
  uint32_t hosts = 8, rounds = 5, chains = 0, payload = 4096, sites = 1;
  uint64_t seed = 1;
  PlaceTexts place;
};

Result<void> read_members(const Texts& texts, CollectiveOptions& options) {
  auto place = read_place(texts.place);
  if (!place) return std::unexpected(place.error());
  options.place = std::move(*place);
  options.hosts = static_cast<uint16_t>(options.place.members.size());
  options.site_group = texts.site_group;
  if (texts.sites > 1 && texts.site_group.empty()) {
    return failure("--site-group: name the multicast address of this site's members");
  }
  return {};
}

Result<void> read_sites(const Texts& texts, CollectiveOptions& options) {
  if (auto done = read("--far-delay", parse_duration(texts.far_delay), options.far_delay); !done) {
    return done;
  }
  if (auto done = read("--far-loss", parse_share(texts.far_loss), options.far_loss); !done) {
    return done;
  }
  options.sites = static_cast<uint16_t>(texts.sites);
  if (options.hosts % options.sites != 0) {
    return failure("--sites: " + std::to_string(options.hosts) +
                   " hosts cannot be divided evenly among " + std::to_string(texts.sites));
  }
  return {};
}

Result<void> read_all(const Texts& texts, CollectiveOptions& options) {
  if (auto done = read("--size", parse_bytes(texts.size), options.size); !done) return done;
  options.is_udp = texts.port == "udp";
  const std::string rate = !texts.rate.empty() ? texts.rate
                           : options.is_udp    ? "1Gbit/s"
                                               : "100Gbit/s";
  if (auto done = read("--rate", parse_rate(rate), options.rate); !done) return done;
  if (auto done = read("--delay", parse_duration(texts.delay), options.delay); !done) return done;
  if (auto done = read("--loss", parse_share(texts.loss), options.loss); !done) return done;
  const auto named = std::ranges::find(group::algorithm_names, std::string_view(texts.algorithm));
  options.algorithm = static_cast<group::Algorithm>(named - group::algorithm_names.begin());
  if (is_added_up(options.operation)) {
    options.element = texts.type == "f32" ? group::ElementType::F32 : group::ElementType::Bf16;
    if (options.size.count() % 4 != 0) return failure("--size: it must be a multiple of 4");
  }
  options.hosts = static_cast<uint16_t>(texts.hosts);
  if (options.is_udp) {
    if (auto done = read_members(texts, options); !done) return done;
  }
  if (auto done = read_sites(texts, options); !done) return done;
  options.rounds = texts.rounds;
  options.chains = texts.chains;
  options.payload_bytes = texts.payload;
  options.seed = texts.seed;
  if (options.payload_bytes % 4 != 0) return failure("--payload: it must be a multiple of 4");
  const group::Slots::Shape shape{.part_bytes = options.size.count(),
                                  .payload_bytes = options.payload_bytes,
                                  .sources = options.hosts};
  if (!group::Slots::can_be(shape)) {
    return failure("--size: the slots of all hosts must be 16,777,216 at most, and not none");
  }
  return {};
}

CommandLine command_line(const Subcommand& command, Texts& texts, CollectiveOptions& options) {
  CommandLine app(command.lesson, std::string("causeway-perf ") + command.name);
  app.footer(lesson);
  app.ends_with(endings());
  app.add_option("--port", texts.port, "what is between hosts")
      .one_of({"sim", "udp"})
      .shows_default();
  app.add_option("--algorithm", texts.algorithm,
                 "multicast; ring: each to the next rank, which for a broadcast is a chain; tree: "
                 "binomial, of a broadcast; unicast: a tree up to 64 KiB, else the ring")
      .one_of({"multicast", "ring", "tree", "unicast"})
      .shows_default();
  if (is_added_up(command.operation)) {
    app.add_option("--type", texts.type, "of what is added up")
        .one_of({"f32", "bf16"})
        .shows_default();
  }
  app.add_option("--hosts", texts.hosts, "members").between(2, 16384).shows_default();
  app.add_option("--size", texts.size, "bytes of one source").type_name("BYTES").shows_default();
  app.add_option("--rounds", texts.rounds, "operations, one after the other")
      .between(1, 1'000'000)
      .shows_default();
  app.add_option("--rate", texts.rate,
                 "of each cable, else 100Gbit/s; over sockets what a member sends and receives, "
                 "else 1Gbit/s")
      .type_name("RATE");
  app.add_option("--delay", texts.delay, "of each cable").type_name("TIME").shows_default();
  app.add_option("--loss", texts.loss, "on each cable").type_name("SHARE").shows_default();
  app.add_option("--chains", texts.chains,
                 "sources that send at the same time; 0: as many as hide "
                 "a turn")
      .between(0, 8)
      .shows_default();
  app.add_option("--payload", texts.payload, "bytes of a slot").between(224, 8160).shows_default();
  app.add_option("--seed", texts.seed, "of all that is drawn").shows_default();
  add_place(app, texts.place);
  app.add_option("--site-group", texts.site_group,
                 "of several sites: that of the members of this one, which no gateway forwards")
      .type_name("ADDRESS");
  app.add_option("--sites", texts.sites, "of as many members each, in order of ranks")
      .between(1, 64)
      .shows_default();
  app.add_option("--far-delay", texts.far_delay, "between sites").type_name("TIME").shows_default();
  app.add_option("--far-loss", texts.far_loss, "simulated: of what leaves a site, once")
      .type_name("SHARE")
      .shows_default();
  app.add_flag("--shuffle", options.is_shuffled, "ranks sit on hosts by chance, not in order");
  app.add_flag("--json", options.is_json, "one JSON object");
  return app;
}

}  // namespace

const char* name_of_collective(group::Operation operation) {
  return std::ranges::find(subcommands, operation, &Subcommand::operation)->name;
}

std::vector<uint16_t> sites_of(const CollectiveOptions& options) {
  std::vector<uint16_t> sites;
  for (uint32_t rank = 0; options.sites > 1 && rank < options.hosts; ++rank) {
    sites.push_back(static_cast<uint16_t>(rank / (options.hosts / options.sites)));
  }
  return sites;
}

bool is_collective(std::string_view subcommand) { return find_collective(subcommand) != nullptr; }

std::vector<NamedLine> lines_of_collectives() {
  std::vector<NamedLine> lines;
  for (const Subcommand& each : subcommands) {
    Texts texts;
    CollectiveOptions options;
    lines.emplace_back(each.name, command_line(each, texts, options));
  }
  return lines;
}

Result<CollectiveOptions> parse_collective(std::span<char* const> arguments) {
  CollectiveOptions options;
  const Subcommand& command = *find_collective(arguments[1]);
  options.operation = command.operation;
  Texts texts;
  CommandLine app = command_line(command, texts, options);
  auto parsed = parse_rest(app, arguments);
  if (!parsed) return std::unexpected(parsed.error());
  options.help = std::move(*parsed);
  if (!options.help.empty()) return options;
  if (const auto done = read_all(texts, options); !done) return std::unexpected(done.error());
  return options;
}

}  // namespace cw::perf
