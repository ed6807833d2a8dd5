// Where a member of a group over sockets is: what `causeway-perf broadcast --port udp` and its like
// are told of it alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/command_line/command_line.h"
#include "dataplane/base/result.h"
#include "dataplane/wire/roce.h"

namespace cw::perf {

struct Place {
  uint16_t rank = 0;
  std::vector<std::string> members;  ///< as UdpGroupPortOptions has them, as what follows
  std::string group, interface;
  uint16_t udp_port = 0;
  uint8_t hops = 1;
  std::string key;
};

struct PlaceTexts {
  std::string members, group, interface, key_file;
  uint32_t rank = 0, udp_port = roce_udp_port, ttl = 1;
};

/// The texts outlive the app.
void add_place(CommandLine& app, PlaceTexts& texts);
/// Errors: a sentence for people.
Result<Place> read_place(const PlaceTexts& texts);

}  // namespace cw::perf
