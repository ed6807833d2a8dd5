// The smallest reliable transfer: every message is one packet, sent again until it is acknowledged.
// It stands in for an endpoint where a story is about the network or the checkers, not about the
// endpoint; and it can be broken in the ways that the checkers must notice.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_set>
#include <utility>

#include "dataplane/port.h"
#include "tests/sim/checkers/exactly_once.h"
#include "tests/sim/checkers/no_wrong_byte.h"
#include "tests/sim/checkers/nothing_starves.h"
#include "tests/sim/stage.h"

namespace cw::sim {

struct ToyOptions {
  uint32_t streams = 2;
  uint64_t messages_per_stream = 1000;
  uint32_t payload_bytes = 256;
  Duration interval = Duration::from_us(10);  ///< between two messages of a stream
  Duration resend_after = Duration::from_ms(1);

  bool forgets_finished = false;     ///< a bug: a duplicate is finished again
  bool starves_last_stream = false;  ///< a bug: its messages are never sent
  bool stalls_at_the_end = false;    ///< a bug: sends nothing any more once all are open
};

/// What the two ends tell; each may be null.
struct ToyWatchers {
  ExactlyOnce* exactly_once = nullptr;
  NoWrongByte* no_wrong_byte = nullptr;
  NothingStarves* nothing_starves = nullptr;
};

class ToySender final : public Actor {
 public:
  ToySender(Port& port, const ToyOptions& options, const ToyWatchers& watchers)
      : port_(port), options_(options), watchers_(watchers) {}

  void turn(Instant now) override;
  Instant next_deadline() const override;

  bool has_opened_all() const { return opened_ == options_.messages_per_stream; }
  bool is_done() const { return has_opened_all() && open_.empty(); }
  uint64_t send_count() const { return send_count_; }

 private:
  void take_acknowledgements(Instant now);
  void open_messages(Instant now);
  void send_due(Instant now);
  bool try_send(uint64_t message, Instant now);

  Port& port_;
  ToyOptions options_;
  ToyWatchers watchers_;
  uint64_t opened_ = 0;  // per stream
  Instant next_open_at_;
  std::map<uint64_t, Instant> open_;  // when each is due to be sent
  uint64_t send_count_ = 0;
};

class ToyReceiver final : public Actor {
 public:
  ToyReceiver(Port& port, const ToyOptions& options, const ToyWatchers& watchers)
      : port_(port), options_(options), watchers_(watchers) {}

  void turn(Instant now) override;
  Instant next_deadline() const override { return Instant::never(); }

 private:
  void take(const Packet& packet);

  Port& port_;
  ToyOptions options_;
  ToyWatchers watchers_;
  std::unordered_set<uint64_t> finished_;
};

}  // namespace cw::sim
