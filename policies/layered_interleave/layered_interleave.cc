// layered_interleave: XOR repair at several distances, for losses that come in bursts.
//
// Idea (after Maelstrom, NSDI'08). One repair slot is the XOR of r data slots and repairs the loss
// of one of them. Made of neighbours it is there soon but dies with a burst; made of slots that lie
// i apart it survives a burst of i but has to wait for the last of them. So every slot is covered c
// times, by layers of different distances: a single loss is repaired by the nearest layer, a burst
// by one that reaches across it. The overhead is c / r whatever the losses look like; what grows
// with the burst is the time until it is repaired.
//
//   slots          0 1 2 3 4 5 6 7   r = 2
//   interleave 1   a a b b c c d d   a loss of 3 alone: b
//   interleave 4   e f g h e f g h   a loss of 0, 1 and 2: e, f and g
//
// Layers help each other: a slot that one layer has rebuilt may be the second hole of a row in
// another (peeling; parts/coding/peeling.h). The sink decodes whatever row has one hole and its
// repair, and looks again at the block when the result is there. What no order of layers can
// rebuild, even if all repair still on its way arrives, is asked for at once, as in `hybrid`;
// nothing that arrived is thrown away.
//
// States: those of `hybrid`. A block is r slots of the widest interleave, and every layer is woven
// through it (parts/coding/weave.h).
//
// Parameters and the arithmetic of the defaults:
//   r = 8, c = 3        3 repair slots for 8 data slots, as in the paper: 27 % of the line.
//   set = narrow        1, 4, 16: bursts up to 16 slots. A block has 8 x 16 = 128 slots: 512 KiB at
//   4 KiB,
//                       8.4 ms at 500 Mbit/s, which is how long the widest layer takes.
//                       wide: 1, 8, 64 and blocks of 512. paper: 1, 20, 40.
//   alpha = 2, reorder_budget: as in `hybrid`.
//
// Weaknesses. XOR is weak against scattered loss: at 1e-2 a row of 9 has two holes once in 300, and
// only another layer helps; `erasure` repairs more with less. Repair leaves when the block closes,
// so the nearest layer waits for the widest: sets with small widths are for small messages.
#include <array>

#include "policies/parts/coding/coding_policy.h"

namespace cw::policy {
namespace {

constexpr std::array<std::array<uint16_t, Weave::layers_max>, 3> sets = {
    {{1, 4, 16}, {1, 8, 64}, {1, 20, 40}}};

struct LayeredInterleave : CodingPolicy<LayeredInterleave> {
  static constexpr const char* name = "layered_interleave";
  static constexpr const char* summary =
      "XOR repair in layers of rising distance: bursts cost time, not overhead.";

  enum Param { R, C, Set, Alpha, AckInterval, ReorderBudget, ParamCount };
  static constexpr cw_param params[ParamCount] = {
      {"r", "", nullptr, "Data slots per repair slot of a layer.", CW_PARAM_INT, 0, 8, 2, 128},
      {"c", "", nullptr, "Layers: repair slots that cover each data slot.", CW_PARAM_INT, 0, 3, 1,
       Weave::layers_max},
      {"set", "", "narrow|wide|paper",
       "How far apart the slots of a row lie in each layer; the first c of them.", CW_PARAM_CHOICE,
       0, 0, 0, sets.size() - 1},
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
    const uint8_t r = shard_param(env, R), c = shard_param(env, C);
    const auto& interleaves = sets[static_cast<size_t>(env.params[Set])];
    CodingSettings it{.k = r,
                      .m = c,
                      .m_max = c,
                      .rows = interleaves[c - 1u],
                      .codec = Codec::Xor,
                      .weave = Weave(r, std::span(interleaves).first(c))};
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

CW_POLICY(cw::policy::LayeredInterleave)
