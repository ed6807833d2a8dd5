// Two sites with the scribe in every seat, for tests of what crosses the policy door.
#pragma once

#include <gtest/gtest.h>

#include <deque>

#include "dataplane/sdr/stream/send/send_stream.h"
#include "offload/codec/codecs.h"
#include "tests/sim/sdr/pair.h"
#include "tests/sim/sdr/scribe.h"

namespace cw::sim::fields {
using namespace literals;

inline constexpr uint32_t payload = 1024;

inline SiteOptions site(uint16_t paths = 1) {
  SiteOptions site;
  site.policy = scribe_policy();
  site.paths = paths;
  site.stream.data_slots_max = 64;
  site.stream.messages = 8;
  return site;
}

inline SiteOptions coded_site() {
  SiteOptions coded = site();
  coded.stream = sdr::coded(coded.stream, {.k = 4, .rows = 2, .m_cap = 4}, code::all());
  return coded;
}

/// Anew, and asking for the blocks that the stream has room for.
inline void begin_scribe(const sdr::StreamConfig& stream) {
  scribe() = {};
  scribe().needs.k = stream.k;
  scribe().needs.rows = stream.rows;
  scribe().needs.m_cap = stream.m_cap;
}

/// Number of the data slot that a packet of this stream carries.
inline uint32_t slot_of(const Packet& packet, const sdr::StreamConfig& stream) {
  SlotWrite slot;
  CW_ASSERT(try_parse_slot_write({packet.data, packet.bytes},
                                 size_t{packet.bytes} + packet.payload_bytes, slot));
  return stream.split.unpack(slot.immediate).slot;
}

/// Two sites that are up, each with the scribe in its seats, and an application of the test's own.
struct World {
  explicit World(const SiteOptions& options = site(), WireScript of_a = {},
                 const Impairment& wire = {.delay = 10_ms})
      : a_script((begin_scribe(options.stream), std::move(of_a))),
        pair({.a = options, .b = options, .wire = wire}, a_script, b_script) {
    pair.courier().stop();
    pair.courier().post_nothing();
    for (int i = 0; i < 4; ++i) {
      receives.emplace_back(options.stream.data_slots_max * payload);
      handles.push_back(*pair.b->receives().try_post(receives.back()));
    }
    EXPECT_TRUE(pair.run_until([&] { return pair.are_up(); }, 3_s));
    pair.run_for(100_ms);  // the first clear-to-send
  }
  sdr::SendHandle open(uint64_t bytes, const sdr::MessageHint& hint = {}) {
    const sdr::SendHandle handle = *pair.a->sends().try_open(hint);
    EXPECT_TRUE(pair.a->sends().append(handle, 0, {memory.data(), bytes}));
    EXPECT_TRUE(pair.a->sends().close(handle));
    return handle;
  }
  sdr::SendHandle send(uint64_t slots, const sdr::MessageHint& hint = {}) {
    const sdr::SendHandle handle = open(slots * payload, hint);
    pair.run_for(50_ms);
    return handle;
  }
  /// Decides at a source: what it decides is told with its next fact, a note here.
  void decide(cw_decision_kind kind, auto fill) {
    fill(scribe().want(CW_SOURCE, kind).u);
    const std::vector<uint8_t> nothing(1);
    pair.a->send_stream().on_note({.bytes = Row<uint8_t>(nothing.data(), 1)}, now());
    pair.run_for(50_ms);
  }
  void decide_send(const cw_send& send) {
    decide(CW_DECIDE_SEND, [&](auto& u) { u.send = send; });
  }
  Instant now() { return pair.network().now(); }
  sdr::MessageStatus status(sdr::SendHandle handle) { return pair.a->sends().status(handle); }
  sdr::RecvInfo received(size_t index = 0) { return pair.b->receives().info(handles[index]); }
  uint64_t count_at_a(Counter counter) { return pair.a->counters().read_any_thread(counter); }

  WireScript a_script, b_script;  // the pair's ports look them up
  Pair pair;
  std::vector<uint8_t> memory = std::vector<uint8_t>(128 * payload, 7);
  std::deque<std::vector<uint8_t>> receives;
  std::vector<sdr::RecvHandle> handles;
};

/// Which path took the slot of the first message last, as its source was told.
inline uint16_t last_path_of(uint32_t slot) {
  uint16_t path = UINT16_MAX;
  for (const cw_fact_sent& sent : scribe().source().sent) {
    const uint32_t distance = slot - sent.first;
    const bool is_in = slot >= sent.first && distance % sent.stride == 0;
    if (is_in && distance / sent.stride < sent.count) path = sent.path;
  }
  return path;
}

}  // namespace cw::sim::fields
