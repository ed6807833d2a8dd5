// Gateways under strain lose nothing of their own making: hosts that offer four fifths of what the
// line carries, over loss, jitter, longer routes and gateways that stand still.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <span>
#include <string>

#include "policies/policies.h"
#include "tests/sim/gateway/two_sites.h"

namespace cw::sim {
namespace {
using gateway::PacketKind;

constexpr uint32_t payload_bytes = 1436, frame_bytes = 1400;
constexpr Rate line_rate = Rate::from_mbps(500);
constexpr Duration one_way = Duration::from_ms(10);

struct Strain {
  const char* name = "";
  const cw_policy_ops* (*policy)() = cw_policy_selective_repeat;
  double overhead = 0;  ///< repair slots for each data slot
  double loss = 0;
  Duration jitter{};     ///< uniform, and packets pass each other
  int pausing_site = 0;  ///< stands still for `pause` each `pause_every`
  Duration pause{}, pause_every = Duration::from_s(1);
  double resent_in_vain = 0.001;  ///< of the slots, at most, or a twentieth of the losses
  Duration grows_by{};            ///< of the way there, in mid-stream
  Rate dips_to{};       ///< for half of the time, from the first pause on, with room for a queue
  double given_up = 0;  ///< of the frames, at most
  uint64_t seed = 1;

