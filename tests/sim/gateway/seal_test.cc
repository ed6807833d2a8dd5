// Sites with keys of their own: what crosses is sealed, whatever befalls it, and whoever sits on
// the line can take packets away and nothing else.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/pass/pass.h"
#include "dataplane/wire/control/envelope.h"
#include "dataplane/wire/roce.h"
#include "tests/sim/gateway/seal_watch.h"
#include "tests/sim/gateway/sites.h"

namespace cw::sim {
namespace {

using gateway::PacketKind;
using namespace literals;

constexpr Duration one_way = 10_ms;

SiteText sealed_text(const std::string& pair = "") {
  SiteText text;
  text.is_sealed = true;
  text.pair = pair;
  return text;
}

/// Of both sites, towards each other, from now on.
void add_flows(Sites& sites, uint64_t packets, uint16_t number = 1) {
  for (const int from : {1, 2}) {
    FlowOptions flow;
    flow.kind = PacketKind::Udp;
    flow.number = number;
    flow.rate = Rate::from_mbps(40);
    flow.packets = packets;
    flow.begin = sites.now();
    flow.from = static_cast<uint8_t>(from);
    flow.to = static_cast<uint8_t>(3 - from);
    sites.host(from).add_flow(flow);
  }
}

void expect_all(Sites& sites, uint64_t packets, uint16_t number = 1) {
  for (const int site : {1, 2}) {
    const FlowReport& report = sites.host(site).report(number);
    EXPECT_EQ(report.received, packets) << site;
    EXPECT_EQ(report.wrong + report.doubled, 0u) << site;
    EXPECT_EQ(sites.host(site).foreign_count(), 0u) << site;
  }
}

TEST(SealedSites, lose_nothing_and_use_no_number_twice) {
  for (const char* policy : {"selective_repeat", "hybrid", "erasure"}) {
    SCOPED_TRACE(policy);
    SealWatch seals;
    SiteText text = sealed_text();
    text.classes = "[[class]]\nname = \"all\"\npolicy = \"" + std::string(policy) + "\"\n";
    Sites sites({.seed = 5,
                 .files = site_files(2, text),
                 .wan = {.loss = 0.005, .delay = one_way},
                 .tap = &seals,
                 .keys = &seals});
    ASSERT_TRUE(sites.come_up());
    add_flows(sites, 4000);
    sites.run_for(2_s);
    expect_all(sites, 4000);
    EXPECT_EQ(seals.complaint(), "");
    EXPECT_GT(seals.sealed_count(), 8000u);
  }
}

/// From the beginning of a gateway's life to the first packet that has crossed from its hosts.
Duration time_to_traffic(const SiteText& text) {
  Sites sites({.seed = 6, .files = site_files(2, text), .wan = {.delay = 50_ms}});
  EXPECT_TRUE(sites.come_up());
  sites.run_for(1_s);
  sites.restart(2);
  const Instant begun = sites.now();
  FlowOptions flow;
  flow.packets = 1000;
  flow.begin = begun;
  flow.from = 2;
  flow.to = 1;
  sites.host(2).add_flow(flow);
  EXPECT_TRUE(sites.run_until([&] { return sites.host(1).report(1).received > 0; }, begun + 2_s));
  return sites.now() - begun;
}

/// The handshake takes a round trip, and what it proves saves the link one.
TEST(SealedSites, that_begin_anew_have_traffic_as_soon_as_others) {
  const Duration plain = time_to_traffic({}), sealed = time_to_traffic(sealed_text());
  constexpr Duration round_trip = 100_ms;
  EXPECT_LE(sealed, plain + 5_ms) << sealed.ms() << " ms, and " << plain.ms() << " in the clear";
  EXPECT_LE(sealed, round_trip * 7 / 2 + 10_ms) << "three, and half of one until it is there";
}

/// How long packets are, by their opcode, once sites have keys.
struct Lengths final : WanTap {
  void on_sent(const WanEnd&, const Packet& packet, Instant) override {
    Arrival arrival;
    pass::read(packet, arrival);
    const std::span payload(arrival.payload, arrival.head.payload_bytes);
    if (seal::MessageCheck::is_handshake(payload)) return;
    of[arrival.form].insert(packet.bytes);
  }
  void on_received(const WanEnd&, const Packet&, Instant) override {}
  std::map<Form, std::set<uint32_t>> of;
};

TEST(SealedSites, that_pad_show_no_length_but_those_of_what_asks_for_long_packets) {
  for (const bool pads : {false, true}) {
    Lengths lengths;
    Sites sites({.seed = 9,
                 .files = site_files(2, sealed_text(pads ? "pad = true\n" : "")),
                 .wan = {.loss = 0.005, .delay = one_way},
                 .tap = &lengths});
    ASSERT_TRUE(sites.come_up());
    add_flows(sites, 2000);
    FlowOptions others;
    others.kind = PacketKind::Udp;
    others.number = 2;
    others.bytes = 300;
    others.begin = sites.now();
    sites.host(1).add_flow(others);
    sites.run_for(2_s);
    expect_all(sites, 2000);
    EXPECT_EQ(lengths.of[Form::Write].size() == 1, pads);
    EXPECT_EQ(lengths.of[Form::Datagram].size() <= 2, pads);
  }
}

TEST(SealedSites, of_two_shards_with_three_links_use_no_number_twice) {
  SealWatch seals;
  SiteText text = sealed_text("links = 3\n");
  text.site += "cores = [0, 0]\n";
  Sites sites({.seed = 7,
               .files = site_files(3, text),
               .wan = {.loss = 0.005, .delay = one_way},
               .tap = &seals,
               .keys = &seals});
  ASSERT_TRUE(sites.come_up());
  add_flows(sites, 2000, 1);
  add_flows(sites, 2000, 2);
  sites.run_for(2_s);
  expect_all(sites, 2000, 1);
  expect_all(sites, 2000, 2);
  EXPECT_EQ(seals.complaint(), "");
}

TEST(SealedSites, renew_their_keys_while_traffic_flows_and_lose_nothing) {
  SealWatch seals;
  SiteText text = sealed_text();
  text.rate = "5 Mbit/s";
  Sites sites({.seed = 8,
               .files = site_files(2, text),
               .wan = {.loss = 0.01, .delay = one_way},
               .tap = &seals,
               .keys = &seals});
  ASSERT_TRUE(sites.come_up());
  FlowOptions flow;
  flow.rate = Rate::from_mbps(1);
  flow.packets = 40'000;  // 320 s
  flow.begin = sites.now();
  sites.host(1).add_flow(flow);
  sites.run_for(325_s);
  EXPECT_EQ(sites.host(2).report(1).received, 40'000u);
  EXPECT_EQ(sites.state(2).drops[DropReason::seal_key], 0u);
  EXPECT_EQ(sites.state(2).drops[DropReason::seal_forged], 0u);
  EXPECT_GE(seals.session_count(), 6u) << "of either end";
  EXPECT_EQ(seals.complaint(), "");
}

TEST(SealedSites, that_begin_anew_again_and_again_use_no_number_twice) {
  SealWatch seals;
  Sites sites({.seed = 9,
               .files = site_files(2, sealed_text()),
               .wan = {.loss = 0.005, .delay = one_way},
               .tap = &seals,
               .keys = &seals});
  ASSERT_TRUE(sites.come_up());
  for (uint16_t i = 1; i <= 12; ++i) {
    sites.restart(i % 3 == 0 ? 1 : 2);
    ASSERT_TRUE(sites.come_up(20_s)) << i;
    add_flows(sites, 100, i);
    sites.run_for(500_ms);
    expect_all(sites, 100, i);
  }
  EXPECT_EQ(seals.complaint(), "");
}

TEST(SealedSites, one_of_which_stood_still_for_50_ms_or_half_a_minute_go_on) {
  Sites sites({.seed = 10, .files = site_files(2, sealed_text()), .wan = {.delay = one_way}});
  ASSERT_TRUE(sites.come_up());
  add_flows(sites, 3000, 1);
  sites.run_for(100_ms);
  sites.pause(2, 50_ms);
  sites.run_for(2_s);
  expect_all(sites, 3000, 1);
  sites.pause(2, 30_s);
  sites.run_for(32_s);
  ASSERT_TRUE(sites.come_up(20_s));
  add_flows(sites, 1000, 2);
  sites.run_for(2_s);
  expect_all(sites, 1000, 2);
}

TEST(SealedSites, of_which_one_alone_has_a_key_carry_nothing) {
  SiteText plain;
  Sites sites({.seed = 11,
               .files = {site_files(2, sealed_text())[0], site_files(2, plain)[1]},
               .wan = {.delay = one_way}});
  EXPECT_FALSE(sites.come_up());
  EXPECT_GT(
      sites.state(1).drops[DropReason::seal_key] + sites.state(1).drops[DropReason::seal_forged],
      0u);
}

TEST(SealedSites, drop_what_is_too_short_to_be_sealed) {
  Sites sites({.seed = 12, .files = site_files(2, sealed_text()), .wan = {.delay = one_way}});
  ASSERT_TRUE(sites.come_up());
  Transport datagram;
  datagram.opcode = opcode_ud_send_only;
  datagram.target_qp = control_qpn_default;
  datagram.datagram = DatagramSource{.queue_key = control_qkey, .source_qp = 1};
  const std::array<uint8_t, 8> payload{};
  datagram.payload = payload;
  std::vector<uint8_t> bytes(64);
  bytes.resize(encode_transport_headers(datagram, bytes));
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  sites.inject({2, 1}, 0, bytes);
  sites.run_for(100_ms);
  EXPECT_EQ(sites.state(1).drops[DropReason::seal_short], 1u);
}

/// Sits on the wire from one site to the other: hears all, and says what it likes.
class Attacker final : public WanTap {
 public:
  Attacker(uint64_t seed, SealWatch& seals) : prng_(seed), seals_(seals) {}
  void on_sent(const WanEnd& end, const Packet& packet, Instant now) override {
    seals_.on_sent(end, packet, now);
    if (!is_on_) return;
    heard_.push_back({{end.site, end.other(), packet.path},
                      end.link,
                      std::vector<uint8_t>(packet.data, packet.data + packet.bytes)});
    if (heard_.size() > heard_max) heard_.erase(heard_.begin(), heard_.begin() + heard_max / 2);
  }
  void on_received(const WanEnd&, const Packet&, Instant) override {}
  void set_on(bool is_on) { is_on_ = is_on; }
  size_t heard_count() const { return heard_.size(); }

  /// So many packets: again, to where they came from, cut, spliced of two, changed, or made up.
  void say(Sites& sites, int count) {
    for (int i = 0; i < count && !heard_.empty(); ++i) {
      Heard one = heard_[prng_.below(heard_.size())];
      const Heard& other = heard_[prng_.below(heard_.size())];
      switch (prng_.below(7)) {
        case 0:
          break;
        case 1:
          std::swap(one.route.from, one.route.to);
          break;
        case 2:
          one.bytes.resize(prng_.between(1, one.bytes.size()));
          break;
        case 3:
          splice(one.bytes, other.bytes);
          break;
        case 4:
          one.bytes[prng_.below(one.bytes.size())] ^= static_cast<uint8_t>(1u << prng_.below(8));
          break;
        case 5:
          swap_bodies(one.bytes, other.bytes);
          break;
        default:
          make_up(one.bytes);
      }
      sites.inject(one.route, one.link, one.bytes);
    }
  }

 private:
  struct Heard {
    WanRoute route;
    uint16_t link;
    std::vector<uint8_t> bytes;
  };
  static constexpr size_t heard_max = 4000;

  /// The beginning of one and the end of the other, at multiples of four.
  void splice(std::vector<uint8_t>& one, const std::vector<uint8_t>& other) {
    const size_t at = prng_.below(std::min(one.size(), other.size()) / 4) * 4;
    one.resize(at);
    one.insert(one.end(), other.begin() + static_cast<std::ptrdiff_t>(at), other.end());
  }
  /// The headers of one and what the other has behind them.
  static void swap_bodies(std::vector<uint8_t>& one, const std::vector<uint8_t>& other) {
    if (one.size() != other.size() || one.size() < 32) return;
    std::memcpy(&one[32], &other[32], one.size() - 32);
  }
  /// Headers as they should be, and a body of nobody's.
  void make_up(std::vector<uint8_t>& bytes) {
    for (size_t i = 32; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(prng_.next());
  }

  Prng prng_;
  SealWatch& seals_;
  bool is_on_ = true;
  std::vector<Heard> heard_;
};

TEST(SealedSites, take_nothing_wrong_from_who_sits_on_the_line) {
  for (const uint64_t seed : {21, 22, 23}) {
    SealWatch seals;
    Attacker attacker(seed, seals);
    // ICRCs are whoever's who writes them.
    Sites sites({.seed = seed,
                 .files = site_files(2, sealed_text()),
                 .wan = {.loss = 0.01, .delay = one_way, .reorder = 0.01, .reorder_delay = 5_ms},
                 .icrc = IcrcMode::None,
                 .tap = &attacker,
                 .keys = &seals});
    ASSERT_TRUE(sites.come_up());
    add_flows(sites, 8000, 1);
    for (int i = 0; i < 300; ++i) {
      sites.run_for(10_ms);
      attacker.say(sites, 40);
      if (i % 60 == 30) sites.restart(1 + i / 60 % 2);
    }
    for (const int site : {1, 2}) {
      const FlowReport& report = sites.host(site).report(1);
      EXPECT_GT(report.received, 1000u) << "it gets through";
      EXPECT_EQ(report.wrong + report.doubled, 0u);
      EXPECT_EQ(sites.host(site).foreign_count(), 0u);
    }
    const auto drops = sites.state(2).drops;
    EXPECT_GT(drops[DropReason::seal_forged] + drops[DropReason::seal_key], 100u);
    attacker.set_on(false);
    sites.run_for(3_s);
    ASSERT_TRUE(sites.come_up(20_s));
    add_flows(sites, 1000, 2);
    sites.run_for(2_s);
    expect_all(sites, 1000, 2);
    EXPECT_EQ(seals.complaint(), "");
  }
}

}  // namespace
}  // namespace cw::sim
