#include "control/model/policy/repeat.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cw::model {
namespace {

struct Event {
  double ms = 0;
  double log_gain = 0;  // of the share that is done
};

}  // namespace

Law repeat_law(const RepeatTimes& it, std::span<const double> whole) {
  const uint64_t rows = std::min(it.slots, it.rows_max);
  const double row_ms = double(it.slots) * it.slot_ms / double(rows);
  const double first_ms = double(it.slots) * it.slot_ms;
  std::vector<Event> events;
  double begin_ms = it.found_ms + it.slot_ms;
  for (size_t tries = 1; tries < whole.size(); ++tries) {
    const double gain = std::log(whole[tries] / whole[tries - 1]) / double(rows);
    // Nothing is done before every slot has left once, whatever has left again by then.
    for (uint64_t row = 1; row <= rows; ++row) {
      events.push_back({std::max(begin_ms + double(row) * row_ms, first_ms), gain});
    }
    begin_ms += it.again_ms + it.slot_ms;
  }
  if (it.is_bound()) std::ranges::sort(events, {}, &Event::ms);
  double log_share = std::log(whole[0]);
  std::vector<LawStep> steps{{first_ms + it.rtt_ms, whole[0]}};
  steps.reserve(events.size() + 1);
  for (const Event& event : events) {
    log_share += event.log_gain;
    steps.push_back({event.ms + it.rtt_ms, std::min(1.0, std::exp(log_share))});
  }
  return Law::of_steps(std::move(steps));
}

Law repeat_law(const RepeatTimes& times, const LossChain& chain) {
  return repeat_law(times, whole_after(chain, times.slots, times.between));
}

}  // namespace cw::model
