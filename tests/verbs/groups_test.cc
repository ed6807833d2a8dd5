// Groups at the port of RNICs, at devices in memory: what is multicast, who hears it, what comes
// back, and everything that breaks; and a whole group over it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <thread>

#include "dataplane/base/prng.h"
#include "dataplane/collective/sdk/group_end.h"
#include "tests/verbs/group_end.h"

namespace cw::stand_in {
namespace {

std::vector<uint8_t> some_bytes(size_t count, uint8_t first = 7) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i * 31 + first);
  return bytes;
}

void add_devices(size_t count) {
  Fabric::the().reset();
  for (size_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    Fabric::the().add_device("rnic" + number, "10.9.0.1" + number, IBV_MTU_1024);
  }
}
const std::vector<std::string> three = {"10.9.0.10", "10.9.0.11", "10.9.0.12"};

class GroupsOfRnic : public ::testing::Test {
 protected:
  GroupsOfRnic() {
    add_devices(3);
    open();
  }
  void open() {
    a.emplace("rnic0", three[0], three);
    b.emplace("rnic1", three[1], three);
    c.emplace("rnic2", three[2], three);
  }
  template <class Done>
  bool turn_until(const Done& is_done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!is_done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      for (auto* each : {&a, &b, &c}) (*each)->turn();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
  }
  /// Until a and b know each other's way and number.
  void meet() {
    ASSERT_TRUE(turn_until([&] { return a->say(1, "hello"), !b->got.empty(); }));
    ASSERT_TRUE(turn_until([&] { return b->say(0, "hello"), !a->got.empty(); }));
  }
  static uint32_t number_of(const std::string& device) {
    return Fabric::the().queues(device, IBV_QPT_UD, true).at(0);
  }

  std::vector<uint8_t> prefix = some_bytes(limits::group_header_bytes, 100);
  std::vector<uint8_t> payload = some_bytes(988);
  std::optional<GroupEnd> a, b, c;
};

TEST_F(GroupsOfRnic, one_packet_reaches_all_but_its_sender) {
  ASSERT_TRUE(a->port->register_memory(payload));
  size_t crossings = 0;
  Fabric::the().set_filter([&](const Crossing& crossing) {
    ++crossings;
    EXPECT_EQ(crossing.to, "239.1.2.3");
    EXPECT_EQ(crossing.target_qp, 0xffffffu);
    EXPECT_EQ(crossing.request.opcode, IBV_WR_SEND_WITH_IMM);
    EXPECT_EQ(crossing.request.num_sge, 2) << "the header, and the payload where it lies";
    return true;
  });
  for (uint64_t cookie = 1; cookie <= 5; ++cookie) {
    ASSERT_TRUE(a->multicast(prefix.data(), payload, cookie));
  }
  std::ranges::fill(prefix, uint8_t{0});  // its owner's again
  ASSERT_TRUE(turn_until([&] { return b->got.size() == 5 && c->got.size() == 5; }));
  EXPECT_EQ(crossings, 5u);
  for (const GroupEnd* end : {&*b, &*c}) {
    for (size_t i = 0; i < 5; ++i) {
      const GroupEnd::Got& each = end->got[i];
      EXPECT_EQ(each.arrival.form, Form::DatagramImmediate);
      EXPECT_EQ(each.arrival.head.target_qp, group::multicast_qp);
      EXPECT_EQ(each.arrival.head.key, control_qkey);
      EXPECT_EQ(each.arrival.head.immediate, i + 1);
      EXPECT_EQ(each.arrival.peer, 0u);
      EXPECT_EQ(each.arrival.bytes, 24 + 32 + 988u);
      EXPECT_EQ(each.prefix, some_bytes(limits::group_header_bytes, 100));
      EXPECT_EQ(each.payload, payload);
      EXPECT_TRUE(each.is_aligned);
    }
  }
  ASSERT_TRUE(turn_until([&] { return a->done.size() == 5; }));
  EXPECT_EQ(a->done, (std::vector<uint64_t>{1, 2, 3, 4, 5})) << "each once";
  EXPECT_TRUE(a->got.empty());
  EXPECT_EQ(a->port->status().rx_own, 5u) << "which the device has brought back";
  EXPECT_EQ(a->port->status().slots_copied, 0u);
}

