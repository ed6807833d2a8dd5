// What crosses a shard's two doors, for somebody who wants to look: the worker copies the first
// bytes of each packet into a ring, and whoever asked takes them out. What the ring has no room for
// is counted; nobody waits.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/base/memory/ring.h"
#include "dataplane/port.h"

namespace cw::site {

struct CaptureFilter {
  bool has_lan = true, has_wan = true;
  std::optional<uint16_t> peer;  ///< of the WAN's packets, in the order of the file
  uint32_t one_in = 1;           ///< of so many packets one is shown
};

struct CapturedPacket {
  static constexpr size_t bytes_max = 128;

  Instant at;
  uint32_t bytes = 0;  ///< of the whole packet
  uint16_t kept = 0;   ///< of those, in `data`
  uint16_t peer = 0, path = 0;
  bool is_lan = false, is_outward = false;
  uint8_t ecn = 0, dscp = 0;
  std::array<uint8_t, bytes_max> data;

  std::span<const uint8_t> head() const { return std::span(data).first(kept); }
};

/// Made and emptied by one thread, filled by the worker's. Cost of a packet: a copy of 128 bytes.
class ShardCapture {
 public:
  /// `links` of each peer are the port's numbers that belong to it.
  ShardCapture(const CaptureFilter& filter, size_t links)
      : filter_(filter), links_(links), lan_(*this, /*is_lan=*/true), wan_(*this, false) {}
  ShardCapture(const ShardCapture&) = delete;
  ShardCapture& operator=(const ShardCapture&) = delete;

  /// Before the first packet: what its clock reads, and what the day's does. Thread: the worker's.
  void begin(Instant now);
  /// A reading of the worker's clock as nanoseconds since 1970; of what take() has given.
  uint64_t wall_ns(Instant at) const {
    return begun_wall_ns_ + static_cast<uint64_t>((at - begun_).ns());
  }
  /// For the LAN port and the WAN port; null where the filter wants none of it.
  PacketTap* lan_tap() { return filter_.has_lan ? &lan_ : nullptr; }
  PacketTap* wan_tap() { return filter_.has_wan ? &wan_ : nullptr; }

  /// Fills `out` from the front, in the order in which packets crossed; returns how many.
  size_t take(std::span<CapturedPacket> out) { return ring_.pop_burst(out); }
  /// For which there was no room.
  uint64_t missed() const { return missed_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t packets_max = 8192;

  class Tap final : public PacketTap {
   public:
    Tap(ShardCapture& capture, bool is_lan) : capture_(capture), is_lan_(is_lan) {}
    void saw(std::span<Packet* const> packets, bool is_outward, Instant now) override;

   private:
    ShardCapture& capture_;
    const bool is_lan_;
  };
  void add(const Packet& packet, bool is_lan, bool is_outward, Instant now);

  const CaptureFilter filter_;
  const size_t links_;
  Instant begun_;
  uint64_t begun_wall_ns_ = 0;
  uint32_t passed_ = 0;  // since one was shown; the worker's
  Tap lan_, wan_;
  SpscRing<CapturedPacket> ring_{packets_max};
  std::atomic<uint64_t> missed_ = 0;
};

}  // namespace cw::site
