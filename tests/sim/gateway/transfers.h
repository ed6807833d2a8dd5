// Hosts that wait for transfers: rows of frames that leave back to back, each over when its last
// frame is there. What one host sends the other measures.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/sim/gateway/host.h"

namespace cw::sim {

struct TransferOptions {
  uint16_t number = 77;  ///< tells them from others: the source port
  uint8_t from = 1, to = 2;
  uint8_t dscp = 0;
  uint32_t frames = 46, frame_bytes = 1400;  ///< 64 KiB
  Rate rate = Rate::from_mbps(500);          ///< of a transfer's frames
  Duration every = Duration::from_ms(20);    ///< from one transfer's begin to the next
  Instant begin;
};

class TransferSender final : public HostProgram {
 public:
  explicit TransferSender(const TransferOptions& options) : options_(options) {}

  bool try_take(const Packet&, Instant) override { return false; }
  size_t write_next(std::span<uint8_t> ip, Instant now) override;
  Instant next_due() const override;
  uint64_t begun() const { return transfer_ + (frame_ > 0 ? 1 : 0); }

 private:
  TransferOptions options_;
  uint64_t transfer_ = 0;
  uint32_t frame_ = 0;
};

class TransferReceiver final : public HostProgram {
 public:
  explicit TransferReceiver(const TransferOptions& options) : options_(options) {}

  bool try_take(const Packet& packet, Instant now) override;
  size_t write_next(std::span<uint8_t>, Instant) override { return 0; }
  Instant next_due() const override { return Instant::never(); }

  struct Transfer {
    uint32_t frames = 0;
    Duration took = Duration::max();  ///< from the first frame's leaving to the last one's arrival
    bool is_whole(const TransferOptions& options) const { return frames == options.frames; }
  };
  /// In the order in which they began.
  const std::vector<Transfer>& transfers() const { return transfers_; }

 private:
  TransferOptions options_;
  std::vector<Transfer> transfers_;
};

}  // namespace cw::sim
