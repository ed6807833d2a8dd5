// A real sending stream under `passthrough`, the wire behind it, and a reader of what came across
// that knows the format from SPEC.md and nothing from the code that writes it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/core/counters.h"
#include "dataplane/core/lazy_memory.h"
#include "dataplane/port/sim/network.h"
#include "dataplane/sdr/source.h"
#include "dataplane/sdr/stream/send/send_stream.h"
#include "dataplane/sdr/stream/send/store/packet_stock.h"
#include "dataplane/wan.h"
#include "dataplane/wire/slot.h"

namespace cw::gateway::test {

struct WireSlot {
  std::vector<uint8_t> bytes;
  uint8_t ecn = 0, dscp = 0;
};
struct WireFrame {
  FrameHeader header;
  std::vector<uint8_t> bytes;
  bool operator==(const WireFrame&) const = default;
};

class SlotWire {
 public:
  struct Shape {
    uint32_t messages = 4;
    uint32_t slots = 64;
    uint32_t payload_bytes = 1024;
    uint32_t first_seq = 0;
    bool is_coded = false;
    size_t packets = 0;  // of the port; 0: enough
  };
  explicit SlotWire(const Shape& shape);

  /// An epoch with slots of `payload_bytes`, and credit for everything.
  void start(uint32_t payload_bytes, Instant now);
  void stop(Instant now);
  /// Everything that waits crosses the wire; what crosses is kept in slots().
  void cross(Instant now);
  /// The receiver is done with every message below `seq`.
  void retire_below(MessageSeq seq, Instant now);

  sdr::Source source() { return sdr::Source(*stream_); }
  /// Packets that the stream keeps.
  size_t kept_count() const { return stock_.kept_count(); }
  Counters& counters() { return counters_; }
  /// By message sequence, then by slot; of this epoch.
  const std::map<uint32_t, std::map<uint32_t, WireSlot>>& slots() const { return slots_; }
  /// Of all slots so far, in order. What breaks the format is told in complaint().
  std::vector<WireFrame> frames();
  const std::string& complaint() const { return complaint_; }

 private:
  void receive(const Send& send);
  void read_message(const std::map<uint32_t, WireSlot>& message, std::vector<WireFrame>& frames);

  sdr::StreamConfig config_;
  uint32_t payload_bytes_ = 0;
  Counters counters_;
  sdr::Transmitter transmitter_{1};
  sdr::CodeDesk desk_;
  SimNetwork network_;
  SimPort& port_;
  sdr::PacketStock stock_;
  LazyMemory tables_;
  std::unique_ptr<sdr::SendStream> stream_;
  std::map<uint32_t, std::map<uint32_t, WireSlot>> slots_;
  std::string complaint_;
};

}  // namespace cw::gateway::test
