// Two sites whose one stream is coded, behind a wire that loses what a test names.
#pragma once

#include <functional>
#include <utility>

#include "offload/codec/codecs.h"
#include "tests/sim/sdr/coding_policy.h"
#include "tests/sim/sdr/pair.h"
#include "tests/sim/sdr/story.h"

namespace cw::sim {

inline sdr::StreamConfig coded_stream(const CodingKnobs& knobs, uint32_t data_slots_max) {
  const cw_policy_limits needs{.k = knobs.k, .rows = knobs.rows, .m_cap = knobs.rows * knobs.m};
  sdr::StreamConfig stream;
  stream.messages = 8;
  stream.data_slots_max = data_slots_max;
  return sdr::coded(stream, needs, code::all());
}

inline SiteOptions coding_site(const CodingKnobs& knobs, uint32_t data_slots_max = 128) {
  coding_log().clear();
  SiteOptions site = site_under(coding_policy(), knobs.params());
  site.stream = coded_stream(knobs, data_slots_max);
  return site;
}

inline uint64_t count(Site& site, Counter counter) {
  return site.counters().read_any_thread(counter);
}

/// Which packets of a are lost: told the slot, counted from D for repair.
using Loses = std::function<bool(uint32_t slot, bool is_repair)>;

inline WireScript losing(const sdr::StreamConfig& stream, Loses loses) {
  WireScript script;
  script.data = [stream, loses = std::move(loses)](const Packet& packet) {
    SlotWrite slot;
    CW_ASSERT(try_parse_slot_write({packet.data, packet.bytes},
                                   size_t{packet.bytes} + packet.payload_bytes, slot));
    const uint32_t number = stream.split.unpack(slot.immediate).slot;
    const bool is_repair = number >= stream.data_slots_max;
    const uint32_t cut = is_repair ? stream.data_slots_max : 0;
    return loses(number - cut, is_repair) ? Fate::Lose : Fate::Pass;
  };
  return script;
}

/// Two sites behind a scripted wire, and a program that checks every byte.
struct World {
  World(const SiteOptions& site, const TransferOptions& options, Loses loses = nullptr)
      : a_script(loses ? losing(site.stream, std::move(loses)) : WireScript()),
        pair({.a = site, .b = site, .wire = {.delay = Duration::from_ms(2)}}, a_script, b_script),
        transfer(*pair.a, *pair.b, options) {
    pair.courier().stop();
    pair.courier().post_nothing();
    pair.stage().add(transfer);
    pair.stage().watch(transfer.no_wrong_byte());
    pair.stage().watch(transfer.exactly_once());
  }
  bool is_done_within(Duration time) {
    return pair.run_until([&] { return transfer.is_done(); }, time);
  }
  std::string complaint() { return pair.stage().final_complaint().value_or(""); }
  uint64_t at_a(Counter counter) { return count(*pair.a, counter); }
  uint64_t at_b(Counter counter) { return count(*pair.b, counter); }

  WireScript a_script, b_script;  // the pair's ports look them up
  Pair pair;
  Transfer transfer;
};

}  // namespace cw::sim
