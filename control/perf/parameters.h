// What both ends of a measurement must have alike. The client decides, and tells the server before
// the first packet (rendezvous.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/json/json.h"
#include "dataplane/base/result.h"
#include "dataplane/base/units.h"
#include "dataplane/sdr/stream/stream_config.h"
#include "plugins/params.h"

namespace cw::perf {

struct Parameters {
  std::string op = "write";
  Bytes size = Bytes(64 << 10);         ///< of one message
  uint64_t count = 1000;                ///< messages
  Duration duration = Duration::max();  ///< post for so long instead of `count` messages
  uint32_t in_flight = 16;              ///< posted and not completed, at most
  std::string policy;
  std::vector<plugins::Setting> settings;  ///< of the policy's parameters
  Rate rate = Rate::from_gbps(1);
  double overhead = 1;         ///< resends and repair at most, as a share of the data
  uint32_t payload_bytes = 0;  ///< of a full packet
  uint64_t seed = 1;           ///< what the bytes are drawn from
  bool verify = false;
  Duration patience = Duration::from_s(2);
  uint16_t client_udp_port = 0;

  bool is_timed() const { return duration != Duration::max(); }
};

/// Errors name the option. Called where the values are made and where they are heard.
Result<void> check(const Parameters& parameters);

/// How the messages are cut. The parameters have been checked.
sdr::StreamConfig stream_config(const Parameters& parameters);
/// The split of the immediate that leaves the most to the user; as it was when there is none.
sdr::StreamConfig fit_split(sdr::StreamConfig config);

Json json_of(const Parameters& parameters);
/// Errors: what is missing, of another type, or refused by check().
Result<Parameters> parameters_of(const Json& json);

}  // namespace cw::perf
