// A look at what crosses a gateway, before and after: what hosts send and get, and what the WAN
// carries. One at a time, bounded, of the first 128 bytes of each packet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/daemon/capture/pcapng.h"
#include "control/daemon/capture/watch.h"
#include "control/gateway/plan.h"
#include "control/gateway/site/capture/shard_capture.h"

namespace cw::site {
class Site;
}

namespace cw::daemon {

struct CaptureOrder {
  static constexpr uint32_t seconds_max = 60;
  static constexpr size_t bytes_max = 64 << 20;

  site::CaptureFilter filter;
  Duration time = Duration::from_s(10);
  uint64_t packets_max = UINT64_MAX;
};

class Capture final : public Watch {
 public:
  /// Begins.
  Capture(site::Site& site, const CaptureOrder& order, Instant now, Duration patience);
  /// Ends it, if it has not.
  ~Capture() override;
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  bool look(Instant now) override;
  /// A file of pcapng. The WAN's packets have outer headers made from the plan, since those are the
  /// port's own.
  api::Response finish() override;

 private:
  void add(const site::CapturedPacket& packet, uint64_t wall_ns);
  std::string outer_of(const site::CapturedPacket& packet) const;

  site::Site& site_;
  const CaptureOrder order_;
  const Duration patience_;
  const Instant begun_;
  std::vector<std::shared_ptr<site::ShardCapture>> shards_;
  Pcapng file_;
  uint32_t lan_ = 0, wan_ = 0;
  uint64_t packets_ = 0;
  std::vector<site::CapturedPacket> burst_;
};

/// Outer headers of a WAN packet: IPv4 or IPv6 and UDP, around `bytes` and the ICRC behind them.
struct OuterInfo {
  std::string from, to;  ///< addresses; one that is not known is all zeros
  uint16_t from_port = 0, to_port = 0;
  uint8_t ecn = 0, dscp = 0;
  uint32_t bytes = 0;
};
std::string outer_headers(const OuterInfo& info);

}  // namespace cw::daemon
