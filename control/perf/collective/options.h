// What `causeway-perf broadcast` and its like are told.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/perf/shared/place.h"
#include "control/perf/shared/subcommand.h"
#include "dataplane/base/result.h"
#include "dataplane/base/units.h"
#include "dataplane/collective/group.h"
#include "dataplane/wire/group/records.h"

namespace cw::perf {

struct CollectiveOptions {
  group::Operation operation = group::Operation::Allgather;
  group::ElementType element = group::ElementType::Bytes;  ///< of what is added up
  group::Algorithm algorithm = group::Algorithm::Multicast;
  uint16_t hosts = 8;
  Bytes size = Bytes(256 << 10);  ///< of one source
  uint32_t rounds = 5;
  Rate rate = Rate::from_gbps(100);
  Duration delay = Duration::from_ns(500);  ///< of a cable
  double loss = 0;  ///< on each cable; over sockets of what comes to each member
  uint32_t chains = 0;
  uint32_t payload_bytes = 4096;  ///< over sockets as many as the network carries, at most these
  uint64_t seed = 1;

  // Over sockets, where this process is one member.
  bool is_udp = false;
  Place place;
  std::string site_group;  ///< of the members of this one's site, where there are several

  // As many members each, in the order of ranks, and what is between them; loss: simulated alone.
  uint16_t sites = 1;
  Duration far_delay;
  double far_loss = 0;

  bool is_shuffled = false;  ///< ranks sit on hosts by chance
  bool is_json = false;
  std::string help;  ///< to be shown instead
};

/// By rank; none where all are of one.
std::vector<uint16_t> sites_of(const CollectiveOptions& options);

bool is_collective(std::string_view subcommand);
/// The subcommand of an operation that has one.
const char* name_of_collective(group::Operation operation);
std::vector<NamedLine> lines_of_collectives();
/// Errors: a sentence for people.
Result<CollectiveOptions> parse_collective(std::span<char* const> arguments);

}  // namespace cw::perf
