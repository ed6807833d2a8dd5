// Everything that members of a group read (SPEC.md 18): the bytes as a transport packet whose
// payload is a group's datagram, and as an envelope.
//
// Each datagram is tried as it is and with key, version and step made right; each envelope too with
// its fixed fields and MAC. What is taken names a slot that is posted and is as long as that slot,
// and is written again as it was.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/wire/group/check.h"
#include "dataplane/wire/group/datagram_inline.h"
#include "dataplane/wire/group/pair_key.h"
#include "dataplane/wire/group/records.h"
#include "tests/fuzz/records.h"

namespace cw {
namespace {

using Bytes = std::span<const uint8_t>;

// ---- datagrams; the receiver is that of group.txt ----

constexpr group::Member receiver = {
    .group_key = 0x6a0b5eed, .own_key = 0x0e115eed, .members = 8, .rank = 5};
constexpr group::Step open_step(0x000451f7);
constexpr group::Slots common({.part_bytes = 501, .payload_bytes = 224, .sources = 8});
constexpr group::Slots second_message({.part_bytes = 100, .payload_bytes = 224, .first_source = 3});

const group::Slots* slots_of(const group::Header& header) {
  CW_ASSERT(header.source < receiver.members && header.source != receiver.rank);
  if (header.step != open_step) return nullptr;
  if (header.message == 0) return &common;
  return header.message == 2 && header.source == 3 ? &second_message : nullptr;
}

void check_datagram(uint32_t immediate, Bytes payload) {
  // An allocation of its own is exactly as long as its bytes.
  const std::vector<uint8_t> copy(payload.begin(), payload.end());
  group::Header header;
  if (group::check(immediate, copy, receiver, slots_of, header)) return;
  const group::Slots& slots = *slots_of(header);
  CW_ASSERT(header.slot < slots.count() && header.immediate() == immediate);
  CW_ASSERT(slots.bytes_of(header.slot) == copy.size() - group::header_bytes);
  const uint64_t end = slots.offset_of(header.slot) + slots.bytes_of(header.slot);
  CW_ASSERT(end <= (header.message == 0 ? 8 * 501u : 100u));
  std::vector<uint8_t> again(group::header_bytes);
  encode_header(header, again);
  std::vector<uint8_t> given(copy.begin(), copy.begin() + group::header_bytes);
  given[1] &=
      group::detail::last_slot | group::detail::last_message | group::detail::wants_status;
  CW_ASSERT(again == given);
}

void put_word(uint8_t* at, uint32_t value) {
  const be32 word(value);
  std::memcpy(at, &word, sizeof(word));
}

/// The same past version, key and step, where nearly all that is random ends.
void check_genuine_datagram(uint32_t immediate, Bytes payload) {
  if (payload.size() < group::header_bytes) return;
  std::vector<uint8_t> bytes(payload.begin(), payload.end());
  bytes[0] = static_cast<uint8_t>(group::header_version << 4 | (bytes[0] & 3));
  const bool is_to_all = (bytes[0] & 3) == static_cast<uint8_t>(group::Kind::Multicast);
  put_word(&bytes[4], is_to_all ? receiver.group_key : receiver.own_key);
  put_word(&bytes[8], open_step.value());
  check_datagram(uint32_t{group::mark_of(open_step)} << 24 | (immediate & 0xffffff), bytes);
}

void run_transport(Bytes bytes) {
  const auto packet = parse_transport(bytes);
  group::Datagram datagram;
  const bool is_datagram = group::try_parse_datagram(bytes, bytes.size(), datagram);
  CW_ASSERT(is_datagram == (packet && packet->opcode == opcode_ud_send_only_immediate));
  if (!is_datagram) return;
  CW_ASSERT(datagram.target_qp == packet->target_qp && datagram.psn == packet->psn);
  CW_ASSERT(datagram.queue_key == packet->datagram->queue_key);
  CW_ASSERT(datagram.source_qp == packet->datagram->source_qp);
  CW_ASSERT(datagram.immediate == *packet->immediate);
  CW_ASSERT(datagram.is_solicited == packet->is_solicited);
  CW_ASSERT(datagram.payload_bytes == packet->payload.size());
  check_datagram(datagram.immediate, packet->payload);
  check_genuine_datagram(datagram.immediate, packet->payload);
}

// ---- envelopes ----

/// Between ranks 3 and 5, as the golden packets have it.
MacKey make_pair_key() {
  const auto bytes =
      group::pair_key(make_key("causeway golden group"), 0x3132333435363738, 3, receiver.rank);
  return make_key({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}
const MacKey key = make_pair_key();

/// No record names a slot twice, or one that cannot be.
void check_runs(const auto& record) {
  if constexpr (requires { record.runs; }) {
    uint64_t end = 0;
    for (const group::Run& run : record.runs) {
      CW_ASSERT(run.first.host() >= end && run.count.host() > 0);
      end = uint64_t{run.first.host()} + run.count.host();
    }
    CW_ASSERT(end <= limits::slots_per_message_max);
  }
}

void open_exactly(const std::vector<uint8_t>& bytes) {
  const std::vector<uint8_t> copy(bytes);
  const auto envelope = open_envelope(copy, key, group::Records::types);
  if (!envelope) return;
  RecordReader reader = envelope->reader();
  while (const auto view = reader.next()) {
    const bool is_sound = group::Records::visit(*view, [&view](const auto& record) {
      comes_back(record, *view);
      check_runs(record);
    });
    if (!is_sound) return;
  }
}

}  // namespace
}  // namespace cw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t count) {
  cw::run_transport({data, count});
  std::vector<uint8_t> bytes(data, data + count);
  cw::open_exactly(bytes);
  cw::make_genuine(bytes, cw::key);
  cw::open_exactly(bytes);
  return 0;
}
