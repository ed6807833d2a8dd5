#include "control/perf/collective/options.h"

#include <vector>

#include "control/command_line/command_line.h"
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
    "\n"
    "Exit status: 0 measured; 1 a byte was wrong; 2 a mistake in the arguments; 3 it did not end;\n"
    "130 ended by Ctrl-C.\n";

struct Texts {
  std::string port = "sim", size = "256KiB", rate = "100Gbit/s", delay = "500ns", loss = "0%";
  uint32_t hosts = 8, rounds = 5, chains = 0, payload = 4096;
  uint64_t seed = 1;
};

/// Fills `target` from a text with a unit; names the option where it cannot.
template <class T>
Result<void> read(const char* option, Result<T> value, T& target) {
  if (!value) return failure(std::string(option) + ": " + value.error().sentence);
  target = *value;
  return {};
}

Result<void> read_all(const Texts& texts, CollectiveOptions& options) {
  if (auto done = read("--size", parse_bytes(texts.size), options.size); !done) return done;
  if (auto done = read("--rate", parse_rate(texts.rate), options.rate); !done) return done;
  if (auto done = read("--delay", parse_duration(texts.delay), options.delay); !done) return done;
  if (auto done = read("--loss", parse_share(texts.loss), options.loss); !done) return done;
  options.hosts = static_cast<uint16_t>(texts.hosts);
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

}  // namespace

Result<CollectiveOptions> parse_collective(std::span<char* const> arguments) {
  CollectiveOptions options;
  const std::string name = arguments[1];
  options.operation =
      name == "broadcast" ? group::Operation::Broadcast : group::Operation::Allgather;
  Texts texts;
  CommandLine app(name == "broadcast" ? "Rank 0's bytes to all members of a group."
                                      : "All members' bytes to all members of a group.",
                  "causeway-perf " + name);
  app.footer(lesson);
  app.add_option("--port", texts.port, "what is between hosts").one_of({"sim"}).shows_default();
  app.add_option("--hosts", texts.hosts, "members").between(2, 16384).shows_default();
  app.add_option("--size", texts.size, "bytes of one source").type_name("BYTES").shows_default();
  app.add_option("--rounds", texts.rounds, "operations, one after the other")
      .between(1, 1'000'000)
      .shows_default();
  app.add_option("--rate", texts.rate, "of each cable").type_name("RATE").shows_default();
  app.add_option("--delay", texts.delay, "of each cable").type_name("TIME").shows_default();
  app.add_option("--loss", texts.loss, "on each cable").type_name("SHARE").shows_default();
  app.add_option("--chains", texts.chains,
                 "sources that send at the same time; 0: as many as hide "
                 "a turn")
      .between(0, 8)
      .shows_default();
  app.add_option("--payload", texts.payload, "bytes of a slot").between(224, 8160).shows_default();
  app.add_option("--seed", texts.seed, "of all that is drawn").shows_default();
  app.add_flag("--json", options.is_json, "one JSON object");
  std::vector<const char*> rest = {arguments[0]};
  rest.insert(rest.end(), arguments.begin() + 2, arguments.end());
  auto parsed = app.parse(rest);
  if (!parsed) return std::unexpected(parsed.error());
  options.help = std::move(*parsed);
  if (!options.help.empty()) return options;
  if (const auto done = read_all(texts, options); !done) return std::unexpected(done.error());
  return options;
}

}  // namespace cw::perf
