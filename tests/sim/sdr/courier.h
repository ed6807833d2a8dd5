// A program over two sites that may restart at any time: it sends numbered messages, posts
// receives, and holds what is delivered against what restarts promise. Nothing of an old epoch is
// delivered, nothing is written to memory that was given back, and every handle of a lost epoch
// says so.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/sdr/site.h"

namespace cw::sim {

struct CourierOptions {
  uint64_t bytes_max = 6000;
  size_t in_flight = 3, posted = 4;
};

/// Acts after the sites of its stage.
class Courier final : public Actor {
 public:
  Courier(std::unique_ptr<Site>& from, std::unique_ptr<Site>& to, const CourierOptions& options)
      : from_(from), to_(to), options_(options) {}

  void turn(Instant now) override;
  Instant next_deadline() const override { return Instant::never(); }

  /// A site was destroyed: its handles are gone with it.
  void sender_was_restarted();
  void receiver_was_restarted();
  /// Nothing more is sent.
  void stop() { is_stopped_ = true; }
  /// No receives either: the test has its own.
  void post_nothing() { options_.posted = 0; }
  bool is_idle() const { return sending_.empty(); }

  uint64_t sent_count() const { return next_; }
  uint64_t delivered_count() const { return delivered_; }
  uint64_t lost_sends() const { return lost_sends_; }
  uint64_t lost_receives() const { return lost_receives_; }
  /// Empty when every promise was kept so far.
  std::string complaint() const;

 private:
  struct Sending {
    uint64_t number = 0;
    sdr::SendHandle handle;
    std::unique_ptr<uint8_t[]> memory;
  };
  struct Receiving {
    uint64_t epoch = 0;
    sdr::RecvHandle handle;
    std::unique_ptr<uint8_t[]> memory;
  };
  static constexpr uint8_t buried = 0xee;
  static constexpr size_t graves_max = 256;

  uint64_t bytes_of(uint64_t number) const { return number * 1237 % (options_.bytes_max + 1); }
  void send(Instant now);
  void receive(Instant now);
  bool is_over(const Receiving& receiving, Instant now);
  void deliver(const Receiving& receiving, const sdr::RecvInfo& info);
  void bury(std::unique_ptr<uint8_t[]> memory);
  void object(const std::string& sentence) {
    if (complaint_.empty()) complaint_ = sentence;
  }

  std::unique_ptr<Site>&from_, &to_;
  CourierOptions options_;
  bool is_stopped_ = false;
  uint64_t next_ = 0, delivered_ = 0, lost_sends_ = 0, lost_receives_ = 0;
  uint64_t sender_epochs_ = 0, receiver_epochs_ = 0;  // of sites that are gone
  std::vector<uint64_t> epoch_of_;                    // by number: the sender's when it was opened
  std::map<uint64_t, uint64_t> told_;  // the receiver's epoch -> the sender's, as deliveries showed
  std::vector<bool> was_delivered_;
  std::deque<Sending> sending_;
  std::deque<Receiving> receiving_;
  std::deque<std::unique_ptr<uint8_t[]>> graves_;
  std::string complaint_;
};

}  // namespace cw::sim
