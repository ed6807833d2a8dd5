// Every frame that a host of the swarm sends, and what became of it. Watches, as frames arrive:
// conservation (once, at its target, byte for byte), order within a flow, and age.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "dataplane/base/units.h"
#include "tests/sim/gateway/host.h"
#include "tests/sim/gateway/swarm/verdicts.h"

namespace cw::sim {

/// What a frame says of itself, behind its headers.
struct FrameText {
  uint32_t flow = 0, number = 0;
  uint64_t word = 0;  ///< the talkers' own: a position, or an acknowledgement
};

/// Writes a whole IP packet of flow.bytes to `ip`.
void write_frame(const FlowOptions& flow, const FrameText& text, uint8_t* ip);
/// False when no host of the swarm wrote it, or somebody else wrote in it.
bool try_read_frame(std::span<const uint8_t> ip, FrameText& text);
/// The least that an IP packet with a text has.
uint32_t frame_bytes_min(bool is_v6);

class FrameLedger {
 public:
  struct Rules {
    Duration age_max;
    bool is_exact = true;  ///< nobody forges and no damage is delivered
  };
  FrameLedger(const Rules& rules, Verdicts& verdicts) : rules_(rules), verdicts_(verdicts) {}

  void add_flow(const FlowOptions& flow);
  const FlowOptions& flow(uint32_t number) const { return flows_.at(number).options; }
  void on_sent(const FrameText& text, Instant now);
  /// Whether the frame is one that was sent and arrived for the first time.
  bool on_arrived(int site, std::span<const uint8_t> ip, FrameText& text, Instant now);
  /// Frames of a flow from `first` on that have arrived.
  uint64_t arrived_since(uint32_t flow, uint64_t first) const;

  uint64_t sent_count() const { return sent_; }
  uint64_t arrived_count() const { return arrived_; }  ///< for the first time
  uint64_t strange_count() const { return strange_; }  ///< everything else
  Duration age_max() const { return age_max_; }

 private:
  struct Frame {
    Instant sent;
    bool has_arrived = false;
  };
  struct Flow {
    FlowOptions options;
    bool is_ordered = false;
    uint64_t next = 0;  // behind the highest number that has arrived
    std::vector<Frame> frames;
  };
  void complain(const char* checker, const FrameText& text, const std::string& what);

  Rules rules_;
  Verdicts& verdicts_;
  std::map<uint32_t, Flow> flows_;
  uint64_t sent_ = 0, arrived_ = 0, strange_ = 0;
  Duration age_max_;
};

}  // namespace cw::sim