  friend void PrintTo(const Strain& it, std::ostream* out) { *out << it.name; }
};

Impairment line_of(const Strain& strain) {
  Impairment line{.rate = line_rate, .loss = strain.loss, .delay = one_way};
  line.queue_time = Duration::from_ms(strain.dips_to == Rate() ? 100 : 300);
  line.jitter_max = strain.jitter;
  line.jitter_reorders = true;
  return line;
}

/// Four fifths of what headers and repair leave of the line.
Rate offered_rate(const Strain& strain) {
  constexpr double slot_share = double{frame_bytes} / (frame_bytes + 8);
  constexpr double packet_share = (payload_bytes - 8.0) / (payload_bytes + 32.0);
  return line_rate.scaled(0.8 * slot_share * packet_share / (1 + strain.overhead));
}

struct Outcome {
  uint64_t sent = 0, received = 0, resent = 0, slots = 0, lost_packets = 0, duplicates = 0;
  uint64_t wrong = 0;
  std::string drops;
};

std::string drops_of(const Drops& drops) {
  std::string text;
  for (size_t i = 0; i < drop_reason_count; ++i) {
    const auto reason = static_cast<DropReason>(i);
    const uint64_t count = drops.read_any_thread(reason);
    if (count > 0) text += std::string(name_of(reason)) + " " + std::to_string(count) + ", ";
  }
  return text;
}

Outcome run(const Strain& strain, Duration time) {
  TwoSitesOptions options;
  options.seed = strain.seed;
  options.wan = line_of(strain);
  options.payload_bytes = payload_bytes;
  options.rate = line_rate;
  options.messages = 64;
  options.message_slots = 448;
  options.policy = strain.policy();
  options.burst_bytes = static_cast<uint32_t>(line_rate.bytes_in(Duration::from_ms(2)).count());
  options.pause_bytes = static_cast<uint32_t>(line_rate.bytes_in(Duration::from_ms(10)).count());
  options.adapt = true;
  TwoSites sites(options);
  EXPECT_TRUE(sites.come_up());
  sites.run_for(Duration::from_ms(200));
  FlowOptions flow{.kind = PacketKind::Udp, .bytes = frame_bytes, .rate = offered_rate(strain)};
  flow.begin = sites.now();
  flow.packets = offered_rate(strain).bytes_in(time).count() / frame_bytes;
  sites.host(1).add_flow(flow);
  const Instant end = sites.now() + time;
  const Instant grows_at = sites.now() + time / 2;
  bool has_grown = strain.grows_by == Duration();
  while (sites.now() < end) {
    sites.run_for(strain.pause_every / 2);
    if (strain.pausing_site != 0) sites.pause(strain.pausing_site, strain.pause);
    if (strain.dips_to != Rate()) {
      Impairment line = line_of(strain);
      if (sites.now() < grows_at) line.rate = strain.dips_to;
      sites.set_wan(line);
    }
    if (!has_grown && sites.now() >= grows_at) {
      has_grown = true;
      Impairment line = line_of(strain);
      line.delay += strain.grows_by / 2;
      sites.set_wan(line);
    }
    sites.run_for(strain.pause_every / 2);
  }
  sites.run_for(Duration::from_s(2));
  const FlowReport& report = sites.host(2).report(1);
  Outcome outcome{.sent = sites.host(1).sent_count(), .received = report.received};
  outcome.wrong = report.wrong + report.doubled;
  outcome.resent = sites.gateway(1).counters().read_any_thread(Counter::resends_sent);
  outcome.slots = sites.gateway(1).counters().read_any_thread(Counter::data_sent);
  const auto& wan = sites.network().counters_of(sites.wan_port(1), {sites.far_peer(1), 0});
  outcome.lost_packets = wan.lost_total();
  outcome.duplicates = sites.gateway(2).drops().read_any_thread(DropReason::packet_duplicate);
  outcome.drops = "site 1: " + drops_of(sites.gateway(1).drops()) +
                  "site 2: " + drops_of(sites.gateway(2).drops());
  return outcome;
}

class GatewaysUnderStrain : public testing::TestWithParam<Strain> {};

TEST_P(GatewaysUnderStrain, lose_no_frame_and_resend_little_but_what_was_lost) {
  const bool is_slow_to_run = GetParam().pause_every < Duration::from_ms(100);
  const Outcome outcome = run(GetParam(), Duration::from_s(is_slow_to_run ? 2 : 5));
  std::printf("sent %lu received %lu slots %lu lost %lu resent %lu duplicates %lu; %s\n",
              outcome.sent, outcome.received, outcome.slots, outcome.lost_packets, outcome.resent,
              outcome.duplicates, outcome.drops.c_str());
  EXPECT_LE(outcome.received, outcome.sent);
  EXPECT_GE(static_cast<double>(outcome.received),
            static_cast<double>(outcome.sent) * (1 - GetParam().given_up))
      << outcome.drops;
  EXPECT_EQ(outcome.wrong, 0u);
  const double spare = std::max(static_cast<double>(outcome.lost_packets) / 20,
                                static_cast<double>(outcome.slots) * GetParam().resent_in_vain);
  EXPECT_LE(static_cast<double>(outcome.resent), static_cast<double>(outcome.lost_packets) + spare)
      << outcome.drops;
}

std::vector<Strain> strains() {
  struct Of {
    const char* name;
    const cw_policy_ops* (*policy)();
    double overhead;
  };
  const Of policies[] = {{"selective_repeat", cw_policy_selective_repeat, 0},
                         {"erasure", cw_policy_erasure, 0.25},
                         {"hybrid", cw_policy_hybrid, 0.25}};
  std::vector<Strain> rows;
  static std::vector<std::string> names;
  names.reserve(64);
  for (const Of& of : policies) {
    const auto add = [&](const char* what, Strain strain) {
      names.push_back(std::string(of.name) + "_" + what);
      strain.name = names.back().c_str();
      strain.policy = of.policy;
      strain.overhead = of.overhead;
      strain.seed = rows.size() + 1;
      rows.push_back(strain);
    };
    add("calm", {});
    add("loss", {.loss = 0.01});
    add("jitter", {.loss = 0.001, .jitter = Duration::from_ms(10)});
    add("jitter_of_an_rtt", {.loss = 0.001, .jitter = Duration::from_ms(20)});
    add("sender_pauses", {.pausing_site = 1, .pause = Duration::from_ms(50)});
    add("receiver_pauses", {.pausing_site = 2, .pause = Duration::from_ms(50)});
    add("sender_pauses_with_loss",
        {.loss = 0.01, .pausing_site = 1, .pause = Duration::from_ms(50)});
    add("receiver_pauses_with_loss",
        {.loss = 0.01, .pausing_site = 2, .pause = Duration::from_ms(50)});
    add("receiver_pauses_with_jitter", {.loss = 0.01,
                                        .jitter = Duration::from_ms(10),
                                        .pausing_site = 2,
                                        .pause = Duration::from_ms(50)});
    // As the kernel shares a core with a program that computes, in ticks of 4 ms.
    add("sender_shares_a_core", {.loss = 0.01,
                                 .pausing_site = 1,
                                 .pause = Duration::from_ms(8),
                                 .pause_every = Duration::from_ms(12)});
    add("receiver_shares_a_core", {.loss = 0.01,
                                   .pausing_site = 2,
                                   .pause = Duration::from_ms(8),
                                   .pause_every = Duration::from_ms(12),
                                   .resent_in_vain = 0.008});
    // A queue on the way that could only be drained at the cost of the one here. Frames whose
    // repair crosses it are later than their hold.
    add("line_dips_after_a_pause", {.loss = 0.01,
                                    .pausing_site = 1,
                                    .pause = Duration::from_ms(100),
                                    .dips_to = Rate::from_mbps(415),
                                    .given_up = 0.0001});
    add("route_grows", {.loss = 0.001, .grows_by = Duration::from_ms(40)});
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Every, GatewaysUnderStrain, testing::ValuesIn(strains()),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace

}  // namespace cw::sim
