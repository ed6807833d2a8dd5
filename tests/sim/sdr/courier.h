// A program over two sites that may restart at any time: it sends numbered messages, posts
// receives, and holds what is delivered against what restarts promise. Every message is delivered
// once, or lost with an epoch; every byte is right; nothing of an old epoch is delivered, nothing
// is written to memory that was given back, and every handle of a lost epoch says so.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control/pump/pump.h"
#include "tests/sim/checkers/exactly_once.h"
#include "tests/sim/checkers/no_wrong_byte.h"
#include "tests/sim/checkers/nothing_starves.h"
#include "tests/sim/checkers/promise.h"
#include "tests/sim/sdr/site.h"

namespace cw::sim {

struct CourierOptions {
  uint64_t bytes_max = 6000;
  size_t in_flight = 3, posted = 4;
  uint64_t messages = UINT64_MAX;                ///< so many are sent
  std::function<uint64_t(uint64_t)> bytes_of{};  ///< none: every size up to bytes_max
  /// Ends a receive this long after it was first heard of, even with holes; and then a message may
  /// never arrive. Never: only when it is over.
  Duration patience = Duration::max();
  /// Above 1: a message is streamed in so many pieces, one per turn, in a shuffled order.
  uint32_t pieces = 1;
  uint64_t seed = 1;  ///< of the shuffle
};

/// Acts after the sites of its stage.
class Courier final : public Actor {
 public:
  Courier(std::unique_ptr<Site>& from, std::unique_ptr<Site>& to, const CourierOptions& options);

  void turn(Instant now) override;
  Instant next_deadline() const override {
    return std::min(source_.next_deadline(), sink_.next_deadline());
  }

  /// A site was destroyed: its handles are gone with it.
  void sender_was_restarted();
  void receiver_was_restarted();
  /// Nothing more is sent.
  void stop() { is_stopped_ = true; }
  /// No receives either: the test has its own.
  void post_nothing() { posts_nothing_ = true; }
  bool is_idle() const { return source_.in_flight().empty(); }
  /// All messages were sent, and each is delivered or excused.
  bool is_done() const {
    return sent_count() == options_.messages && is_idle() && !once_.has_open();
  }

  uint64_t sent_count() const { return source_.opened_count(); }
  uint64_t delivered_count() const { return delivered_; }
  uint64_t lost_sends() const { return lost_sends_; }
  uint64_t lost_receives() const { return lost_receives_; }
  /// How far it is, for whoever has to find out why it is not further.
  std::string state() const;
  /// Empty when every promise was kept so far.
  std::string complaint();
  /// For a stage to watch; each complains under its own name.
  std::array<Checker*, 5> checkers() { return {&once_, &bytes_, &ages_, &epochs_, &graves_watch_}; }
  /// Looks at all memory that was given back.
  void check_graves();

 private:
  static constexpr uint8_t buried = 0xee;
  static constexpr size_t graves_max = 16'384;
  static constexpr uint64_t graves_bytes_max = 64 << 20;
  static constexpr Duration age_max = Duration::from_s(100);

  uint64_t bytes_of(uint64_t number) const {
    return options_.bytes_of ? options_.bytes_of(number) : number * 1237 % (options_.bytes_max + 1);
  }
  void excuse_empty();
  void receive(Instant now);
  void send(Instant now);
  void settle(uint64_t number, sdr::MessageStatus status);
  void take(const SinkPump::Over& over);
  void deliver(const SinkPump::Over& over, uint64_t number);
  bool is_of_this_epoch(const SinkPump::Over& over, uint64_t number);
  void bury(std::vector<uint8_t> memory);

  std::unique_ptr<Site>&from_, &to_;
  CourierOptions options_;
  bool is_stopped_ = false, posts_nothing_ = false;
  uint64_t delivered_ = 0, lost_sends_ = 0, lost_receives_ = 0;
  uint64_t sender_epochs_ = 0, receiver_epochs_ = 0;  // of sites that are gone
  std::vector<uint64_t> opened_in_, posted_in_;       // by number: the epoch of their end
  std::map<uint64_t, uint64_t> told_;  // the receiver's epoch -> the sender's, as deliveries showed
  SourcePump source_;
  SinkPump sink_;
  std::deque<std::vector<uint8_t>> graves_;
  ExactlyOnce once_;
  NoWrongByte bytes_;
  NothingStarves ages_{age_max};
  Promise epochs_{"one epoch"}, graves_watch_{"memory given back"};
};

}  // namespace cw::sim
