// Two ends of a swap over a network that loses, doubles and reorders each record, with seats that
// take their time, refuse, and are not always ready to begin.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/sdr/swap/swap_end.h"
#include "dataplane/wire/control/control.h"
#include "dataplane/wire/control/envelope.h"
#include "tests/unit/wire_control/key.h"

namespace cw::sdr::swap_ends {

using test::golden_key;

constexpr Duration tick = Duration::from_us(100), rtt = Duration::from_ms(2);

/// A seat whose instances are numbers. It notes what may not happen.
class TestSeat final : public SwapSeat {
 public:
  explicit TestSeat(bool is_source) : is_source_(is_source) {}

  void make_next(const SwapPolicy& policy) override {
    expect(making_ == Making::Nothing, "a second successor while there is one");
    making_ = Making::UnderWay;
    next_ = std::stoi(std::string(policy.params.view()));
    ticks_left_ = making_ticks;
  }
  Making making() const override { return making_; }
  SwapStatus refusal() const override { return SwapStatus::Unknown; }
  SwapSentence refusal_sentence() const override { return std::string_view("not here"); }
  bool makes_the_same() const override { return false; }
  void forget_next() override { making_ = Making::Nothing; }
  MessageSeq bind() override {
    expect(is_source_ && !bound_, "bound twice");
    bound_ = opened_ + 3;
    return *bound_;
  }
  void unbind() override {
    expect(bound_.has_value(), "unbound and was not bound");
    bound_.reset();
  }
  uint16_t policy_epoch() const override { return policy_epoch_; }
  bool is_sound(MessageSeq, uint16_t) const override { return is_sound_; }
  bool try_begin(MessageSeq boundary, uint16_t policy_epoch, Instant) override {
    if (!is_willing) return false;
    expect(making_ == Making::Made, "began without a successor");
    expect(ticks_of_old_ == 0, "began while the one before lives");
    if (is_source_) expect(bound_ == boundary, "began at another boundary");
    expect(policy_epoch == policy_epoch_ + 1, "an epoch left out");
    making_ = Making::Nothing;
    bound_.reset();
    policy_epoch_ = policy_epoch;
    current_ = next_;
    boundaries.push_back(boundary);
    ticks_of_old_ = old_ticks;
    opened_ = boundary;
    return true;
  }
  bool is_swapping() const override { return ticks_of_old_ > 0; }

  /// Time for whoever makes it, and for the one before.
  void pass() {
    if (making_ == Making::UnderWay && ticks_left_-- == 0) {
      making_ = refuses ? Making::Refused : Making::Made;
    }
    if (ticks_of_old_ > 0) --ticks_of_old_;
  }
  void restart() {
    making_ = Making::Nothing;
    bound_.reset();
    policy_epoch_ = 0;
    ticks_of_old_ = 0;
    opened_ = MessageSeq();
    boundaries.clear();
  }
  int current() const { return current_; }
  void set_current(int policy) { current_ = policy; }
  bool is_bound() const { return bound_.has_value(); }

  int making_ticks = 3, old_ticks = 20;
  bool refuses = false, is_willing = true, is_sound_ = true;
  std::vector<MessageSeq> boundaries;
  std::string complaint;

 private:
  void expect(bool holds, const char* what) {
    if (!holds && complaint.empty()) complaint = what;
  }

  bool is_source_;
  Making making_ = Making::Nothing;
  int next_ = 0, current_ = 0, ticks_left_ = 0, ticks_of_old_ = 0;
  uint16_t policy_epoch_ = 0;
  std::optional<MessageSeq> bound_;
  MessageSeq opened_;
};

struct Faults {
  double lost = 0, doubled = 0;
  uint64_t ticks_max = 10;  // one way; less than that reorders
};

class World {
 public:
  explicit World(uint64_t seed) : prng(seed) {}

  Result<void> order(SwapRole role, int policy) {
    return end(role).order({std::string_view("p/1"), std::string_view(std::to_string(policy))},
                           now);
  }
  /// The source has ordered 7, and that end has come so far.
  void reach(SwapRole role, SwapState state) {
    ASSERT_TRUE(order(SwapRole::Source, 7));
    while (end(role).state() != state) turn();
  }
  SwapEnd& end(SwapRole role) { return role == SwapRole::Source ? source : sink; }

  void run(int ticks) {
    for (; ticks > 0; --ticks) turn();
  }
  bool run_until_idle(int ticks) {
    for (; ticks > 0 && !is_idle(); --ticks) turn();
    return is_idle();
  }
  bool is_idle() const { return source.is_idle() && sink.is_idle(); }

  void turn() {
    now += tick;
    for (TestSeat* seat : {&at_source, &at_sink}) seat->pass();
    for (SwapEnd* each : {&source, &sink}) {
      each->on_made(now);
      each->on_time(now);
    }
    deliver();
    send(source, false);
    send(sink, true);
  }
  /// Nothing arrives any more.
  void cut() {
    faults.lost = 1;
    flying_.clear();
  }
  /// The epoch of the link ends, and everything on its way with it.
  void restart() {
    source.end_epoch(now);
    sink.end_epoch(now);
    at_source.restart();
    at_sink.restart();
    flying_.clear();
    at_sink.set_current(at_source.current());  // as descriptions decide
  }
  std::string complaint() const {
    if (!at_source.complaint.empty()) return "source: " + at_source.complaint;
    if (!at_sink.complaint.empty()) return "sink: " + at_sink.complaint;
    return "";
  }

  Prng prng;
  Faults faults;
  Instant now = Instant() + Duration::from_s(1);
  Counters counters;
  TestSeat at_source{true}, at_sink{false};
  SwapEnd source{SwapRole::Source, 0, at_source, counters};
  SwapEnd sink{SwapRole::Sink, 0, at_sink, counters};
  int records = 0;

 private:
  struct Flying {
    Instant due;
    bool to_source = false;
    std::vector<uint8_t> bytes;
  };

  void send(SwapEnd& from, bool to_source) {
    if (from.offer_due() > now) return;
    std::array<uint8_t, 1024> buffer;
    EnvelopeWriter writer(buffer, {1, 2, ++sequence_, 0});
    EXPECT_TRUE(from.offer(writer, rtt, now));
    if (writer.is_empty()) return;
    ++records;
    const size_t bytes = writer.seal(golden_key());
    for (int copies = 1 + (prng.uniform() < faults.doubled); copies > 0; --copies) {
      if (prng.uniform() < faults.lost) continue;
      const auto ticks = static_cast<int64_t>(prng.between(1, faults.ticks_max));
      flying_.push_back({now + tick * ticks, to_source, {buffer.begin(), buffer.begin() + bytes}});
    }
  }
  void deliver() {
    for (size_t i = 0; i < flying_.size();) {
      if (flying_[i].due > now) {
        ++i;
        continue;
      }
      const Flying one = flying_[i];
      flying_.erase(flying_.begin() + static_cast<ptrdiff_t>(i));
      const auto envelope = open_envelope(one.bytes, golden_key());
      ASSERT_TRUE(envelope);
      RecordReader reader = envelope->reader();
      const auto take = [&](const auto& record) {
        if constexpr (requires { source.on_record(record, now); }) {
          (one.to_source ? source : sink).on_record(record, now);
        }
      };
      while (const auto view = reader.next()) EXPECT_TRUE(ControlRecords::visit(*view, take));
    }
  }

  uint64_t sequence_ = 0;
  std::vector<Flying> flying_;
};

}  // namespace cw::sdr::swap_ends
