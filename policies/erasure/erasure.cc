// erasure: repairs loss with redundancy that was sent before anybody knew of the loss.
//
// Idea (after the EC layer of SDR-RDMA, arXiv 2505.05366). A message is cut into blocks. Behind the
// data of each block leave m repair slots per row; any k of a row's k + m slots rebuild it. A loss
// that the code repairs costs the time that repair takes to leave, not a round trip, however long
// the link.
//
//   source   block closed --encode--> data has left --> repair leaves, a burst apart
//   sink     row has k of k + m   --> decode; what is rebuilt counts as arrived
//            all is in place      --> "complete", the positive note, three times
//            a slot or a later one --fallback--> name those of rows that are beyond repair;
//                                     the source resends those and only those
//
// Nothing that has arrived is thrown away in a fallback: of a row that lacks e slots and has r
// repair slots, e are asked for, and the first e - r of them that come let the code do the rest. A
// note that asks is repeated every ack interval; an answer that is lost is asked for again after an
// RTT. The source's own timeouts run as well and find what no note has found, and after `deadline`
// a message that is closed and not settled is given up.
//
// "In place or rebuilt" is what completes a message, not "could be rebuilt": the difference is the
// time of a decode, and a promise less.
//
// States. Source: a block is closed -> encoding -> ready -> its repair has left. A message is open
// -> closed -> over. Sink: a block is seen -> told (its shape is known) -> whole, or fallen back.
//
// Parameters and the arithmetic of the defaults:
//   k = 32, m = 8       20 % of the line. A row fails with more than 8 of 40 lost: at 1e-2 packet
//                       loss 2e-10, at 5e-2 1.3e-4.
//   m_max = 16          when the link measures more loss, m rises until a row fails once in 1e5:
//                       12 at 5e-2. It is what memory is reserved for.
//   rows = 4            a burst of 32 slots costs no row more than 8. Blocks of 128 slots: 512 KiB
//                       at 4 KiB, 8.4 ms at 500 Mbit/s, 42 us at 100 Gbit/s.
//   fallback = 0.5 RTT  after the time in which a block and its repair leave at full rate: beta of
//                       the paper. Half an RTT covers queues on the way there.
//   alpha = 2           timeouts of the source: 3 RTT, a block and a fallback.
//   deadline = 60 s     longer than any outage that hosts survive.
//
// Weaknesses. Redundancy is paid for whether something is lost or not. A row beyond repair waits
// for its fallback even when that is plain before (`hybrid` does not wait). When messages share the
// link their blocks leave more slowly than at full rate and the fallback comes early: the source
// ignores what has not left or is on its way, so that costs notes, not slots. A message appended
// whole has all its data in front of all its repair (data goes first): where its blocks take longer
// than the fallback, those in front are resent in part. 1 MiB in slots of 1,400 bytes at 500
// Mbit/s, 20 ms and 1 %: 2.7 resends of 749 slots, with nothing won or lost in time; `hybrid`
// resends none. `codec = "xor"` repairs one loss per group of k / m: cheap, and weak.
#include "policies/parts/coding/coding_policy.h"

namespace cw::policy {
namespace {

struct Erasure : CodingPolicy<Erasure> {
  static constexpr const char* name = "erasure";
  static constexpr const char* summary =
      "Sends repair ahead of loss; resends only what a code cannot rebuild, after a fallback time.";

  enum Param { K, M, MMax, Rows, CodecParam, Fallback, Alpha, AckInterval, Deadline, ParamCount };
  static constexpr cw_param params[ParamCount] = {
      {"k", "", nullptr, "Data slots per row.", CW_PARAM_INT, 0, 32, 1, 239},
      {"m", "", nullptr, "Repair slots per row.", CW_PARAM_INT, 0, 8, 1, 128},
      {"m_max", "", nullptr, "Repair slots per row when more is lost; as many as m: never more.",
       CW_PARAM_INT, 0, 16, 0, 128},
      {"rows", "", nullptr, "Rows per block: a burst of so many slots costs a row one slot.",
       CW_PARAM_INT, 0, 4, 1, 1024},
      {"codec", "", "rs|xor", "What computes repair: rs repairs any m losses, xor one per group.",
       CW_PARAM_CHOICE, 0, 0, 0, 1},
      {"fallback", "", nullptr,
       "Round trips after which what cannot be rebuilt is asked for, besides the time of a block.",
       CW_PARAM_REAL, 0, 0.5, 0.01, 32},
      {"alpha", "", nullptr, "Timeout of a departed slot: RTT + alpha x RTT, and a block.",
       CW_PARAM_REAL, 0, 2, 0.5, 32},
      {"ack_interval", "ns", nullptr,
       "How often the receiver reports open messages; 0 is a quarter of the RTT.",
       CW_PARAM_DURATION, 0, 0, 0, 1e9},
      {"deadline", "ns", nullptr, "A closed message is given up this much later; 0: never.",
       CW_PARAM_DURATION, 0, 60e9, 0, 3600e9},
  };

  static CodingSettings settings_of(const cw_env& env) {
    CodingSettings it{.k = shard_param(env, K),
                      .m = shard_param(env, M),
                      .m_max = shard_param(env, MMax),
                      .rows = static_cast<uint16_t>(env.params[Rows]),
                      .codec = env.params[CodecParam] >= 0.5 ? Codec::Xor : Codec::Rs,
                      .waits = true,
                      .deadline = duration_param(env, Deadline)};
    if (it.codec == Codec::Xor) it.m_max = it.m;  // a longer group is not a stronger one
    it.repeat = {.alpha = env.params[Alpha],
                 .ack_interval = duration_param(env, AckInterval),
                 .note_bytes = std::min(1024u, env.note_bytes_max),
                 .note_copies = 2,
                 .patience_rtts = env.params[Fallback],
                 .patience_bytes = it.block_bytes(env)};
    return it;
  }
};

}  // namespace
}  // namespace cw::policy

CW_POLICY(cw::policy::Erasure)
