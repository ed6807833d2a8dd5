// What `causeway-perf alltoall` and `allreduce` are told.
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
#include "plugins/params.h"

namespace cw::perf {

enum class MessageKind : uint8_t { AllToAll, AllReduce };

struct MessageOptions {
  MessageKind kind = MessageKind::AllToAll;
  std::string policy, plugin;  ///< no policy: that of the plugin, else csa_ud
  std::vector<plugins::Setting> settings;
  uint32_t hosts = 128;
  uint32_t paths = 16;           ///< source ports that slots go over; 1: each pair has one way
  Bytes size = Bytes(64 << 10);  ///< of a message; of an all-reduce, of all that is reduced
  /// Of hosts' line rate: messages begin as a Poisson process; 0: in steps, one after the other.
  double load = 0;
  double background = 0;    ///< the same beside an all-reduce
  uint32_t messages = 100;  ///< of each host
  uint32_t rounds = 10;     ///< steps, or reductions
  Rate rate = Rate::from_gbps(100);
  Duration delay = Duration::from_ns(500);  ///< of a cable
  Bytes buffer = Bytes(4 << 20);            ///< that the ports of a switch share
  double loss = 0;                          ///< on each cable, besides what switches drop
  Duration reorder = Duration::from_us(20);
  uint32_t payload_bytes = 4096;
  uint64_t seed = 1;

  // Over sockets, where this process is one member; `delay` and `loss` are of what comes to it.
  bool is_udp = false;
  Place place;

  bool is_json = false;
  std::string help;  ///< to be shown instead
};

bool is_message_load(std::string_view subcommand);
const char* name_of(MessageKind kind);
std::vector<NamedLine> lines_of_message_loads();
/// Errors: a sentence for people.
Result<MessageOptions> parse_message_load(std::span<char* const> arguments);

}  // namespace cw::perf