TEST_F(GroupsOfRnic, of_ipv6_go_to_their_address_as_it_is) {
  const std::vector<std::string> two = {"fd00::a", "fd00::b"};
  Fabric::the().add_device("rnic3", two[0], IBV_MTU_4096);
  Fabric::the().add_device("rnic4", two[1], IBV_MTU_4096);
  GroupEnd d("rnic3", two[0], two, "ff15::7"), e("rnic4", two[1], two, "ff15::7");
  payload.resize(4060);
  ASSERT_TRUE(d.port->register_memory(payload));
  std::string to;
  Fabric::the().set_filter([&](const Crossing& crossing) { return to = crossing.to, true; });
  ASSERT_TRUE(d.multicast(prefix.data(), payload, 1));
  ASSERT_TRUE(turn_until([&] { return d.turn(), e.turn(), e.got.size() == 1 && !d.done.empty(); }));
  EXPECT_EQ(to, "ff15::7");
  EXPECT_EQ(e.got[0].arrival.head.target_qp, group::multicast_qp);
  EXPECT_EQ(e.got[0].arrival.peer, 0u);
  EXPECT_EQ(e.got[0].payload, payload);
  EXPECT_EQ(d.port->status().rx_own, 1u);
}

TEST_F(GroupsOfRnic, a_device_that_keeps_own_multicast_back_is_asked_to) {
  EXPECT_FALSE(a->port->status().keeps_own_multicast_back);
  a.reset();
  Fabric::the().keep_own_back(true);
  a.emplace("rnic0", three[0], three);
  EXPECT_TRUE(a->port->status().keeps_own_multicast_back);
  ASSERT_TRUE(a->multicast(prefix.data(), payload, 1));
  ASSERT_TRUE(turn_until([&] { return b->got.size() == 1 && c->got.size() == 1; }));
  EXPECT_EQ(a->port->status().rx_own, 0u);
}

TEST_F(GroupsOfRnic, slots_from_memory_that_nobody_registered_are_copied_and_a_sentence_says_so) {
  ASSERT_TRUE(a->multicast(prefix.data(), payload, 1));
  ASSERT_TRUE(turn_until([&] { return b->got.size() == 1; }));
  EXPECT_EQ(b->got[0].payload, payload);
  EXPECT_EQ(a->done, std::vector<uint64_t>{1}) << "the caller's again";
  EXPECT_EQ(a->port->status().slots_copied, 1u);
  EXPECT_TRUE(a->port->status().trouble.contains("register_memory() before")) << "and how not";
  EXPECT_EQ(a->free_packets(), 256u);
}

TEST_F(GroupsOfRnic, members_cost_no_queues) {
  std::vector<std::string> many = three;
  for (int i = 0; i < 5000; ++i) {
    many.push_back("10.10." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1));
  }
  const size_t before = Fabric::the().queue_count();
  a.reset();
  a.emplace("rnic0", three[0], many);
  EXPECT_EQ(Fabric::the().queue_count(), before);
  EXPECT_EQ(a->port->facts().peers, 5003);
  ASSERT_TRUE(turn_until([&] { return a->say(1, "hello"), !b->got.empty(); }));
}

TEST_F(GroupsOfRnic, members_find_each_others_number_and_speak_by_envelopes_and_slots) {
  meet();
  const GroupEnd::Got& first = b->got.front();
  EXPECT_EQ(first.arrival.form, Form::Datagram);
  EXPECT_EQ(first.arrival.head.target_qp, group::qpn_default);
  EXPECT_EQ(first.arrival.peer, 0u);
  EXPECT_EQ(first.arrival.source_qp, number_of("rnic0"));
  const std::string text(900, 'x');
  b->got.clear();
  ASSERT_TRUE(a->say(1, text));
  const uint32_t number = b->port->control_queue(group::qpn_default);
  EXPECT_EQ(number, number_of("rnic1"));
  ASSERT_TRUE(a->send(GroupEnd::slot(1, number, prefix.data(), payload, 9)));
  ASSERT_TRUE(turn_until([&] { return b->got.size() == 2; }));
  EXPECT_EQ(std::string(b->got[0].payload.begin(), b->got[0].payload.end()), text)
      << "all of it in a row";
  EXPECT_EQ(b->got[1].arrival.head.target_qp, group::qpn_default) << "no multicast";
  EXPECT_EQ(b->got[1].prefix, prefix);
  EXPECT_TRUE(c->got.empty());
  EXPECT_EQ(a->port->status().rx_own, 0u);
}

