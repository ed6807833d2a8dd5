// A peer that has the key, and lies: what it says may cost it its own messages, and nobody a crash,
// a turn that does not end, or memory that is not its own.
#pragma once

#include <gtest/gtest.h>

#include <array>

#include "tests/sim/sdr/intruder.h"

namespace cw::sim {

/// A pair that is up, of which a is the liar; all messages are the test's own.
struct Liar {
  static constexpr uint32_t payload = 1024;

  explicit Liar(const PairOptions& options = reliable_pair()) : pair(options, script(), b_script) {
    pair.courier().stop();
    pair.courier().post_nothing();
    EXPECT_TRUE(pair.run_until([&] { return pair.are_up(); }, Duration::from_s(3)));
  }
  WireScript& script() {
    a_script.data = [this](const Packet& packet) { return recorded.take_data(packet); };
    a_script.control = [this](const Packet& packet) {
      recorded.take_control(packet);
      return is_mute ? Fate::Lose : Fate::Pass;
    };
    return a_script;
  }
  sdr::Sink receives() { return pair.b->receives(); }
  sdr::RecvStream& recv_stream() { return pair.b->recv_stream(); }
  /// One that arrives, so that a slot has been recorded.
  void send_one_slot() {
    static std::array<uint8_t, payload> from, to;
    ASSERT_TRUE(receives().try_post(to));
    const auto sending = pair.a->sends().try_open({});
    ASSERT_TRUE(sending && pair.a->sends().append(*sending, 0, from));
    ASSERT_TRUE(pair.a->sends().close(*sending));
    pair.run_for(Duration::from_ms(200));
    ASSERT_FALSE(recorded.data.empty());
  }
  template <class... Records>
  void say(const Records&... records) {
    EnvelopeHeader header = intruder.header();
    header.sequence += ++sequences_ * 100;
    inject(pair, intruder.control(header, [&](EnvelopeWriter& writer) {
      EXPECT_TRUE((writer.try_add(records) && ...));
    }));
  }
  uint64_t count_at_b(Counter counter) { return pair.b->counters().read_any_thread(counter); }

  Recorded recorded;
  bool is_mute = false;  ///< the real a, to b
  WireScript a_script, b_script;
  Pair pair;
  Intruder intruder{recorded, SiteOptions().key};

 private:
  uint64_t sequences_ = 0;
};

}  // namespace cw::sim
