// Packets that nobody should believe, and what is counted of them.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dataplane/pass/pass.h"
#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/stream/repeat_after.h"
#include "dataplane/sdr/stream/send/send_stream.h"
#include "dataplane/wire/control/description.h"
#include "tests/sim/sdr/intruder.h"
#include "tests/sim/sdr/liar.h"

namespace cw::sim {
namespace {
using namespace literals;

constexpr uint32_t payload = Liar::payload, slots_max = 64;

/// A slot of message `place` of the first round.
PacketBytes slot_of(const Liar& liar, uint32_t place, uint32_t slot, uint32_t bytes) {
  return liar.intruder.slot([&](SlotWrite& write) {
    write.psn = write.psn + 1;
    write.address += int64_t{place} * slots_max * payload + slot * payload;
    write.immediate = split_default.pack({place, slot, 0});
    write.payload_bytes = bytes;
  });
}

// Nobody lends it memory: it has no slot, not even an empty one.
TEST(HostilePeer, a_receive_of_no_bytes_takes_no_slot) {
  Liar liar;
  liar.send_one_slot();
  const auto empty = liar.receives().try_post(std::span<uint8_t>());
  ASSERT_TRUE(empty && empty->place == 1);
  for (const uint32_t bytes : {0u, 1u}) {
    inject(liar.pair, slot_of(liar, 1, 0, bytes));
    liar.pair.run_for(20_ms);
  }
  EXPECT_EQ(liar.pair.dropped_at_b(DropReason::slot_range), 2u);
  EXPECT_EQ(liar.receives().info(*empty).slots_in_place, 0u);
}

TEST(HostilePeer, a_message_of_no_bytes_is_whole_when_its_length_is_known) {
  Liar liar;
  const auto receiving = liar.receives().try_post(std::span<uint8_t>());
  sdr::SendStream& sends = liar.pair.a->send_stream();
  const auto sending = sends.try_open({.immediate = 7});
  ASSERT_TRUE(receiving && sending && sends.close(*sending));
  liar.pair.run_for(200_ms);
  EXPECT_EQ(liar.receives().info(*receiving).status, sdr::MessageStatus::Done);
  EXPECT_EQ(liar.receives().info(*receiving).bytes, 0u);
  EXPECT_EQ(liar.receives().immediate(*receiving), 7u);
  EXPECT_TRUE(liar.receives().complete(*receiving, liar.pair.network().now()));
  EXPECT_TRUE(
      liar.pair.run_until([&] { return sends.status(*sending) == sdr::MessageStatus::Done; }, 1_s));
}

TEST(HostilePeer, a_length_that_its_slots_cannot_hold_is_refused) {
  Liar liar;
  std::array<uint8_t, 4 * payload> memory;
  const auto receiving = liar.receives().try_post(memory);
  ASSERT_TRUE(receiving);
  for (const uint64_t bytes : {uint64_t{payload} + 1, uint64_t{payload} << 32, UINT64_MAX}) {
    const uint64_t dropped = liar.pair.dropped_at_b(DropReason::record_body);
    liar.recv_stream().on_closed({.slots = 1, .message_bytes = bytes}, liar.pair.network().now());
    EXPECT_EQ(liar.pair.dropped_at_b(DropReason::record_body), dropped + 1) << bytes;
  }
  EXPECT_EQ(liar.receives().info(*receiving).status, sdr::MessageStatus::Open);
}

// Its description was cut into parts that envelopes had room for.
TEST(HostilePeer, a_hello_that_takes_room_back_keeps_nobody_busy) {
  PairOptions options = reliable_pair();
  for (int i = 0; i < 20; ++i) {
    const std::string name = "key" + std::to_string(i);
    options.a.pair_keys.emplace_back(name, std::string(40, 'x'));
    options.b.pair_keys.emplace_back(name, std::string(40, 'x'));
  }
  Liar liar(options);
  const uint64_t hellos = liar.count_at_b(Counter::controls_received);
  Hello hello;
  hello.control_qpn = 0xca05;
  hello.payload_bytes = payload;
  hello.control_bytes = 256;
  hello.message_id_bits = 10, hello.slot_bits = 18, hello.immediate_bits = 4;
  hello.generations = 4;
  hello.channels = hello.paths = 1, hello.qps = 1;
  hello.state = HelloState::HasProvenYou;
  hello.description_parts = 1;
  liar.say(hello);
  liar.pair.run_for(15_ms);
  ASSERT_GT(liar.count_at_b(Counter::controls_received), hellos);
  const uint64_t turns = liar.pair.turn_count();
  liar.pair.run_for(100_ms);
  EXPECT_LT(liar.pair.turn_count() - turns, 1000u);
}

// Sums of them would leave the range of times.
/// The description that a control packet brings, as a row of items; empty: it brings none.
std::vector<uint8_t> description_in(const Intruder& intruder, const Packet& packet) {
  const auto envelope = intruder.opened({packet.data, packet.bytes});
  RecordReader records = envelope.reader();
  while (const auto view = records.next()) {
    if (view->type != std::to_underlying(Description::type)) continue;
    const auto part = parse<Description>(*view);
    EXPECT_TRUE(part && part->parts == 1);
    return {part->bytes.begin(), part->bytes.end()};
  }
  return {};
}

/// The same with numbers for `paths` paths in its QPs.
std::vector<uint8_t> with_paths(std::span<const uint8_t> description, uint8_t paths) {
  std::vector<uint8_t> changed(1024);
  RecordWriter writer(changed);
  RecordReader items(description, DescriptionItems::types);
  const auto copy = [&]<class Item>(Item item) {
    std::vector<be32> qpns;
    if constexpr (std::is_same_v<Item, QpItem>) {
      for (const be32 qpn : item.qpns) qpns.insert(qpns.end(), paths, qpn);
      item.paths = paths;
      item.qpns = qpns;
    }
    EXPECT_TRUE(writer.try_add(item));
  };
  while (const auto view = items.next()) EXPECT_TRUE(DescriptionItems::visit(*view, copy));
  changed.resize(writer.bytes());
  return changed;
}

TEST(HostilePeer, numbers_for_other_paths_than_its_hello_says_keep_the_link_down) {
  Recorded recorded;
  const Intruder intruder(recorded, SiteOptions().key);
  std::vector<uint8_t> description;
  WireScript a_script, b_script;
  a_script.control = [&](const Packet& packet) {
    recorded.take_control(packet);
    const auto told = description_in(intruder, packet);
    if (told.empty()) return Fate::Pass;
    description = told;
    return Fate::Lose;
  };
  Pair pair(reliable_pair(), a_script, b_script);
  ASSERT_TRUE(pair.run_until([&] { return !description.empty(); }, 3_s));
  const auto row = with_paths(description, 3);
  EnvelopeHeader header = intruder.header();
  header.sequence += 100;
  inject(pair, intruder.control(header, [&](EnvelopeWriter& writer) {
    const auto bytes = static_cast<uint16_t>(row.size());
    EXPECT_TRUE(writer.try_add(Description{.parts = 1, .part_bytes = bytes, .bytes = row}));
  }));
  pair.run_for(1_s);
  EXPECT_FALSE(pair.b->is_up());
  EXPECT_EQ(pair.b->link().why(), "QP 0 of the peer has numbers for 3 paths and its hello says 1");
}

TEST(HostilePeer, an_answer_to_what_was_never_asked_measures_nothing) {
  Liar liar;
  const Duration rtt = liar.pair.b->link().path_state(0, {}).rtt_smoothed;
  for (const uint64_t token : {uint64_t{1} << 63, UINT64_MAX, uint64_t{INT64_MAX}, uint64_t{0}}) {
    for (const uint64_t held : {uint64_t{0}, uint64_t{1} << 63, UINT64_MAX}) {
      if (token == 0 && held == 0) continue;  // that is a long time ago
      liar.say(Echo{.flags = Echo::reply, .token = token, .held_ns = held});
      liar.pair.run_for(1_ms);
    }
  }
  liar.pair.run_for(100_ms);
  EXPECT_TRUE(liar.pair.are_up());
  EXPECT_NEAR(liar.pair.b->link().path_state(0, liar.pair.network().now()).rtt_smoothed.ms(),
              rtt.ms(), 1);
}

// A peer says what its RTT is by how it answers.
TEST(HostilePeer, an_rtt_of_nothing_makes_nobody_speak_without_pause) {
  Instant at;
  for (uint8_t repeats = 0; repeats < 100; ++repeats) {
    const Duration pause = sdr::repeat_after(1_ns, repeats);
    ASSERT_GE(pause, 1_us);
    at += pause;
  }
  EXPECT_GT(at, Instant() + 100_ms) << "and ever more seldom";
}

// ---- drop reasons ----
// Every reason for which an endpoint drops a packet, provoked by a packet that is right but for one
// thing. Reasons of the outer headers (frame_..., ip_..., udp_length) are the ports':
// tests/data/packets/golden.txt has a packet for each.

/// A pair in the middle of a transfer, of which everything has been listened to.
struct Stakeout {
  explicit Stakeout(size_t posted = 8) : pair(options(posted), script(), b_script) {
    EXPECT_TRUE(pair.delivers(40, 3_s));
    // The receives stay posted and nothing more comes of itself.
    pair.courier().stop();
    pair.run_for(300_ms);
    recorded.withholds_data = true;
  }
  static PairOptions options(size_t posted) {
    SiteOptions site;
    site.policy = cw_policy_selective_repeat();
    site.stream.data_slots_max = 64;
    site.stream.messages = 8;
    site.paths = 2;
    return {.a = site, .b = site, .courier = {.posted = posted}};
  }
  WireScript& script() {
    script_.data = [this](const Packet& packet) { return recorded.take_data(packet); };
    script_.control = [this](const Packet& packet) { return recorded.take_control(packet); };
    return script_;
  }
  /// Drops of that reason which the packet causes at b.
  uint64_t drops_of(DropReason reason, const PacketBytes& bytes) {
    const uint64_t before = pair.dropped_at_b(reason);
    inject(pair, bytes);
    pair.run_for(15_ms);
    return pair.dropped_at_b(reason) - before;
  }

