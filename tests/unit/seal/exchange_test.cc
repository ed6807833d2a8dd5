// When a site asks for new keys: by age, by numbers, by silence; and what it says then.
#include "dataplane/seal/handshake/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <map>
#include <vector>

namespace cw::seal {
namespace {

/// Writes down what an exchange does.
class Scribe final : public ExchangeUser {
 public:
  void say(std::span<const uint8_t> packet) override {
    said.emplace_back(packet.begin(), packet.end());
  }
  void add(const Agreement& agreement) override { uses[agreement.session] = {}; }
  void use(uint64_t session) override { used = session; }
  void drop(uint64_t session) override { uses.erase(session); }
  SessionUse use_of(uint64_t session) const override {
    const auto found = uses.find(session);
    return found == uses.end() ? SessionUse() : found->second;
  }
  size_t firsts() const {
    return static_cast<size_t>(std::ranges::count_if(
        said, [](const auto& each) { return head_of(each).type == HandshakeType::First; }));
  }

  std::vector<std::vector<uint8_t>> said;
  std::map<uint64_t, SessionUse> uses;
  uint64_t used = 0;
};

struct Two {
  explicit Two(Instant begin = Instant() + Duration::from_s(9)) : now(begin) {}

  static ExchangeOptions options(const Identity& own, const Identity& other) {
    ExchangeOptions made;
    made.own = own;
    made.other = other.public_key;
    made.kinds = {CW_AEAD_AES_128_GCM};
    return made;
  }
  /// Time passes at both, in steps, and what they say comes at once; while they speak at all.
  void run(Duration time, bool uses_sessions = true) {
    for (const Instant end = now + time; now < end; now = now + Duration::from_ms(100)) {
      for (Scribe* each : {&to_b, &to_a}) {
        for (auto& [session, use] : each->uses) use.opened += uses_sessions ? 1 : 0;
      }
      a.on_time(now);
      b.on_time(now);
      for (; heard_of_a < to_b.said.size(); ++heard_of_a) b.on_packet(to_b.said[heard_of_a], now);
      for (; heard_of_b < to_a.said.size(); ++heard_of_b) a.on_packet(to_a.said[heard_of_b], now);
    }
  }

  Instant now;
  Identity key_a = Identity::random(), key_b = Identity::random();
  Scribe to_b, to_a;
  Exchange a{options(key_a, key_b), to_b, now}, b{options(key_b, key_a), to_a, now};
  size_t heard_of_a = 0, heard_of_b = 0;
};

TEST(Exchange, asks_anew_after_two_minutes_and_not_before) {
  Two two;
  two.run(Duration::from_s(1));
  ASSERT_TRUE(two.a.has_keys() && two.b.has_keys());
  const size_t asked = two.to_b.firsts() + two.to_a.firsts();
  two.run(Duration::from_s(110));
  EXPECT_EQ(two.to_b.firsts() + two.to_a.firsts(), asked);
  two.run(Duration::from_s(15));
  EXPECT_GT(two.to_b.firsts() + two.to_a.firsts(), asked);
  EXPECT_LT(two.a.age(two.now), Duration::from_s(20));
}

TEST(Exchange, asks_anew_where_numbers_come_to_an_end) {
  Two two;
  two.run(Duration::from_s(1));
  const size_t asked = two.to_b.firsts();
  const uint64_t before = two.to_b.used;
  two.to_b.uses[before].sealed_most = packets_max / 16 * 15 - 1;
  two.run(Duration::from_s(1));
  EXPECT_EQ(two.to_b.firsts(), asked);
  two.to_b.uses[before].sealed_most = packets_max / 16 * 15;
  two.run(Duration::from_s(1));
  EXPECT_EQ(two.to_b.firsts(), asked + 1);
  EXPECT_GT(two.to_b.used, before);
}

TEST(Exchange, asks_anew_after_five_seconds_in_which_nothing_was_opened) {
  Two two;
  two.run(Duration::from_s(1));
  const size_t asked = two.to_b.firsts();
  two.run(Duration::from_s(4), false);
  EXPECT_EQ(two.to_b.firsts(), asked);
  two.run(Duration::from_s(3), false);
  EXPECT_GT(two.to_b.firsts(), asked);
}

TEST(Exchange, who_was_asked_uses_a_session_when_it_was_used_there) {
  Two two;
  two.a.on_time(two.now);
  ASSERT_EQ(two.to_b.said.size(), 1u);
  two.b.on_packet(two.to_b.said[0], two.now);
  ASSERT_EQ(two.to_a.said.size(), 1u);
  EXPECT_EQ(two.to_a.used, 0u);
  two.b.on_packet(two.to_b.said[0], two.now);
  ASSERT_EQ(two.to_a.said.size(), 2u);
  EXPECT_EQ(two.to_a.said[1], two.to_a.said[0]) << "the same answer to the same question";
  EXPECT_EQ(two.to_a.uses.size(), 1u);
  two.to_a.uses.begin()->second.opened = 1;
  two.b.on_time(two.now + Duration::from_ms(1));
  EXPECT_EQ(two.to_a.used, two.to_a.uses.begin()->first);
  two.b.on_packet(two.to_b.said[0], two.now);
  EXPECT_EQ(two.to_a.said.size(), 2u) << "who uses it does not ask";
}

TEST(Exchange, repeats_a_question_ever_less_often_and_draws_another_after_a_while) {
  Two two;
  for (int ms = 0; ms < 30'000; ms += 50) {
    two.now = two.now + Duration::from_ms(50);
    two.a.on_time(two.now);
  }
  const size_t count = two.to_b.firsts();
  EXPECT_GE(count, 8u);
  EXPECT_LE(count, 16u);
  std::map<uint32_t, size_t> tickets;
  for (const auto& each : two.to_b.said) ++tickets[head_of(each).ticket];
  EXPECT_EQ(tickets.size(), 2u) << "20 s each";
}

}  // namespace
}  // namespace cw::seal
