// The hosts of the swarm. Each site has one talker, who speaks for all hosts there:
//
//   Udp   at its pace, whatever happens
//   Tcp   as far as its window, which grows with acknowledgements and halves with a loss
//   Rc    a fixed window of PSNs; a gap or a silence, and it goes back
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tests/sim/gateway/sites.h"
#include "tests/sim/gateway/swarm/frame_ledger.h"

namespace cw::sim {

enum class TalkStyle : uint8_t { Udp, Tcp, Rc };

struct Talk {
  TalkStyle style = TalkStyle::Udp;
  uint16_t number = 1;  ///< of its flow; acknowledgements are the flow `number` + ack_flows
  int from = 1, to = 2;
  uint32_t bytes = 1000;
  Rate rate = Rate::from_mbps(10);  ///< no faster than this
  Instant begin;
  uint64_t frames = UINT64_MAX;  ///< so many are new
  bool is_v6 = false;
  uint32_t window = 64;
  Duration timeout = Duration::from_ms(500);
};
inline constexpr uint16_t ack_flows = 0x4000;

class Talker final : public Actor {
 public:
  Talker(Sites& sites, int site, FrameLedger& ledger)
      : sites_(sites), site_(site), ledger_(ledger) {}

  /// At the talkers of both ends.
  void add(const Talk& talk);
  /// Nothing new from here on; what is outstanding is brought to its end, unhurriedly.
  void fall_silent();
  /// Whether every reliable talk knows all of its frames acknowledged.
  bool is_done() const;

  void turn(Instant now) override;
  Instant next_deadline() const override;

 private:
  struct Sender {
    Talk talk;
    FlowOptions headers;
    Instant due;
    uint32_t frames = 0;           // sent, again or not
    uint64_t next = 0, acked = 0;  // positions
    uint64_t sent_end = 0;         // the highest `next` yet
    uint64_t lost = 0, recover = 0;
    double window = 10, threshold = 1e9;
    Instant progress;

    bool has_new() const { return next < talk.frames; }
    bool is_outstanding() const { return talk.style != TalkStyle::Udp && acked < next; }
    bool may_send() const;
    void on_ack(uint64_t word, Instant now);
    void on_silence(Instant now);
    Instant next_deadline() const;
  };
  struct Listener {
    Talk talk;
    FlowOptions headers;
    uint32_t frames = 0;
    uint64_t high = 0, count = 0, asked = UINT64_MAX;
    bool owes = false;
    uint64_t word() const;
  };
  void take(const Packet& packet, Instant now);
  bool try_send(const FlowOptions& headers, const FrameText& text, Instant now);

  Sites& sites_;
  int site_;
  FrameLedger& ledger_;
  std::vector<Sender> senders_;
  std::vector<Listener> listeners_;
  std::map<uint32_t, size_t> by_flow_, by_ack_flow_;
};

}  // namespace cw::sim