  Recorded recorded;
  WireScript script_, b_script;
  Pair pair;
  Intruder intruder{recorded, SiteOptions().key};
};

/// Slots, as their id: the place of a message that is posted now, in the life it has now.
void expect_slot(DropReason reason, const std::function<void(SlotWrite&)>& change) {
  Stakeout stakeout;
  EXPECT_EQ(stakeout.drops_of(reason, stakeout.intruder.slot(change)), 1u) << name_of(reason);
}

TEST(DropReasons, of_slots_are_provoked) {
  expect_slot(DropReason::link_unknown, [](SlotWrite& slot) { slot.target_qp += qpns_per_link; });
  expect_slot(DropReason::qpn_unknown, [](SlotWrite& slot) { slot.target_qp += 4096; });
  expect_slot(DropReason::key_stale, [](SlotWrite& slot) { slot.key ^= 1; });
  expect_slot(DropReason::window_misaligned, [](SlotWrite& slot) { slot.address += 4; });
  // The message it was a slot of is over: its place holds a later life.
  expect_slot(DropReason::generation_late, [](SlotWrite&) {});
  expect_slot(DropReason::slot_range,
              [](SlotWrite& slot) { slot.immediate = split_default.pack({1023, 0, 0}); });
}

TEST(DropReasons, of_slots_that_come_twice_or_have_no_receive_are_provoked) {
  Stakeout stakeout(4);
  constexpr int64_t window = 64 * 1024;  // 64 slots of 1024 bytes
  SlotWrite last;
  ASSERT_TRUE(try_parse_slot_write(stakeout.recorded.data, last));
  const auto parts = split_default.unpack(last.immediate);
  uint64_t doubles = 0, closed = 0;
  // Lives are told by the QP number and the address, places by the id: one of these is open now.
  for (int32_t life = -3; life < 5; ++life) {
    for (uint32_t place = 0; place < 8; ++place) {
      const PacketBytes bytes = stakeout.intruder.slot([&](SlotWrite& slot) {
        slot.target_qp += static_cast<uint32_t>(life);
        const int64_t messages = int64_t{life} * 8 + place - parts.id;
        slot.address += messages * window - int64_t{parts.slot} * 1024;
        slot.immediate = split_default.pack({place, 0, 0});
      });
      closed += stakeout.drops_of(DropReason::message_not_open, bytes);
      doubles += stakeout.drops_of(DropReason::packet_duplicate, bytes);
    }
  }
  EXPECT_GT(closed, 0u) << "message_not_open";
  EXPECT_GT(doubles, 0u) << "packet_duplicate";
}

TEST(DropReasons, of_transport_headers_are_provoked) {
  Stakeout stakeout;
  const PacketBytes& slot = stakeout.recorded.data;
  const auto changed = [&](size_t offset, uint8_t bits) {
    PacketBytes bytes = slot;
    bytes[offset] ^= bits;
    return bytes;
  };
  EXPECT_EQ(stakeout.drops_of(DropReason::wire_short, {slot.begin(), slot.begin() + 20}), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::wire_version, changed(1, 0x01)), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::wire_opcode, changed(0, 0x2b ^ 0x5f)), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::wire_pad, {slot.begin(), slot.begin() + 33}), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::wire_length, changed(27, 0x04)), 1u);
}

