#include "control/dissector/opener.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/seal/handshake/packet.h"
#include "dataplane/seal/session/associated.h"
#include "dataplane/seal/session/session.h"
#include "dataplane/wire/control/envelope.h"
#include "offload/crc32.h"

namespace cw::dissector {
namespace {

constexpr size_t usual_payload_bytes = 1024;

const cw_aead& library() { return *cw_aead_openssl(); }

/// Whether a link has such packets.
bool may_be_sealed(const Transport& packet) {
  if (packet.payload.size() < seal::seal_bytes) return false;
  if (packet.opcode == opcode_uc_write_only_immediate) return true;
  if (seal::MessageCheck::is_handshake(packet.payload)) return false;
  return packet.opcode == opcode_ud_send_only && packet.datagram->queue_key == control_qkey;
}

/// `link`: of a datagram, whose QPs RNICs call what they like.
seal::Associated associated_of(const Transport& packet, uint16_t link, uint32_t bytes,
                               bool covers_psns) {
  SlotWrite head;
  head.target_qp = packet.rdma ? packet.target_qp : control_qpn_of(link);
  head.psn = packet.psn;
  head.payload_bytes = bytes;
  head.is_solicited = packet.is_solicited;
  head.immediate = packet.immediate.value_or(0);
  if (!packet.rdma) {
    head.key = packet.datagram->queue_key;
    return seal::associated_of(head, Form::Datagram, covers_psns);
  }
  head.key = packet.rdma->key;
  head.address = packet.rdma->address;
  return seal::associated_of(head, Form::Write, covers_psns);
}

uint64_t number_of(const Transport& packet) {
  return read_at<be64>(packet.payload.last(seal::seal_bytes).data()).host();
}

std::string text_of_number(uint64_t number) {
  const auto shard = static_cast<uint8_t>(number >> seal::shard_shift);
  const uint64_t count = number & ((uint64_t{1} << seal::shard_shift) - 1);
  return std::to_string(number >> seal::index_shift) + "/" + std::to_string(shard) + "/" +
         std::to_string(count);
}

}  // namespace

Opener::Opener(const std::vector<LoggedSession>& sessions)
    : exact_(IcrcMode::Exact, cw_crc32, usual_payload_bytes),
      pseudo_(IcrcMode::Pseudo, cw_crc32, usual_payload_bytes) {
  for (const auto& [peer, it] : sessions) {
    add("from \"" + peer + "\"", it.receive_index, it, it.receive);
    add("to \"" + peer + "\"", it.send_index, it, it.send);
  }
}

void Opener::add(std::string about, uint8_t index, const seal::Agreement& agreement,
                 const seal::Secret& secret) {
  keys_.push_back({std::move(about),
                   index,
                   agreement.covers_psns,
                   {library().make(agreement.kind, secret.bytes().data()), library().drop}});
}

/// Indices come round, so that several sessions of a long log have one.
const Opener::Key* Opener::try_open(const Transport& packet, std::vector<uint8_t>& payload) const {
  const size_t bytes = packet.payload.size() - seal::seal_bytes;
  const uint64_t number = number_of(packet);
  const seal::Nonce nonce(number);
  payload.resize(bytes);
  const size_t links = packet.rdma ? 1 : limits::links_max;
  for (size_t i = 0; i < keys_.size() * links; ++i) {
    const Key& each = keys_[i / links];
    if (each.index != number >> seal::index_shift) continue;
    const auto associated = associated_of(packet, static_cast<uint16_t>(i % links),
                                          static_cast<uint32_t>(bytes), each.covers_psns);
    const cw_aead_text text = {.nonce = nonce.bytes(),
                               .associated = &associated,
                               .associated_bytes = sizeof associated,
                               .in = packet.payload.data(),
                               .out = payload.data(),
                               .bytes = bytes};
    const uint8_t* const tag = packet.payload.data() + bytes + seal::number_bytes;
    if (library().open(each.key.get(), &text, tag) != 0) return &each;
  }
  return nullptr;
}

std::optional<OpenedFrame> Opener::open(std::span<const uint8_t> frame, FrameStart start) {
  const auto parts = parse_frame(frame, start);
  if (!parts || parts->address.target_udp_port != roce_udp_port) return std::nullopt;
  auto packet = parse_transport(parts->transport_of(frame));
  if (!packet || !may_be_sealed(*packet)) return std::nullopt;
  std::vector<uint8_t> payload;
  const Key* const key = try_open(*packet, payload);
  if (key == nullptr) {
    ++counts_.kept;
    return std::nullopt;
  }
  ++counts_.opened;
  OpenedFrame opened;
  opened.about =
      "opened: was sealed " + key->about + ", number " + text_of_number(number_of(*packet));
  packet->payload = payload;
  if (packet->rdma) packet->rdma->bytes = static_cast<uint32_t>(payload.size());
  opened.bytes = rebuilt(frame, *parts, start, *packet);
  return opened;
}

/// Outer headers that are not written anew, as those of a VLAN, are those of the address. The ICRC
/// is of the mode that the frame's own was right in, or zero.
std::vector<uint8_t> Opener::rebuilt(std::span<const uint8_t> frame, const Frame& parts,
                                     FrameStart start, const Transport& packet) const {
  const size_t pad = pad_bytes_for(packet.payload.size());
  const size_t header_bytes = packet.facts().header_bytes;
  const size_t transport_bytes = header_bytes + packet.payload.size() + pad;
  const size_t outer_bytes = outer_header_bytes(parts.address, start);
  std::vector<uint8_t> out(outer_bytes + transport_bytes + icrc_bytes);
  const std::span bytes(out);
  FrameAddress address = parts.address;
  address.has_udp_checksum = false;
  encode_outer_headers(address, start, transport_bytes, bytes);
  encode_transport_headers(packet, bytes.subspan(outer_bytes));
  std::ranges::copy(packet.payload, bytes.subspan(outer_bytes + header_bytes).begin());
  const size_t link_bytes = link_header_bytes(address, start);
  const auto ip_and_udp = bytes.subspan(link_bytes, outer_bytes - link_bytes);
  for (const Icrc* icrc : {&exact_, &pseudo_}) {
    if (!icrc->is_right(parts.ip_and_udp_of(frame), parts.covered_of(frame))) continue;
    Icrc::write(icrc->of(ip_and_udp, bytes.subspan(outer_bytes, transport_bytes)),
                bytes.last<icrc_bytes>());
    break;
  }
  return out;
}

}  // namespace cw::dissector