TEST_F(GroupsOfRnic, what_is_short_strange_or_from_nobody_harms_nobody) {
  Crossing packet;
  Fabric::the().set_filter([&](const Crossing& crossing) { return packet = crossing, false; });
  ASSERT_TRUE(a->multicast(prefix.data(), payload, 1));
  for (const size_t bytes : {size_t{0}, size_t{31}, size_t{32}}) {
    packet.payload.resize(bytes);
    Fabric::the().deliver(packet);
  }
  ASSERT_TRUE(turn_until([&] { return b->got.size() == 3; }));
  EXPECT_EQ(b->got[0].arrival.prefix, nullptr);
  EXPECT_EQ(b->got[1].arrival.prefix, nullptr);
  EXPECT_EQ(b->got[1].payload.size(), 31u);
  EXPECT_EQ(b->got[2].prefix.size(), 32u);
  EXPECT_EQ(b->got[2].payload.size(), 0u);
  packet.from = "10.66.6.6";
  Fabric::the().deliver(packet);
  packet.from = three[1];  // who says to be us, and has another queue
  packet.source_qp = 99;
  Fabric::the().deliver(packet);
  ASSERT_TRUE(turn_until([&] { return b->got.size() == 4; }));
  EXPECT_EQ(b->port->status().rx_unknown, 1u);
  EXPECT_EQ(b->port->counters().rx_malformed, 1u);
}

TEST_F(GroupsOfRnic, a_pair_that_breaks_is_mended_and_hears_its_groups_again) {
  ASSERT_TRUE(a->port->register_memory(payload));
  ASSERT_TRUE(Fabric::the().stall_queue("rnic0", number_of("rnic0")));
  for (uint64_t cookie = 1; cookie <= 3; ++cookie) {
    ASSERT_TRUE(a->multicast(prefix.data(), payload, cookie));
  }
  ASSERT_TRUE(Fabric::the().break_queue("rnic1", number_of("rnic1")));
  const auto mended = [](const GroupEnd& end) { return end.port->status().queues_mended; };
  ASSERT_TRUE(turn_until([&] { return mended(*a) == 1 && mended(*b) == 1 && a->done.size() == 3; }))
      << "what stands still for a second, too";
  EXPECT_EQ(Fabric::the().attachments(), 3u);
  for (uint64_t cookie = 11; cookie <= 700; ++cookie) {
    ASSERT_TRUE(turn_until([&] { return a->multicast(prefix.data(), payload, cookie); }));
    if (cookie % 32 != 0) continue;
    ASSERT_TRUE(turn_until([&] { return b->got.size() == cookie - 10; }));
  }
  ASSERT_TRUE(turn_until([&] { return b->got.size() == 690 && a->done.size() == 693; }))
      << "all its buffers take turns";
}

