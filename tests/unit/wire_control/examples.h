// The records inside the golden packets, as structs: what tests/data/packets/control.txt means.
#pragma once

#include "dataplane/wire/control/control.h"
#include "dataplane/wire/control/description.h"
#include "dataplane/wire/group/records.h"

namespace cw::test {

inline constexpr Placement example_placements[] = {
    {be32(0xfffffffe), be32(0x8001f00d), be64(0x00007f0012340000), be32(0), be64(0)},
    {be32(0xffffffff), be32(0x8001f00e), be64(0x00007f0012380000), be32(0x8001f00f),
     be64(0x00007f0012400000)}};
inline constexpr ClosedBlock example_blocks[] = {
    {be32(0), be32(0), be32(64), be16(2), 32, 4, 0, {}},
    {be32(1), be32(64), be32(5), be16(1), 5, 2, 1, {}}};
inline constexpr be32 example_qpns[] = {be32(0x1000), be32(0x1001), be32(0x1002), be32(0x1003)};
inline constexpr uint8_t example_note[] = {1, 2, 3, 4, 5};
inline constexpr uint8_t example_part[] = {3, 0, 0, 4, 'b', 'e', 'r', 'n'};

inline Hello example(Hello) {
  return {.capabilities = Hello::sees_psns,
          .control_qpn = 0x00ca05,
          .payload_bytes = 1024,
          .control_bytes = 1024,
          .message_id_bits = 10,
          .slot_bits = 18,
          .immediate_bits = 4,
          .generations = 2,
          .channels = 4,
          .paths = 2,
          .qps = 3,
          .state = HelloState::Trying,
          .icrc_mode = 1,
          .description_parts = 2,
          .description_received = 0};
}
inline Pad example(Pad) { return {.fill = {12}}; }
inline Description example(Description) {
  return {.part = 1, .parts = 2, .part_bytes = 16, .bytes = example_part};
}
inline ClearToSend example(ClearToSend) {
  return {.qp = 3,
          .policy_epoch = 1,
          .retired_seq = MessageSeq(0xfffffffe),
          .message_limit = MessageSeq(6),
          .heard_seq = MessageSeq(2),
          .slot_limit = 0x100000200,
          .placements = example_placements};
}
inline Probe example(Probe) { return {.qp = 3, .next_seq = MessageSeq(6)}; }
inline Opened example(Opened) {
  return {.qp = 3,
          .policy_epoch = 1,
          .seq = MessageSeq(5),
          .data_slots_max = 0x30000,
          .slots = slots_unknown,
          .rows = 2,
          .m_cap = 8,
          .k = 32};
}
inline BlockClosed example(BlockClosed) {
  return {.qp = 3, .seq = MessageSeq(5), .blocks = example_blocks};
}
inline Closed example(Closed) {
  return {.qp = 3,
          .flags = Closed::has_immediate,
          .seq = MessageSeq(5),
          .slots = 69,
          .frames = 120,
          .message_bytes = 70656,
          .immediate = 0xfeedbeef};
}
inline Abandoned example(Abandoned) {
  return {.qp = 3,
          .reason = AbandonReason::Hold,
          .seq = MessageSeq(5),
          .first_slot = 64,
          .slots = slots_unknown};
}
inline Note example(Note) {
  return {.qp = 3, .policy_epoch = 1, .flags = Note::from_sink, .bytes = example_note};
}
inline Echo example(Echo) {
  return {.flags = Echo::reply, .path = 2, .token = 0x0123456789abcdef, .held_ns = 12500};
}
inline PathReport example(PathReport) {
  return {.path = 2,
          .channels = 4,
          .received = 1000000,
          .lost = 37,
          .reordered = 12,
          .duplicates = 1,
          .bursts = 3,
          .reorder_depth_max = 9};
}
inline SwapPrepare example(SwapPrepare) {
  return {.qp = 3,
          .direction = SwapDirection::SourceIsReceiver,
          .swap_id = swap_id_of_sink + 41,
          .policy = {"hybrid/1", "k=32 m=4"}};
}
inline SwapReady example(SwapReady) {
  return {.qp = 3,
          .status = SwapStatus::Unknown,
          .swap_id = 41,
          .sentence = "no plugin selective_repeat"};
}
inline SwapBoundary example(SwapBoundary) {
  return {.qp = 3, .policy_epoch = 2, .swap_id = 41, .boundary_seq = MessageSeq(4096)};
}
inline SwapAcknowledge example(SwapAcknowledge) {
  return {.qp = 3, .policy_epoch = 2, .swap_id = 41, .boundary_seq = MessageSeq(4096)};
}
inline constexpr be32 example_holes[] = {be32(0), be32(0), be32(7), be32(260)};
inline Outcome example(Outcome) {
  return {.qp = 3,
          .policy_epoch = 2,
          .frames_out = 1000000,
          .frames_given_up = 37,
          .frames_late = 2,
          .slots_by_code = 1200,
          .slots_behind = 340,
          .holes = example_holes};
}
inline Draining example(Draining) { return {.number = 3, .is_wanted = 1}; }
inline SwapCancel example(SwapCancel) { return {.qp = 3, .swap_id = 41, .sentence = "deadline"}; }

inline PairKeyItem example(PairKeyItem) { return {.pair = {"message_bytes", "1 MiB"}}; }
inline QpItem example(QpItem) {
  return {.qp = 3,
          .generations = 2,
          .channels = 2,
          .paths = 1,
          .data_key = 0x5eedda7a,
          .repair_key = 0x5eed4e9a,
          .data_base = 0x1000000000,
          .repair_base = 0x2000000000,
          .data_window_bytes = 0x10000000,
          .repair_window_bytes = 0x4000000,
          .qpns = example_qpns};
}
inline SiteItem example(SiteItem) { return {.site = "zurich"}; }
inline PeerItem example(PeerItem) { return {.peer = "geneva"}; }
inline PolicyItem example(PolicyItem) { return {.qp = 3, .policy = {"erasure", "k=32 m=4"}}; }

// Those of group.txt.
inline constexpr group::Step example_step{0x000451f7};
inline constexpr group::Run example_fetched[] = {{be32(9), be32(1)}, {be32(0xfffff0), be32(16)}};
inline constexpr group::Run example_missed[] = {{be32(0), be32(3)}};
inline group::Join example(group::Join) {
  return {.heard_nonce = 0x2122232425262728,
          .key = 0x03115eed,
          .qpn = 0x103,
          .rate_bps = 100'000'000'000,
          .payload_bytes = 4096,
          .site = 2,
          .digest = 0xc0def00d,
          .clock_us = 0x0f4240f0,
          .echo_us = 0x0f424005};
}
inline group::Epoch example(group::Epoch) {
  return {.id = 0x3132333435363738,
          .key = 0x6a0b5eed,
          .rate_kbps = 400'000'000,
          .payload_bytes = 4096,
          .members = 8};
}
inline group::Ready example(group::Ready) {
  return {.step = example_step,
          .operation = group::Operation::Broadcast,
          .element = group::ElementType::Bf16,
          .root = 6,
          .bytes = 0x0000000300000001,
          .members = 5};
}
inline group::Go example(group::Go) { return {{.step = example_step, .rank = 0}}; }
inline group::Turn example(group::Turn) { return {{.step = example_step, .rank = 4}}; }
inline group::AllDone example(group::AllDone) {
  return {{.step = example_step, .rank = 7, .pace = 800}};
}
inline group::Done example(group::Done) {
  return {.step = example_step, .rank = 4, .share = 60, .members = 5, .fetched_slots = 12};
}
inline group::Fetch example(group::Fetch) {
  return {{.step = example_step, .source = 0, .message = 0, .runs = example_fetched}};
}
inline group::Miss example(group::Miss) {
  return {{.step = example_step, .source = 3, .message = 2, .runs = example_missed}};
}
inline group::Status example(group::Status) {
  return {.step = example_step, .message = 0, .slots = 2000, .clock_us = 0xfffffff0, .held_us = 40};
}
inline group::Fail example(group::Fail) {
  return {.step = example_step, .rank = 5, .sentence = "rank 5 silent for 3.0 s"};
}
inline group::Offer example(group::Offer) {
  return {.step = example_step, .message = 7, .bytes = 1 << 20, .sent_slots = 100, .answered = 3};
}
inline group::Cancel example(group::Cancel) {
  return {{.step = example_step, .message = 7, .reason = group::Reason::Late}};
}
inline group::Refuse example(group::Refuse) {
  return {{.step = example_step, .message = 0x80000001, .reason = group::Reason::Cancelled}};
}

}  // namespace cw::test