TEST(DropReasons, of_where_a_packet_came_from_are_provoked) {
  Stakeout stakeout;
  Packet* packet = nullptr;
  const auto drop = [&](DropReason reason, uint16_t peer, uint16_t path) {
    const uint64_t before = stakeout.pair.dropped_at_b(reason);
    EXPECT_EQ(stakeout.pair.b_sim().take_burst({&packet, 1}), 1u);
    std::ranges::copy(stakeout.recorded.data, packet->data);
    packet->bytes = static_cast<uint32_t>(stakeout.recorded.data.size());
    packet->peer = peer;
    packet->path = path;
    Arrival arrival;
    pass::read(*packet, arrival);
    stakeout.pair.b->endpoint().on_arrivals({&arrival, 1}, stakeout.pair.network().now());
    stakeout.pair.b_sim().give_back({&packet, 1});
    return stakeout.pair.dropped_at_b(reason) - before;
  };
  EXPECT_EQ(drop(DropReason::peer_unknown, 7, 0), 1u);
  EXPECT_EQ(drop(DropReason::path_unknown, stakeout.pair.peers().of_second, 2), 1u);
  stakeout.pair.restart_receiver();
  EXPECT_EQ(drop(DropReason::link_down, stakeout.pair.peers().of_second, 0), 1u);
}

