// Which flows hosts have, by looking at one packet of 64 for a while: the largest 256, and the rest
// together. Figures are estimates.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "control/daemon/capture/watch.h"
#include "control/gateway/site/capture/shard_capture.h"
#include "dataplane/base/units.h"

namespace cw::site {
class Site;
}

namespace cw::daemon {

/// Whose a packet is. Of a piece of a packet, or of what has none, the ports are zero.
struct FlowKey {
  std::string from, to;
  uint8_t protocol = 0;  ///< of IP
  uint16_t from_port = 0, to_port = 0;
  bool is_outward = false;  ///< to this site's hosts
  auto operator<=>(const FlowKey&) const = default;
};
/// Of the first bytes of a packet of `bytes`, which may be any; as the gateway reads it. False: it
/// is no IP packet, or one that contradicts itself.
bool try_read_flow(std::span<const uint8_t> head, uint32_t bytes, FlowKey& key);

class Flows final : public Watch {
 public:
  static constexpr uint32_t one_in = 64;
  static constexpr size_t flows_max = 256;

  Flows(site::Site& site, Duration time, Instant now, Duration patience);
  ~Flows() override;
  bool look(Instant now) override;
  /// {"seconds", "flows": [{from, to, protocol, ..., packets, bytes}], "others"}.
  api::Response finish() override;

 private:
  struct Count {
    uint64_t packets = 0, bytes = 0;
  };
  void add(const site::CapturedPacket& packet);

  site::Site& site_;
  const Duration time_, patience_;
  const Instant begun_;
  std::vector<std::shared_ptr<site::ShardCapture>> shards_;
  std::vector<site::CapturedPacket> burst_;
  std::map<FlowKey, Count> flows_;
  Count others_;
};

}  // namespace cw::daemon
