// All decoders of data packets over the same bytes: as an Ethernet frame, as an IP packet and as a
// transport packet. Nothing may read beyond the bytes (libFuzzer's block is of exactly their size),
// what is decoded must lie inside them, and what we can write ourselves must come out the same.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/wire/crc/unseen_id.h"
#include "dataplane/wire/icrc.h"
#include "dataplane/wire/outer/frame_form.h"
#include "dataplane/wire/outer/ip_layout.h"
#include "dataplane/wire/outer/source_index.h"
#include "dataplane/wire/roce_inline.h"
#include "offload/crc32.h"

namespace {
using namespace cw;
using Bytes = std::span<const uint8_t>;

bool is_inside(Bytes part, Bytes whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

/// Reserved bits are zero when we write, and stay so when they are read.
void clear_reserved(std::vector<uint8_t>& headers, const OpcodeFacts& facts) {
  headers[offsetof(Bth, congestion)] &= Bth::fecn | Bth::becn;
  headers[offsetof(Bth, ack_request)] &= Bth::acknowledge;
  if (facts.has(extended::deth)) headers[sizeof(Bth) + offsetof(Deth, reserved)] = 0;
}

void check_transport_again(const Transport& packet, Bytes bytes) {
  const OpcodeFacts& facts = packet.facts();
  if (facts.service != Service::Uc && facts.service != Service::Ud) return;
  std::vector<uint8_t> headers(facts.header_bytes);
  encode_transport_headers(packet, headers);
  std::vector<uint8_t> given(bytes.begin(), bytes.begin() + facts.header_bytes);
  clear_reserved(given, facts);
  CW_ASSERT(headers == given);
}

void check_short_cut(const Transport* packet, Bytes bytes) {
  SlotWrite slot;
  const bool is_slot = try_parse_slot_write(bytes, slot);
  CW_ASSERT(is_slot == (packet != nullptr && packet->opcode == opcode_uc_write_only_immediate));
  if (!is_slot) return;
  CW_ASSERT(slot.target_qp == packet->target_qp && slot.psn == packet->psn);
  CW_ASSERT(slot.address == packet->rdma->address && slot.key == packet->rdma->key);
  CW_ASSERT(slot.immediate == *packet->immediate && slot.is_solicited == packet->is_solicited);
  CW_ASSERT(slot.payload_bytes == packet->payload.size());
}

void run_transport(Bytes bytes) {
  const auto known = classify_transport(bytes);
  const auto packet = parse_transport(bytes);
  check_short_cut(packet ? &*packet : nullptr, bytes);
  const auto link = control_link_of(bytes);
  CW_ASSERT(!link || (bytes.size() >= 20 && bytes[0] == opcode_ud_send_only));
  if (!packet) return;
  CW_ASSERT(!link || packet->target_qp == control_qpn_of(*link));
  CW_ASSERT(known && known->opcode == packet->opcode && known->psn == packet->psn);
  CW_ASSERT(is_inside(packet->payload, bytes));
  check_transport_again(*packet, bytes);
}

/// What the encoder always writes so: no options, no reserved flag, a plain checksum.
void check_frame_again(const Frame& frame, FrameStart start, Bytes bytes) {
  const size_t header_bytes = outer_header_bytes(frame.address, start);
  if (frame.transport_offset != header_bytes) return;
  const bool is_v4 = frame.address.ip_version == IpVersion::V4;
  if (is_v4 && bytes[frame.ip_offset + 6] & 0x80) return;
  std::vector<uint8_t> headers(header_bytes);
  encode_outer_headers(frame.address, start, frame.transport_bytes, headers);
  std::vector<uint8_t> given(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(header_bytes));
  given[header_bytes - 2] = given[header_bytes - 1] = 0;  // the UDP checksum
  if (is_v4 && given != headers) {
    // A checksum of 0xffff is as right as one of zero.
    const size_t checksum = frame.ip_offset + 10;
    CW_ASSERT(given[checksum] == 0xff && given[checksum + 1] == 0xff);
    given[checksum] = given[checksum + 1] = 0;
  }
  CW_ASSERT(headers == given);
}

/// A form reads what its parser reads, save what is tagged, has options, or holds no BTH.
void check_form(const Frame& frame, Bytes bytes) {
  const FrameForm form(frame.address);
  FormedFrame formed;
  const bool is_plain =
      frame.transport_offset == form.transport_offset() && frame.transport_bytes >= sizeof(Bth);
  CW_ASSERT(form.try_read(bytes, formed) == is_plain);
  if (!is_plain) return;
  CW_ASSERT(formed.transport_bytes == frame.transport_bytes);
  CW_ASSERT(formed.source_udp_port == frame.address.source_udp_port);
  CW_ASSERT(formed.dscp == frame.address.dscp && formed.ecn == frame.address.ecn);
}

/// Without its identification a packet is right if it is right with it; and with any, if it is.
void check_unseen_id(const Icrc& exact, const Frame& frame, Bytes bytes) {
  namespace v4 = ip_layout::v4;
  const Bytes outer = frame.ip_and_udp_of(bytes), covered = frame.covered_of(bytes);
  const bool is_plain = outer.size() == v4::bytes + ip_layout::udp::bytes;
  if (!is_plain || frame.transport_bytes < sizeof(Bth)) return;
  std::vector<uint8_t> unseen(outer.begin(), outer.end());
  unseen[v4::identification] = unseen[v4::identification + 1] = 0;
  const uint32_t difference =
      exact.of(unseen, frame.transport_of(bytes)) ^ Icrc::read(covered.last<icrc_bytes>());
  static const UnseenId common(1056);
  const bool is_taken = common.explains(difference, frame.transport_bytes);
  CW_ASSERT(is_taken ==
            UnseenId(frame.transport_bytes).explains(difference, frame.transport_bytes));
  CW_ASSERT(is_taken || !exact.is_right(outer, covered));
}

void run_frame(Bytes bytes, FrameStart start) {
  static const Icrc exact(IcrcMode::Exact, cw_crc32, 1024);
  static const Icrc pseudo(IcrcMode::Pseudo, cw_crc32, 1024);
  const auto frame = parse_frame(bytes, start);
  if (!frame) return;
  const Bytes covered = frame->covered_of(bytes), outer = frame->ip_and_udp_of(bytes);
  CW_ASSERT(is_inside(covered, bytes) && is_inside(outer, bytes));
  check_frame_again(*frame, start, bytes);
  if (start == FrameStart::Ethernet) check_form(*frame, bytes);
  exact.is_right(outer, covered);
  check_unseen_id(exact, *frame, bytes);
  pseudo.is_right(outer, covered);
  run_transport(frame->transport_of(bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes bytes(data, size);
  run_frame(bytes, FrameStart::Ethernet);
  run_frame(bytes, FrameStart::Ip);
  run_transport(bytes);
  return 0;
}
