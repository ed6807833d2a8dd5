// hybrid: codes for the usual loss, and asks for the rest at once.
//
// Idea. Repair sized for every loss is a tax on every packet; waiting for a fallback is a tax on
// every packet that the code could not save. So few repair slots, and no waiting: the sink knows
// which repair is still on its way, and the moment that a row cannot be solved even if all of it
// arrives, its holes are asked for. What one RTT brings back counts like anything else: the row is
// solved as soon as its slots in place and its repair are k together.
//
//   source   as `erasure`, with a smaller m
//   sink     row has k of k + m                       --> decode
//            hole below something that left later
//                       --reorder budget-->               overdue: not on its way any more
//            repair likewise; and what of a block's data has not come when its repair is overdue
//            holes > repair in place or on its way    --> ask at once, again after an RTT
//            nothing at all comes for RTT/16 longer   --> nothing is on its way; ask
//
// Losses that the path's own numbers tell (the `lost` fact) need no budget.
//
// States: those of `erasure`, without the fallback.
//
// Parameters and the arithmetic of the defaults:
//   k = 32, m = 3       9 % of the line. A row fails with more than 3 of 35 lost: at 1e-3 packet
//                       loss once in 2e7 rows, at 1e-2 once in 2,400.
//   m_max = 8           at 1e-2 m rises to 6 and a row fails less than once in 1e5; a stream that
//                       begins on a bad link learns it within a few RTT.
//   rows = 4            a burst of 12 slots costs no row more than 3.
//   alpha = 2           timeouts of the source: 3 RTT and a block.
//   reorder_budget      what the link measures, plus the skew between paths.
//
// Weaknesses. On a link that reorders more than it has measured, rows are asked for that would
// still have come. A burst longer than m x rows costs an RTT, as with selective_repeat: with m = 3
// that is one of more than 12 slots, and so most long ones (15) of the cloud profiles. m follows
// the share of lost slots, with bursts as clusters; sized for bursts that are rare it would be a
// tax on every packet, which `erasure` is there to pay. Rows are judged one by one; a message of
// many rows meets a bad one sooner.
#include "policies/parts/coding/coding_policy.h"

namespace cw::policy {
namespace {

struct Hybrid : CodingPolicy<Hybrid> {
  static constexpr const char* name = "hybrid";
  static constexpr const char* summary =
      "Codes for the usual loss; what a code cannot rebuild is asked for at once.";

  enum Param { K, M, MMax, Rows, CodecParam, Alpha, AckInterval, ReorderBudget, ParamCount };
  static constexpr cw_param params[ParamCount] = {
      {"k", "", nullptr, "Data slots per row.", CW_PARAM_INT, 0, 32, 1, 239},
      {"m", "", nullptr, "Repair slots per row.", CW_PARAM_INT, 0, 3, 1, 128},
      {"m_max", "", nullptr, "Repair slots per row when more is lost; as many as m: never more.",
       CW_PARAM_INT, 0, 8, 0, 128},
      {"rows", "", nullptr, "Rows per block: a burst of so many slots costs a row one slot.",
       CW_PARAM_INT, 0, 4, 1, 1024},
      {"codec", "", "rs|xor", "What computes repair: rs repairs any m losses, xor one per group.",
       CW_PARAM_CHOICE, 0, 0, 0, 1},
      {"alpha", "", nullptr, "Timeout of a departed slot: RTT + alpha x RTT, and a block.",
       CW_PARAM_REAL, 0, 2, 0.5, 32},
      {"ack_interval", "ns", nullptr,
       "How often the receiver reports open messages; 0 is a quarter of the RTT.",
       CW_PARAM_DURATION, 0, 0, 0, 1e9},
      {"reorder_budget", "ns", nullptr,
       "How late a slot may be on its path and not be lost; -1 is what the link measures.",
       CW_PARAM_DURATION, 0, -1, -1, 1e9},
  };

  static CodingSettings settings_of(const cw_env& env) {
    CodingSettings it{.k = shard_param(env, K),
                      .m = shard_param(env, M),
                      .m_max = shard_param(env, MMax),
                      .rows = static_cast<uint16_t>(env.params[Rows]),
                      .codec = env.params[CodecParam] >= 0.5 ? Codec::Xor : Codec::Rs};
    if (it.codec == Codec::Xor) it.m_max = it.m;  // a longer group is not a stronger one
    it.repeat = {.alpha = env.params[Alpha],
                 .ack_interval = duration_param(env, AckInterval),
                 .reorder_budget = duration_param(env, ReorderBudget),
                 .note_bytes = std::min(1024u, env.note_bytes_max),
                 .note_copies = 2,
                 .repair_bytes = it.block_bytes(env)};
    return it;
  }
};

}  // namespace
}  // namespace cw::policy

CW_POLICY(cw::policy::Hybrid)
