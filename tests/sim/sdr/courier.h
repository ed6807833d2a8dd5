// A program over two sites that may restart at any time: it sends numbered messages, posts
// receives, and holds what is delivered against what restarts promise. Every message is delivered
// once, or lost with an epoch; every byte is right; nothing of an old epoch is delivered, nothing
// is written to memory that was given back, and every handle of a lost epoch says so.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/checkers/exactly_once.h"
#include "tests/sim/checkers/no_wrong_byte.h"
#include "tests/sim/checkers/nothing_starves.h"
#include "tests/sim/checkers/promise.h"
#include "tests/sim/sdr/pieces.h"
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
  Courier(std::unique_ptr<Site>& from, std::unique_ptr<Site>& to, const CourierOptions& options)
      : from_(from), to_(to), options_(options), prng_(options.seed) {}

  void turn(Instant now) override;
  Instant next_deadline() const override;

  /// A site was destroyed: its handles are gone with it.
  void sender_was_restarted();
  void receiver_was_restarted();
  /// Nothing more is sent.
  void stop() { is_stopped_ = true; }
  /// No receives either: the test has its own.
  void post_nothing() { options_.posted = 0; }
  bool is_idle() const { return sending_.empty(); }
  /// All messages were sent, and each is delivered or excused.
  bool is_done() const {
    return next_ == options_.messages && sending_.empty() && !once_.has_open();
  }

  uint64_t sent_count() const { return next_; }
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
  struct Sending {
    uint64_t number = 0;
    sdr::SendHandle handle;
    std::unique_ptr<uint8_t[]> memory;
    std::vector<Piece> pieces;  // still to be appended, the next one last
    bool is_closed = false;
  };
  struct Receiving {
    uint64_t epoch = 0;
    sdr::RecvHandle handle;
    std::unique_ptr<uint8_t[]> memory;
    std::optional<Instant> first_heard;
  };
  static constexpr uint8_t buried = 0xee;
  static constexpr size_t graves_max = 256;
  static constexpr uint64_t graves_bytes_max = 8 << 20;
  static constexpr Duration age_max = Duration::from_s(100);

  uint64_t bytes_of(uint64_t number) const {
    return options_.bytes_of ? options_.bytes_of(number) : number * 1237 % (options_.bytes_max + 1);
  }
  bool has_patience() const { return options_.patience != Duration::max(); }
  void excuse_empty();
  void send(Instant now);
  void settle(const Sending& sending, sdr::MessageStatus status);
  void open(Instant now, sdr::SendHandle handle);
  void append_pieces(Sending& sending);
  void receive(Instant now);
  bool is_over(Receiving& receiving, const sdr::RecvInfo& info, Instant now) const;
  void deliver(const Receiving& receiving, const sdr::RecvInfo& info);
  bool is_of_this_epoch(const Receiving& receiving, uint64_t number);
  void take_part(const Receiving& receiving);
  void bury(std::unique_ptr<uint8_t[]> memory);

  std::unique_ptr<Site>&from_, &to_;
  CourierOptions options_;
  Prng prng_;
  bool is_stopped_ = false;
  uint64_t next_ = 0, delivered_ = 0, lost_sends_ = 0, lost_receives_ = 0;
  uint64_t sender_epochs_ = 0, receiver_epochs_ = 0;  // of sites that are gone
  std::vector<uint64_t> epoch_of_;                    // by number: the sender's when it was opened
  std::map<uint64_t, uint64_t> told_;  // the receiver's epoch -> the sender's, as deliveries showed
  std::deque<Sending> sending_;
  std::deque<Receiving> receiving_;
  std::deque<std::unique_ptr<uint8_t[]>> graves_;
  ExactlyOnce once_;
  NoWrongByte bytes_;
  NothingStarves ages_{age_max};
  Promise epochs_{"one epoch"}, graves_watch_{"memory given back"};
};

}  // namespace cw::sim