TEST(DropReasons, of_control_qps_are_provoked) {
  Stakeout stakeout;
  const auto to_qp = [&](uint32_t qpn) {
    PacketBytes bytes = stakeout.recorded.control;
    for (size_t i = 0; i < 3; ++i) bytes[5 + i] = static_cast<uint8_t>(qpn >> (16 - 8 * i));
    return bytes;
  };
  const uint16_t last = limits::link_numbers_max - 1;
  for (const uint16_t link : {uint16_t{1}, last}) {
    EXPECT_EQ(stakeout.drops_of(DropReason::link_unknown, to_qp(control_qpn_of(link))), 1u);
  }
  EXPECT_EQ(stakeout.drops_of(DropReason::wire_opcode, to_qp(control_qpn_of(last) + 1)), 1u);
}

TEST(DropReasons, of_envelopes_are_provoked) {
  Stakeout stakeout;
  const PacketBytes& control = stakeout.recorded.control;
  constexpr size_t envelope = Intruder::headers_bytes;
  const auto changed = [&](size_t offset) {
    PacketBytes bytes = control;
    bytes[envelope + offset] ^= 1;
    return bytes;
  };
  PacketBytes brief(control.begin(), control.begin() + envelope + 44);
  EXPECT_EQ(stakeout.drops_of(DropReason::control_short, brief), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::control_magic, changed(0)), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::control_version, changed(2)), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::control_length, changed(5)), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::control_mac, changed(30)), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::control_key, changed(3)), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::control_link, stakeout.intruder.resealed(changed(7))),
            1u);
  PacketBytes nobody = control;
  std::fill_n(nobody.begin() + envelope + 8, 8, uint8_t{0});
  EXPECT_EQ(stakeout.drops_of(DropReason::control_nonce_zero, stakeout.intruder.resealed(nobody)),
            1u);
}