TEST_F(GroupsOfRnic, a_datagram_longer_than_any_buffer_harms_nobody_for_long) {
  Crossing giant;
  Fabric::the().set_filter([&](const Crossing& crossing) { return giant = crossing, true; });
  ASSERT_TRUE(a->multicast(prefix.data(), payload, 1));
  giant.payload.resize(20'000);
  Fabric::the().deliver(giant);
  ASSERT_TRUE(turn_until([&] { return b->port->status().queues_mended == 1; }));
  b->got.clear();
  ASSERT_TRUE(turn_until(
      [&] { return a->multicast(prefix.data(), payload, 2) && (b->turn(), !b->got.empty()); }));
}

TEST_F(GroupsOfRnic, more_than_a_member_looks_at_is_lost_and_counted) {
  ASSERT_TRUE(a->port->register_memory(payload));
  for (uint64_t cookie = 1; cookie <= 200; ++cookie) {
    ASSERT_TRUE(a->multicast(prefix.data(), payload, cookie));
    a->turn();
    c->turn();
  }
  EXPECT_EQ(Fabric::the().dropped(), 0u) << "c has them all";
  ASSERT_TRUE(turn_until([&] { return c->got.size() == 200 && b->got.size() == 128; }));
  EXPECT_EQ(b->port->status().rx_starved, 1u);
  EXPECT_EQ(c->port->status().rx_starved, 0u);
  ASSERT_TRUE(a->multicast(prefix.data(), payload, 201));
  ASSERT_TRUE(turn_until([&] { return b->got.size() == 129; })) << "and goes on";
}

TEST_F(GroupsOfRnic, an_address_that_goes_and_comes_costs_no_restart) {
  Fabric::the().remove_address(three[0]);
  ASSERT_TRUE(turn_until([&] { return !a->port->status().has_address; }));
  (void)a->multicast(prefix.data(), payload, 1);
  Fabric::the().restore_address(three[0]);
  ASSERT_TRUE(turn_until([&] {
    b->got.clear();
    return a->multicast(prefix.data(), payload, 2) && (b->turn(), !b->got.empty());
  }));
  EXPECT_EQ(Fabric::the().attachments(), 3u);
}

TEST_F(GroupsOfRnic, nothing_is_attached_in_the_end) {
  EXPECT_EQ(Fabric::the().attachments(), 3u);
  for (auto* each : {&a, &b, &c}) each->reset();
  EXPECT_EQ(Fabric::the().attachments(), 0u);
  EXPECT_EQ(Fabric::the().queue_count(), 0u);
  EXPECT_EQ(Fabric::the().registrations(), 0u);
  open();
}

TEST(GroupsOfRnicOptions, name_what_is_lacking) {
  add_devices(1);
  const auto sentence = [](const auto& change) {
    VerbsPortOptions options;
    options.device = "rnic0";
    options.address = three[0];
    options.groups = {.members = three, .addresses = {"239.1.2.3"}, .slot_bytes = 988};
    change(options);
    const auto made = VerbsPort::make(options);
    return made ? std::string() : made.error().sentence;
  };
  const auto nothing = [](auto&) {};
  EXPECT_EQ(sentence(nothing), "");
  EXPECT_EQ(sentence([](auto& it) { it.groups.members[1] = "b"; }),
            "the address of a member is \"b\" and must be an IPv4 or IPv6 address");
  EXPECT_EQ(sentence([](auto& it) { it.groups.addresses[0] = "10.9.0.7"; }),
            "the address of a group is 10.9.0.7 and must be a multicast address, as 239.0.0.1 or "
            "ff15::1");
  EXPECT_EQ(sentence([](auto& it) { it.groups.addresses[0] = "ff15::7"; }),
            "the address of a group is ff15::7 and must be of one family with 10.9.0.10");
  EXPECT_EQ(sentence([](auto& it) { it.groups.slot_bytes = 992; }),
            "slots of 992 bytes are longer than 988, which is what device \"rnic0\" carries at a "
            "path MTU of 1024: raise the MTU of its interface, or have shorter slots");
  Fabric::the().limit_groups(1);
  EXPECT_EQ(sentence([](auto& it) { it.groups.addresses.push_back("239.1.2.4"); }),
            "device \"rnic0\" has room for this many groups: 1; here are 2");
  Fabric::the().limit_groups(0);
  EXPECT_EQ(sentence(nothing), "device \"rnic0\" knows no multicast");
  Fabric::the().limit_groups(8);
  Fabric::the().refuse_attachments(true);
  EXPECT_EQ(
      sentence(nothing),
      "device \"rnic0\" takes no queue pair into group 239.1.2.3 (Cannot allocate memory): it "
      "has room for 8 groups, and for 56 queue pairs in each");
}

// ---- a whole group ----

/// A member with all that is above its port.
struct Member {
  Member(uint16_t rank, Prng& prng)
      : end("rnic" + std::to_string(rank), three[rank], three),
        whole(*end.port, options_of(rank, prng)),
        group(whole.group()) {}

  static group::GroupEndOptions options_of(uint16_t rank, Prng& prng) {
    static constexpr uint8_t key[] = "all know it";
    group::GroupEndOptions options;
    options.rank = rank;
    options.peers = {0, 1, 2};
    options.key = key;
    options.random = RandomSource::of(prng);
    options.rate = Rate::from_mbps(400);
    options.payload_bytes = 988;
    options.bytes_max = 1 << 20;
    options.rtt = Duration::from_ms(1);
    options.reorder = Duration::from_us(200);
    options.horizon = Duration::from_us(50);
    options.lag = {};
    options.overhead_bytes = 0;
    return options;
  }

  GroupEnd end;
  group::GroupEnd whole;
  group::Group& group;
};

class WholeGroup : public ::testing::Test {
 protected:
  WholeGroup() {
    add_devices(3);
    for (uint16_t rank = 0; rank < 3; ++rank) {
      members_.push_back(std::make_unique<Member>(rank, prng_));
      memory_.emplace_back(3 * part_bytes);
    }
  }
  template <class Done>
  bool turn_until(const Done& is_done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!is_done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      bool has_worked = false;
      for (const auto& each : members_) has_worked |= each->whole.turn(clock_.read());
      if (!has_worked) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
  }
  template <class Ask>
  bool all(const Ask& ask) {
    return std::ranges::all_of(members_, [&](const auto& each) { return ask(*each); });
  }
  /// Returns how many slots were fetched at all members.
  size_t expect_gathered() {
    std::vector<uint8_t> right;
    for (uint16_t rank = 0; rank < 3; ++rank) {
      const auto part = some_bytes(part_bytes, static_cast<uint8_t>(rank + prng_.next()));
      right.insert(right.end(), part.begin(), part.end());
    }
    std::optional<group::Step> step;
    for (size_t rank = 0; rank < 3; ++rank) {
      const size_t at = rank * part_bytes;
      std::ranges::fill(memory_[rank], uint8_t{0});
      std::copy_n(right.begin() + static_cast<ptrdiff_t>(at), part_bytes,
                  memory_[rank].begin() + static_cast<ptrdiff_t>(at));
      EXPECT_TRUE(members_[rank]->end.port->register_memory(memory_[rank]));
      const auto posted = members_[rank]->group.post({.operation = group::Operation::Allgather,
                                                      .bytes = part_bytes,
                                                      .memory = memory_[rank].data()},
                                                     clock_.read());
      EXPECT_TRUE(posted.has_value());
      if (posted) step = *posted;
    }
    EXPECT_TRUE(turn_until([&] {
      return all([&](Member& each) { return each.group.stage(*step) >= group::Stage::Done; });
    }));
    size_t fetched = 0;
    for (size_t rank = 0; rank < 3; ++rank) {
      const group::OperationView view = members_[rank]->group.view(*step);
      EXPECT_EQ(view.stage, group::Stage::Done) << view.failure;
      EXPECT_EQ(memory_[rank], right) << rank;
      EXPECT_EQ(members_[rank]->end.port->status().slots_copied, 0u);
      fetched += view.fetched;
    }
    EXPECT_TRUE(turn_until(
        [&] { return all([&](Member& each) { return each.group.try_release(*step); }); }));
    for (size_t rank = 0; rank < 3; ++rank) members_[rank]->end.port->forget_memory(memory_[rank]);
    return fetched;
  }

  static constexpr size_t part_bytes = 100'000;
  Prng prng_{20};
  MonotonicClock clock_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::vector<uint8_t>> memory_;
};

TEST_F(WholeGroup, has_every_byte_of_all_also_where_packets_are_lost) {
  ASSERT_TRUE(turn_until([&] { return all([](Member& each) { return each.group.is_up(); }); }));
  (void)expect_gathered();
  Prng chance(7);
  Fabric::the().set_filter([&](const Crossing&) { return !chance.chance(0.05); });
  size_t fetched = 0;
  for (int round = 0; round < 3; ++round) fetched += expect_gathered();
  EXPECT_GT(fetched, 0u);
  for (const auto& each : members_) {
    EXPECT_EQ(each->whole.drops().read_any_thread(DropReason::group_own), 0u)
        << "the port has them";
    EXPECT_GT(each->end.port->status().rx_own, 0u);
  }
}

}  // namespace
}  // namespace cw::stand_in
