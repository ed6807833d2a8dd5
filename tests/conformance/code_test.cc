// What is asked of policies that code: a message is complete when it is whole, a fallback keeps
// what there is, and what is coded has a shape that can be coded.
#include <set>

#include "dataplane/base/prng.h"
#include "tests/conformance/checks.h"
#include "tests/conformance/story.h"
#include "tests/unit/policies/scripted_host.h"

namespace cw::conformance {
namespace {
using namespace literals;
using policy_test::Host;
using policy_test::Line;
using policy_test::Transmission;

constexpr uint32_t message_slots = 700;

/// Of a slot on its first way.
Line losing(double share, uint64_t seed) {
  Line line{.reorder = 100_us};
  line.is_lost = [=](const Transmission& t) {
    Prng prng(seed * 1'000'003 + t.slot * 1'009 + t.message);
    return t.attempt == 0 && prng.chance(share);
  };
  return line;
}

bool codes(const Candidate& candidate) {
  Host host(*candidate.ops, candidate.traits.params);
  return host.has_blocks();
}

/// Messages in pieces, and blocks closed by their age now and then.
void send_in_pieces(Host& host, uint64_t seed) {
  Prng prng(seed);
  for (uint32_t message = 0; message < 4; ++message) host.open(message);
  for (uint32_t sent = 0; sent < message_slots; sent += 20) {
    for (uint32_t message = 0; message < 4; ++message) {
      host.append(message, sent, 20);
      if (prng.chance(0.3)) host.close_block(message);
    }
    host.run(host.now() + 200_us);
  }
  for (uint32_t message = 0; message < 4; ++message) host.close(message, message_slots);
  host.run();
}

}  // namespace

Verdict check_complete(const Candidate& candidate, const Scale& run) {
  if (!codes(candidate)) return std::nullopt;
  for (uint64_t seed = 1; seed <= 5 * run.seeds; ++seed) {
    Host host(*candidate.ops, candidate.traits.params, losing(0.04 * seed, seed));
    for (uint32_t message = 0; message < 4; ++message) host.send(message, message_slots);
    host.run();
    if (host.finished_with_holes == 0) continue;
    return Refusal{Property::CompleteMeansWhole,
                   std::to_string(host.finished_with_holes) +
                       " of 4 messages were called complete with holes"};
  }
  return std::nullopt;
}

Verdict check_kept(const Candidate& candidate, const Scale& run) {
  if (!codes(candidate)) return std::nullopt;
  for (uint64_t seed = 1; seed <= 5 * run.seeds; ++seed) {
    const Line line = losing(0.3, seed);
    Host host(*candidate.ops, candidate.traits.params, line);
    for (uint32_t message = 0; message < 4; ++message) host.send(message, message_slots);
    host.run();
    size_t again = 0;
    for (const Transmission& t : host.resent()) {
      again += !line.is_lost({t.message, t.slot, 0, CW_SEND_DATA, {}});
    }
    if (again == 0) continue;
    return Refusal{Property::WhatArrivedIsKept,
                   std::to_string(again) + " slots were resent that had arrived"};
  }
  return std::nullopt;
}

Verdict check_code_bounds(const Candidate& candidate, const Scale& run) {
  if (!codes(candidate)) return std::nullopt;
  for (uint64_t seed = 1; seed <= run.seeds; ++seed) {
    Host host(*candidate.ops, candidate.traits.params, losing(0.05, seed));
    send_in_pieces(host, seed);
    if (host.codes_out_of_bounds == 0) continue;
    return Refusal{Property::CodesWithinBounds, std::to_string(host.codes_out_of_bounds) +
                                                    " code decisions break the rule for shapes"};
  }
  return std::nullopt;
}

namespace {

/// Over two sites that really code: messages of several blocks, losses of every kind.
std::string rebuilt_by(const Candidate& candidate, const Impairment& wire) {
  Story story(candidate, {.seed = 91,
                          .messages = 60,
                          .bytes_of = [](uint64_t i) { return 60'000 + i * 7919 % 200'000; },
                          .wire = wire});
  story.run_to_end(60_s);
  if (const auto complaint = story.complaint_of_delivery()) return *complaint;
  const auto at_source = [&](Counter counter) {
    return story.source().counters().read_any_thread(counter);
  };
  const uint64_t rebuilt = story.sink().counters().read_any_thread(Counter::slots_rebuilt);
  if (at_source(Counter::repairs_sent) == 0) return "no repair was sent";
  if (rebuilt == 0) return "nothing was rebuilt";
  if (story.quarantines() > 0) return "a policy was quarantined";
  return "";
}

std::vector<Candidate> candidates_that_code() {
  std::vector<Candidate> all = candidates();
  std::erase_if(all, [](const Candidate& candidate) { return !candidate.traits.codes; });
  return all;
}

class EveryCodingPolicy : public EveryPolicy {};
INSTANTIATE_TEST_SUITE_P(Conformance, EveryCodingPolicy, testing::ValuesIn(candidates_that_code()),
                         [](const auto& candidate) { return candidate.param.name; });

TEST_P(EveryCodingPolicy, rebuilds_over_two_sites_what_is_lost_between_them) {
  Impairment bursts{.delay = 5_ms};
  bursts.gilbert_elliott = GilbertElliott::from_burst(6, 0.02);
  Impairment disorder{.loss = 0.01, .duplicate = 0.02, .delay = 5_ms};
  disorder.jitter_max = 1_ms;
  disorder.jitter_reorders = true;
  EXPECT_EQ(rebuilt_by(GetParam(), {.loss = 0.02, .delay = 5_ms}), "");
  EXPECT_EQ(rebuilt_by(GetParam(), bursts), "");
  EXPECT_EQ(rebuilt_by(GetParam(), disorder), "");
}

}  // namespace

TEST_P(EveryPolicy, calls_nothing_complete_that_has_holes) {
  EXPECT_TRUE(accepts(check_complete(GetParam(), scale)));
}

TEST_P(EveryPolicy, keeps_what_arrived_when_a_code_is_not_enough) {
  EXPECT_TRUE(accepts(check_kept(GetParam(), scale)));
}

TEST_P(EveryPolicy, codes_within_the_bounds_of_its_stream) {
  EXPECT_TRUE(accepts(check_code_bounds(GetParam(), scale)));
}

}  // namespace cw::conformance
