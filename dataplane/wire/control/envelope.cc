#include "dataplane/wire/control/envelope.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cw {
namespace {

constexpr uint16_t magic = 0xca05;
constexpr uint8_t version = 2;
constexpr size_t key_offset = 3;
constexpr size_t length_offset = 4;

/// The first 32 bytes as they lie on the wire.
struct Header {
  uint16_t magic = cw::magic;
  uint8_t version = cw::version;
  uint8_t key = 0;
  uint16_t length = 0;
  EnvelopeHeader named;

  static void fields(auto& header, auto& wire) {
    wire(header.magic, header.version, header.key, header.length, header.named.link);
    wire(header.named.sender_nonce, header.named.receiver_nonce, header.named.sequence);
  }
};

/// Takes the same time wherever the two differ, so that timing does not tell a forger how many
/// bytes were right [C-6]: nothing may ask about one half before the other is in, too.
bool are_equal_macs(const uint8_t* a, const uint8_t* b) {
  std::array<uint64_t, 2> mine, theirs;
  static_assert(sizeof(mine) == envelope_mac_bytes);
  std::memcpy(mine.data(), a, envelope_mac_bytes);
  std::memcpy(theirs.data(), b, envelope_mac_bytes);
  const volatile uint64_t difference = (mine[0] ^ theirs[0]) | (mine[1] ^ theirs[1]);
  return difference == 0;
}

bool is_mac_right(std::span<const uint8_t> bytes, const MacKey& key) {
  const size_t count = bytes.size() - envelope_mac_bytes;
  uint8_t mac[32];
  key.compute(key.state, bytes.data(), count, mac);
  return are_equal_macs(mac, bytes.data() + count);
}

/// `bytes` is envelope_bytes_min long at least.
std::span<const uint8_t> records_in(std::span<const uint8_t> bytes) {
  return bytes.subspan(envelope_header_bytes, bytes.size() - envelope_bytes_min);
}

}  // namespace

std::expected<Envelope, ControlError> open_envelope(std::span<const uint8_t> bytes,
                                                    const MacKey& key, RecordTypes known) {
  // The order of these checks is [C-4].
  if (bytes.size() < envelope_bytes_min) return std::unexpected(ControlError::Short);
  Header header;
  FieldReader fields(bytes.first(envelope_header_bytes));
  Header::fields(header, fields);
  if (header.magic != magic) return std::unexpected(ControlError::Magic);
  if (header.version != version) return std::unexpected(ControlError::Version);     // [C-52]
  if (header.length != bytes.size()) return std::unexpected(ControlError::Length);  // [C-5]
  if (header.key != key.number) return std::unexpected(ControlError::Key);
  if (!is_mac_right(bytes, key)) return std::unexpected(ControlError::Mac);
  if (header.named.sender_nonce == 0) return std::unexpected(ControlError::NonceZero);  // [C-7]

  Envelope envelope;
  envelope.header = header.named;
  envelope.records = records_in(bytes);
  envelope.known = known;
  RecordReader reader = envelope.reader();  // [C-14]
  while (reader.next()) continue;
  if (reader.error()) return std::unexpected(*reader.error());
  envelope.types = reader.seen();
  return envelope;
}

EnvelopePeek peek_envelope(std::span<const uint8_t> bytes) {
  EnvelopePeek peek;
  if (bytes.size() < envelope_bytes_min) return peek;
  Header header;
  FieldReader fields(bytes.first(envelope_header_bytes));
  Header::fields(header, fields);
  peek.header = header.named;
  peek.hello = first_hello({records_in(bytes), control_record_types});
  return peek;
}

std::optional<Hello> first_hello(RecordReader records) {
  std::optional<Hello> hello;
  if (const auto first = records.next()) {
    (void)ControlRecords::visit(*first, [&hello](const auto& record) {
      if constexpr (requires { record.shape(); }) hello = record;
    });
  }
  return hello;
}

EnvelopeWriter::EnvelopeWriter(std::span<uint8_t> buffer, const EnvelopeHeader& named)
    : buffer_(buffer.first(std::min(buffer.size(), envelope_bytes_max) & ~size_t{3})),
      records_(buffer_.subspan(envelope_header_bytes).first(buffer_.size() - envelope_bytes_min)) {
  CW_ASSERT(named.sender_nonce != 0 && named.sequence != 0);
  Header header;
  header.named = named;
  FieldWriter fields(buffer_.data());
  Header::fields(header, fields);
}

size_t EnvelopeWriter::seal(const MacKey& key) {
  const size_t mac_offset = envelope_header_bytes + records_.bytes();
  const size_t bytes = mac_offset + envelope_mac_bytes;
  FieldWriter(buffer_.data() + key_offset)(key.number);
  FieldWriter(buffer_.data() + length_offset)(static_cast<uint16_t>(bytes));
  uint8_t mac[32];
  key.compute(key.state, buffer_.data(), mac_offset, mac);
  std::memcpy(buffer_.data() + mac_offset, mac, envelope_mac_bytes);
  return bytes;
}

}  // namespace cw
