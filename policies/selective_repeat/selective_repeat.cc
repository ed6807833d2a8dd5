// selective_repeat: resends what was lost, and only that.
//
// Idea. The sink writes down which slots it has; the source resends those that it lacks. Two ways
// of finding a loss:
//
//   rto    The source alone. Every departed slot has one timeout, RTO = RTT + alpha x RTT. A slot
//          that is lost k times comes k x RTO late (papers: "SR3" at alpha = 2).
//   nack   The sink sees a hole below something that left later. Once the hole is older than the
//          reorder budget it asks; the answer takes one RTT. A slot lost k times comes k x RTT late
//          ("SR1"). The timeouts of `rto` run as well, for whatever asking cannot find.
//
// The shape is the same at both ends: things wait in the order in which they happened, and each
// kind waits equally long, so every kind is one FIFO of ranges and one deadline
// (parts/range_fifo.h).
//
//   source   departed  --RTO-->          resend what is neither acknowledged nor on its way, once
//                                        something that left later has arrived
//            fresh     --7/8 RTT min-->  a first transmission may now be known to be lost
//            resent    --RTT + margin--> likewise a resend: nothing is resent twice within an RTT
//            wanted    --at once-->      what a note asked for
//   sink     suspected --budget-->       holes still there are losses: ask, and wait in
//            asked     --RTT + margin--> still there: the resend was lost too, ask again
//            tails     --budget + RTT/16 of silence--> a closed message has lost its last slots
//
// Notes (parts/note.h) are cumulative and carry windows of the bitmap; they go out every ack
// interval while something comes in, at once when a message completes or a hole is to be asked for,
// and name a complete message three times. A message with holes is reported at every interval until
// they are filled, so a lost note costs one interval.
//
// Silence. A timeout alone is no proof of a loss: a far end that stood still answers late. When the
// youngest slot is overdue and nothing that left later than the oldest has arrived, sixteen slots
// ask, and as long as nothing at all is heard with a doubling wait (up to 64 x RTO); everything
// else stays where it is. The back-off persists until something sent for the first time after it is
// acknowledged (Karn).
//
// States of a message. Source: open -> closed -> over (acknowledged or given up). Sink: open ->
// over. Memory: 64 page places per message in the core's record, pages from one pool
// (parts/slot_marks.h); a dry pool costs duplicates, never data.
//
// Parameters and the arithmetic of the defaults:
//   detect = nack          one RTT per loss instead of three.
//   alpha = 2              RTT + ack interval (RTT/4) + three lost notes + a queue of one RTT.
//   ack_interval = RTT/4   four notes per RTT: at 25 ms and 100 Gbit/s, 76,000 slots in flight and
//                          a loss of 1e-2 make 4 x 5.5 KB per RTT, 7 Mbit/s back for 100 Gbit/s.
//   reorder_budget         what the link measures per path, the largest of them, plus the skew
//                          between paths: a hole does not tell on which path its slot went.
//   note_bytes = 1024      the most the core sends.
//
// Weaknesses. Every loss costs an RTT at the least: where loss times message size is above one
// slot, coding is faster (issue of the coding policies). One sink per stream. With several paths
// the budget is that of the slowest. A message whose acknowledgements are all lost is resent in
// part until the core's clear-to-send says that it is retired.
#include "policies/parts/repeat/repeat_limits.h"
#include "policies/parts/repeat/repeat_sink.h"
#include "policies/parts/repeat/repeat_source.h"
#include "policies/selective_repeat/settings.h"

namespace cw::policy::selective_repeat {
namespace {

struct Source final : RepeatSource {
  explicit Source(const cw_env& env) : RepeatSource(env, settings_of(env)) {}
};
struct Sink final : RepeatSink {
  explicit Sink(const cw_env& env) : RepeatSink(env, settings_of(env)) {}
};

struct SelectiveRepeat {
  using Source = selective_repeat::Source;
  using Sink = selective_repeat::Sink;
  static constexpr const char* name = "selective_repeat";
  static constexpr const char* version = "1.0";
  static constexpr const char* summary =
      "Resends exactly what was lost, found by timeout or by the receiver.";
  static constexpr const auto& params = selective_repeat::params;
  static constexpr uint32_t wire_version = note_layout::version;
  static constexpr uint32_t message_state_bytes =
      std::max(sizeof(SourceMessage), sizeof(SinkMessage));

  static const char* refusal(const cw_env& env) {
    if (env.note_bytes_max < note_layout::bytes_min) return "notes of 31 bytes must be allowed";
    return nullptr;
  }

  static void limits(const cw_env& env, const cw_fact_link& link, cw_policy_limits& limits) {
    limits = repeat_limits(settings_of(env), env, link);
  }
};

static_assert(note_layout::bytes_min == 31);

}  // namespace
}  // namespace cw::policy::selective_repeat

CW_POLICY(cw::policy::selective_repeat::SelectiveRepeat)
