// What is asked of policies that code: a message is complete when it is whole, a fallback keeps
// what there is, and what is coded has a shape that can be coded.
#include <set>

#include "dataplane/base/prng.h"
#include "tests/conformance/checks.h"
#include "tests/unit/policies/scripted_host.h"

namespace cw::conformance {
namespace {
using namespace literals;
using policy_test::Host;
using policy_test::Line;
using policy_test::Transmission;

constexpr uint32_t slots_max = 4096;
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