TEST(DropReasons, of_records_are_provoked) {
  Stakeout stakeout;
  const auto drops_of = [&](DropReason reason, const PacketBytes& records) {
    return stakeout.drops_of(reason, stakeout.intruder.next_control(records));
  };
  EXPECT_EQ(drops_of(DropReason::record_short, {5, 0, 0, 12, 0, 0, 0, 0}), 1u);
  EXPECT_EQ(drops_of(DropReason::record_pad, {3, 0, 0, 1, 'x', 0, 0, 1}), 1u);
  EXPECT_EQ(drops_of(DropReason::record_flags, {5, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0}), 1u);
  EXPECT_EQ(drops_of(DropReason::record_unknown, {31, 0, 0, 0}), 1u);
  EXPECT_EQ(drops_of(DropReason::record_body, {5, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0}), 1u);
}

// [C-15] The probe in front stands, the one behind does not.
TEST(DropReasons, a_malformed_record_ends_its_packet_there) {
  Stakeout stakeout;
  const PacketBytes probe = {5, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0};
  const PacketBytes malformed = {5, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0};
  const auto clears_for = [&](std::initializer_list<PacketBytes> rows) {
    PacketBytes all;
    for (const PacketBytes& row : rows) all.insert(all.end(), row.begin(), row.end());
    const Counters& counters = stakeout.pair.b->counters();
    const uint64_t before = counters.read_any_thread(Counter::clears_sent);
    inject(stakeout.pair, stakeout.intruder.next_control(all));
    stakeout.pair.run_for(15_ms);
    return counters.read_any_thread(Counter::clears_sent) - before;
  };
  EXPECT_EQ(clears_for({probe, malformed}), 1u);
  EXPECT_EQ(clears_for({malformed, probe}), 0u);
}

TEST(DropReasons, of_epochs_are_provoked) {
  Stakeout stakeout;
  const EnvelopeHeader genuine = stakeout.intruder.header();
  const auto drops_of = [&](DropReason reason, EnvelopeHeader header) {
    const auto probe = [](EnvelopeWriter& writer) { EXPECT_TRUE(writer.try_add(Probe{})); };
    return stakeout.drops_of(reason, stakeout.intruder.control(header, probe));
  };
  EXPECT_EQ(drops_of(DropReason::epoch_reflected, {genuine.receiver_nonce, 0, 1}), 1u);
  EXPECT_EQ(drops_of(DropReason::epoch_stale, {genuine.sender_nonce, 1, 1}), 1u);
  EXPECT_EQ(drops_of(DropReason::epoch_unproven, {0x1234, 0, 1}), 1u);
  EXPECT_EQ(drops_of(DropReason::epoch_replay, genuine), 1u);
}

}  // namespace

}  // namespace cw::sim
