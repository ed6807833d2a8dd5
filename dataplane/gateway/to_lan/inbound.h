// One stream from a peer, from its slots to the LAN's door: the reader of its slots, the order of
// its frames, and the table that bounds them.
//
//   Sink -> SlotReader -> Order -> Release::Lane -> LAN
//             | SlotRows: bytes  ----> copied ---'  |
//             '--- FrameTable: whose frames ---<----'
//
// Frames go one way; what became of each is the table's to know, and who waits for them to be gone
// asks it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/gateway/order/order.h"
#include "dataplane/gateway/order/release.h"
#include "dataplane/gateway/to_lan/accounts.h"
#include "dataplane/gateway/to_lan/frames.h"
#include "dataplane/gateway/to_lan/inbound_stock.h"
#include "dataplane/gateway/to_lan/slot_reader.h"
#include "dataplane/sdr/stream/stream_outcome.h"

namespace cw::gateway {

struct InboundOptions {
  SlotReaderOptions slots;
  Duration hold = Duration::from_ms(250);
  BucketSeq first_seq;       ///< see OrderOptions
  MessageSeq first_message;  ///< of every epoch
};

class Inbound final : private sdr::FrameTeller {
 public:
  /// `stock`, `sink`'s stream and `release` live longer.
  Inbound(const InboundOptions& options, InboundStock& stock, sdr::Sink sink, Release& release);

  /// Whether the stream has brought anything since take_news().
  bool has_news() const { return sink_.has_news() || sink_.reset_count() != resets_; }
  /// What has come, or has ended: nothing of an old epoch is released from here on.
  void take_news(Instant now);

  /// Once per turn: news, then what has been held for too long is given up, and messages that are
  /// through are posted anew. Returns whether there was anything.
  bool on_time(Instant now);
  Instant next_due() const;
  void rebase(Duration shift);
  /// Of frames that are held, too.
  void set_hold(Duration hold) {
    order_.set_hold(hold);
    reader_.set_stall(hold);
  }

  // While another stream of the same hosts runs out (gateway_pair.h).
  /// What comes in turn is not let out until that one is through.
  void hold_back() { Release::hold_back(out_); }
  /// Whether this one is: all that was sent on it has come or never will, and has left.
  bool is_through() const { return sink_.is_at_rest() && frames_.lent_count() == 0; }
  bool has_held_back() const { return out_.has_held_back(); }
  /// That one has gone before: what comes in turn here is late.
  void set_late(bool is_late) { Release::set_late(out_, is_late); }
  bool is_held_back() const { return out_.is_held_back(); }
  /// The oldest of what is held back has waited for so long, as far as calls of this tell.
  bool has_waited(Duration time, Instant now);
  void let_go() { release_.let_go(out_); }

  InboundAccounts accounts() const;
  /// How long frames waited for others.
  const HoleTimes& holes() const { return order_.holes(); }
  size_t frames_lent() const { return frames_.lent_count(); }
  /// Released, and not out yet.
  size_t frames_queued() const { return frames_.lent_count() - order_.counts().held; }

 private:
  void tell(sdr::StreamOutcome& outcome) const override;
  void reset();
  void let_out();

  const sdr::Sink sink_;
  FrameTable frames_;
  SlotRows rows_;
  Order order_;
  SlotReader reader_;
  Release& release_;
  Release::Lane out_;
  uint32_t resets_;  // of the stream, as far as they were followed
  Instant held_back_since_ = Instant::never();
};

}  // namespace cw::gateway
