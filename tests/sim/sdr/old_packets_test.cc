// A network that keeps packets for hours and hands them over again, or for the first time: ids and
// generations come round, transmission numbers do not for a long while.
#include <gtest/gtest.h>

#include "tests/sim/sdr/intruder.h"

namespace cw::sim {
namespace {
using namespace literals;

/// Everything that the sender ever sent; a few of it were not let through at first.
struct Archive {
  explicit Archive(uint64_t seed) : prng(seed) {
    script.data = [this](const Packet& packet) {
      kept.emplace_back(packet.data, packet.data + packet.bytes);
      kept.back().insert(kept.back().end(), packet.payload, packet.payload + packet.payload_bytes);
      return prng.below(50) == 0 ? Fate::Lose : Fate::Pass;
    };
  }
  const PacketBytes& any() { return kept[prng.below(kept.size())]; }

  Prng prng;
  WireScript script;
  std::vector<PacketBytes> kept;
};

PairOptions small_pair(uint64_t seed) {
  PairOptions options = reliable_pair(seed);
  options.wire.delay = 2_ms;
  options.courier = {.bytes_max = 20'000, .in_flight = 8, .posted = 8};
  return options;
}

/// Messages flow, and now and then `burst` packets of any age come back.
void expect_unharmed(uint64_t seed, size_t burst, Duration pause, bool to_rnic = false) {
  SCOPED_TRACE("seed " + std::to_string(seed) + " burst " + std::to_string(burst));
  Archive archive(seed);
  const WireScript calm;
  PairOptions options = small_pair(seed);
  options.b.has_rnic = to_rnic;
  Pair pair(options, archive.script, calm);
  ASSERT_TRUE(pair.delivers(20, 3_s));
  const Instant end = pair.network().now() + 3_s;
  while (pair.network().now() < end) {
    for (size_t i = 0; i < burst; ++i) inject(pair, archive.any());
    pair.run_for(pause);
  }
  EXPECT_TRUE(pair.delivers(50, 5_s));
  EXPECT_EQ(pair.courier().complaint(), "");
  EXPECT_EQ(pair.courier().lost_sends(), 0u);
  EXPECT_GT(pair.courier().delivered_count(), 2000u) << "rounds of 32 messages";
  const uint64_t refused =
      to_rnic ? pair.b->rnic().refused_count() : pair.dropped_at_b(DropReason::generation_late);
  EXPECT_GT(refused, 1000u);
}

// [C-56]
TEST(OldPackets, single_ones_of_any_age_are_never_written) {
  for (uint64_t seed = 1; seed <= 5; ++seed) expect_unharmed(seed, 1, 1_ms);
}

// Hardware knows nothing of lives: the window that they name is closed.
TEST(OldPackets, are_never_written_where_hardware_places_payload) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    expect_unharmed(seed, 1, 1_ms, /*to_rnic=*/true);
    expect_unharmed(seed, 200, 100_ms, /*to_rnic=*/true);
  }
}

// A ring of old descriptors read again: nothing new comes in between.
TEST(OldPackets, a_row_of_them_is_not_taken_for_a_sender_that_has_begun_anew) {
  for (uint64_t seed = 1; seed <= 5; ++seed) expect_unharmed(seed, 200, 100_ms);
}

// Seed 900496 of the swarm: nothing has come on its channel since that would show how old it is.
TEST(OldPackets, what_was_lost_on_a_channel_that_fell_silent_is_never_written) {
  PairOptions options;
  options.a.stream.messages = 2;
  options.a.stream.channels = 2;
  options.a.stream.chunk_slots = 1;
  options.b = options.a;
  const uint64_t lives_apart = options.a.stream.messages * options.a.stream.generations;
  // The first message and the next of its id and generation alone have a slot of the second
  // channel.
  options.courier = {.in_flight = 1,
                     .posted = 2,
                     .messages = 2 * lives_apart,
                     .bytes_of = [=](uint64_t i) { return i % lives_apart == 0 ? 2000 : 1000; },
                     .patience = 50_ms};
  Recorded lost{.withholds_data = true};
  WireScript script;
  script.data = [&](const Packet& packet) {
    SlotWrite slot;
    const size_t bytes = size_t{packet.bytes} + packet.payload_bytes;
    CW_ASSERT(try_parse_slot_write({packet.data, packet.bytes}, bytes, slot));
    const bool is_it = lost.data.empty() && split_default.unpack(slot.immediate).slot > 0;
    return is_it ? lost.take_data(packet) : Fate::Pass;
  };
  const WireScript calm;
  Pair pair(options, script, calm);
  ASSERT_TRUE(pair.run_until([&] { return pair.courier().sent_count() == lives_apart; }, 3_s));
  while (!pair.courier().is_done() && pair.network().now() < Instant() + 10_s) {
    inject(pair, lost.data);
    pair.run_for(1_ms);
  }
  EXPECT_TRUE(pair.courier().is_done());
  EXPECT_EQ(pair.courier().complaint(), "");
}

// A damaged or forged number, which once made everything that followed look old.
TEST(OldPackets, a_number_of_the_future_makes_nothing_look_old) {
  Recorded recorded;
  WireScript script;
  script.data = [&](const Packet& packet) { return recorded.take_data(packet); };
  const WireScript calm;
  PairOptions options = small_pair(1);
  Pair pair(options, script, calm);
  ASSERT_TRUE(pair.delivers(20, 3_s));
  const Intruder intruder(recorded, options.a.key);
  inject(pair, intruder.slot([](SlotWrite& slot) { slot.psn = slot.psn + 5'000'000; }));
  EXPECT_TRUE(pair.delivers(200, 5_s));
  EXPECT_EQ(pair.courier().complaint(), "");
  EXPECT_LE(pair.dropped_at_b(DropReason::generation_late), 1u) << "that one";
}

}  // namespace
}  // namespace cw::sim
