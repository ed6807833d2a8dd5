// A pair of sites whose one stream is appended slot by slot.
#pragma once

#include <memory>
#include <numeric>

#include "dataplane/base/prng.h"
#include "tests/sim/sdr/pair.h"
#include "tests/sim/sdr/slots.h"

namespace cw::sim {

inline PairOptions slots_pair(const cw_policy_ops* policy = cw_policy_selective_repeat()) {
  SiteOptions site;
  site.policy = policy;
  site.stream.messages = 4;
  site.stream.data_slots_max = 64;
  site.send.slot_by_slot = true;
  return {.a = site, .b = site};
}

struct SlotsWorld {
  explicit SlotsWorld(const PairOptions& options, WireScript of_a = {}, WireScript of_b = {})
      : a_script(std::move(of_a)),
        b_script(std::move(of_b)),
        pair(options, a_script, b_script),
        source(options.a.stream),
        sink(std::make_unique<SlotSink>(*pair.b)) {
    pair.courier().stop();
    pair.courier().post_nothing();
  }
  bool comes_up() {
    const bool is_up = pair.run_until([&] { return pair.are_up(); }, Duration::from_s(3));
    pair.run_for(Duration::from_ms(100));  // the first clear-to-send
    return is_up;
  }

  sdr::Source sends() { return pair.a->sends(); }
  Instant now() { return pair.network().now(); }
  bool append(uint16_t bytes, uint8_t ecn = 0, uint8_t dscp = 0) {
    return source.append(sends(), bytes, now(), ecn, dscp);
  }
  /// Appends `count` slots of sizes that `prng` likes, as places come free, a few at a time.
  bool appends(uint32_t count, Prng& prng, Duration time) {
    const Instant end = now() + time;
    const uint32_t goal = source.appended() + count;
    const uint32_t payload = sends().config().payload_bytes;
    while (source.appended() < goal && now() < end) {
      for (uint64_t burst = prng.below(8); burst > 0 && source.appended() < goal; --burst) {
        const bool is_full = prng.below(2) == 0;
        const auto bytes = is_full ? payload : sizeof(SlotLabel) + prng.below(payload - 8);
        if (!append(static_cast<uint16_t>(bytes))) break;
      }
      if (prng.below(20) == 0) source.close(sends());
      pair.run_for(Duration::from_us(200));
    }
    return source.appended() == goal;
  }
  bool all_arrive(Duration time) {
    source.close(sends());
    return pair.run_until(
        [&] { return sink->arrived_count() == source.appended() && sends().is_idle(); }, time);
  }
  uint64_t count_at_a(Counter counter) { return pair.a->counters().read_any_thread(counter); }

  WireScript a_script, b_script;  // the pair's ports look them up
  Pair pair;
  SlotSource source;
  std::unique_ptr<SlotSink> sink;
};

}  // namespace cw::sim
