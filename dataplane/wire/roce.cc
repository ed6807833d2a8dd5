#include "dataplane/wire/roce.h"

#include <cstring>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

/// Copies headers out of bytes that are known to hold them.
class HeaderReader {
 public:
  explicit HeaderReader(const uint8_t* next) : next_(next) {}
  template <class Header>
  Header take() {
    Header header;
    std::memcpy(&header, next_, sizeof(header));
    next_ += sizeof(header);
    return header;
  }
  void skip(size_t bytes) { next_ += bytes; }

 private:
  const uint8_t* next_;
};

class HeaderWriter {
 public:
  explicit HeaderWriter(uint8_t* next) : next_(next) {}
  template <class Header>
  void put(const Header& header) {
    std::memcpy(next_, &header, sizeof(header));
    next_ += sizeof(header);
  }
  void put_zeros(size_t bytes) {
    std::memset(next_, 0, bytes);
    next_ += bytes;
  }

 private:
  uint8_t* next_;
};

void read_bth(const Bth& bth, Transport& packet) {
  packet.opcode = bth.opcode;
  packet.is_solicited = bth.flags & Bth::solicited;
  packet.is_migrated = bth.flags & Bth::migrated;
  packet.wants_acknowledgement = bth.ack_request & Bth::acknowledge;
  packet.has_fecn = bth.congestion & Bth::fecn;
  packet.has_becn = bth.congestion & Bth::becn;
  packet.partition_key = bth.partition_key.host();
  packet.target_qp = bth.target_qp.host();
  packet.psn = Psn(bth.psn.host());
}

Bth make_bth(const Transport& packet) {
  const size_t pad = pad_bytes_for(packet.payload.size());
  return Bth{
      .opcode = packet.opcode,
      .flags =
          static_cast<uint8_t>((packet.is_solicited ? Bth::solicited : 0) |
                               (packet.is_migrated ? Bth::migrated : 0) | pad << Bth::pad_shift),
      .partition_key = be16(packet.partition_key),
      .congestion = static_cast<uint8_t>((packet.has_fecn ? Bth::fecn : 0) |
                                         (packet.has_becn ? Bth::becn : 0)),
      .target_qp = be24(packet.target_qp),
      .ack_request = packet.wants_acknowledgement ? Bth::acknowledge : uint8_t{0},
      .psn = be24(packet.psn.value()),
  };
}

/// The headers between the BTH and the payload, in the order of `extended`.
void read_extended(HeaderReader reader, Transport& packet) {
  const OpcodeFacts& facts = packet.facts();
  if (facts.has(extended::xrceth)) reader.skip(4);
  if (facts.has(extended::deth)) {
    const auto deth = reader.take<Deth>();
    packet.datagram = {deth.queue_key.host(), deth.source_qp.host()};
  }
  if (facts.has(extended::feth)) reader.skip(4);
  if (facts.has(extended::reth)) {
    const auto reth = reader.take<Reth>();
    packet.rdma = {reth.address.host(), reth.key.host(), reth.bytes.host()};
  }
  if (facts.has(extended::atomic_eth)) {
    const auto eth = reader.take<AtomicEth>();
    packet.atomic = {eth.address.host(), eth.key.host(), eth.swap_or_add.host(),
                     eth.compare.host()};
  }
  if (facts.has(extended::aeth)) {
    const auto aeth = reader.take<Aeth>();
    packet.acknowledgement = {aeth.syndrome, aeth.message.host()};
  }
  if (facts.has(extended::immediate)) packet.immediate = reader.take<ImmDt>().value.host();
}

/// SPEC 2.9: payload and pad fill up what the headers leave, to a multiple of four.
std::optional<WireError> read_payload(std::span<const uint8_t> rest, size_t pad,
                                      Transport& packet) {
  const OpcodeFacts& facts = packet.facts();
  if (!facts.carries_payload && !rest.empty()) return WireError::Length;
  if (rest.size() % 4 != 0 || pad > rest.size()) return WireError::Pad;
  packet.payload = rest.first(rest.size() - pad);
  const bool tells_length = facts.is_only && facts.carries_payload && facts.has(extended::reth);
  if (tells_length && packet.rdma->bytes != packet.payload.size()) {
    return WireError::Length;  // SPEC 2.6
  }
  return std::nullopt;
}

/// SPEC 2.5: what is refused by the BTH alone.
std::expected<Bth, WireError> read_known_bth(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(Bth)) return std::unexpected(WireError::Short);
  const auto bth = HeaderReader(bytes.data()).take<Bth>();
  if (bth.flags & Bth::version_mask) return std::unexpected(WireError::Version);
  if (!opcode_table[bth.opcode].is_known()) return std::unexpected(WireError::Opcode);
  return bth;
}

/// Fills `packet`; returns what is wrong, if anything.
std::optional<WireError> read_transport(std::span<const uint8_t> bytes, Transport& packet) {
  const auto bth = read_known_bth(bytes);
  if (!bth) return bth.error();
  read_bth(*bth, packet);
  const size_t header_bytes = packet.facts().header_bytes;
  if (bytes.size() < header_bytes) return WireError::Short;
  read_extended(HeaderReader(bytes.data() + sizeof(Bth)), packet);
  const size_t pad = bth->flags >> Bth::pad_shift & 3;
  return read_payload(bytes.subspan(header_bytes), pad, packet);
}

}  // namespace

std::expected<Transport, WireError> parse_transport(std::span<const uint8_t> bytes) {
  std::expected<Transport, WireError> result;  // filled in place: it is large
  if (const auto error = read_transport(bytes, *result)) result = std::unexpected(*error);
  return result;
}

size_t encode_transport_headers(const Transport& packet, std::span<uint8_t> out) {
  const OpcodeFacts& facts = packet.facts();
  CW_ASSERT(facts.is_known() && out.size() >= facts.header_bytes);
  HeaderWriter writer(out.data());
  writer.put(make_bth(packet));
  if (facts.has(extended::xrceth)) writer.put_zeros(4);
  if (facts.has(extended::deth)) {
    const auto source = packet.datagram.value_or(DatagramSource{});
    writer.put(Deth{be32(source.queue_key), 0, be24(source.source_qp)});
  }
  if (facts.has(extended::feth)) writer.put_zeros(4);
  if (facts.has(extended::reth)) {
    const auto target = packet.rdma.value_or(RdmaTarget{});
    writer.put(Reth{be64(target.address), be32(target.key), be32(target.bytes)});
  }
  if (facts.has(extended::atomic_eth)) {
    const auto operands = packet.atomic.value_or(AtomicOperands{});
    writer.put(AtomicEth{be64(operands.address), be32(operands.key), be64(operands.swap_or_add),
                         be64(operands.compare)});
  }
  if (facts.has(extended::aeth)) {
    const auto ack = packet.acknowledgement.value_or(Acknowledgement{});
    writer.put(Aeth{ack.syndrome, be24(ack.message)});
  }
  if (facts.has(extended::atomic_ack)) writer.put_zeros(8);
  if (facts.has(extended::immediate)) writer.put(ImmDt{be32(packet.immediate.value_or(0))});
  if (facts.has(extended::ieth)) writer.put_zeros(4);
  if (facts.has(extended::cnp_rest)) writer.put_zeros(16);
  return facts.header_bytes;
}

std::expected<TransportClass, WireError> classify_transport(std::span<const uint8_t> bytes) {
  const auto bth = read_known_bth(bytes);
  if (!bth) return std::unexpected(bth.error());
  return TransportClass{opcode_table[bth->opcode], bth->opcode, bth->target_qp.host(),
                        Psn(bth->psn.host())};
}

}  // namespace cw
