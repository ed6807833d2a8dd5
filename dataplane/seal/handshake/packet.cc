#include "dataplane/seal/handshake/packet.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include "dataplane/base/assert.h"
#include "dataplane/base/endian.h"
#include "dataplane/seal/noise/symmetric.h"

namespace cw::seal {
namespace {

constexpr uint16_t magic = 0xca5e;
constexpr uint8_t version = 1;
constexpr size_t checks_bytes = 2 * check_bytes;
constexpr size_t salt_bytes = 16;
constexpr size_t first_bytes = first_message_bytes + offer_bytes;
constexpr size_t second_bytes = second_message_bytes + offer_bytes;
constexpr size_t cookie_bytes = salt_bytes + check_bytes + tag_bytes;

constexpr uint8_t offers_psns = 1, offers_data = 2;
constexpr uint8_t known_kinds = (1u << CW_AEAD_KINDS) - 1;

/// As it lies on the wire.
struct Head {
  be16 magic;
  uint8_t version;
  uint8_t type;
  be32 ticket;
  be32 reserved;
};
static_assert(sizeof(Head) == handshake_header_bytes);

/// With the packet's MACs; 0: no such type.
size_t bytes_of_type(uint8_t type) {
  switch (static_cast<HandshakeType>(type)) {
    case HandshakeType::First:
      return handshake_header_bytes + first_bytes + checks_bytes;
    case HandshakeType::Second:
      return handshake_header_bytes + second_bytes + checks_bytes;
    case HandshakeType::Cookie:
      return handshake_header_bytes + cookie_bytes + checks_bytes;
  }
  return 0;
}

cw_mac keyed(std::span<const uint8_t> key) {
  cw_mac mac;
  cw_mac_init(&mac, key.data(), key.size());
  return mac;
}

Check check_by(const cw_mac& mac, std::span<const uint8_t> bytes) {
  std::array<uint8_t, CW_MAC_BYTES> whole;
  cw_mac_compute(&mac, bytes.data(), bytes.size(), whole.data());
  Check check;
  std::copy_n(whole.begin(), check.size(), check.begin());
  return check;
}

bool is_same(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

/// Of all that is sent to a site, or by one, for a purpose: no secret, as public keys are none.
cw_mac purpose_mac(std::string_view purpose, const PublicKey& site) {
  std::vector<uint8_t> key(purpose.begin(), purpose.end());
  key.insert(key.end(), site.begin(), site.end());
  return keyed(key);
}

/// The cookie's own key: the salt is never the same, so the nonce may be.
struct CookieSeal {
  std::array<uint8_t, CW_MAC_BYTES> key;
  std::array<uint8_t, CW_AEAD_NONCE_BYTES> nonce{};
  std::unique_ptr<void, void (*)(void*)> prepared{nullptr, cw_aead_openssl()->drop};

  CookieSeal(const PublicKey& site, std::span<const uint8_t> salt) {
    const cw_mac mac = purpose_mac("causeway cookie", site);
    cw_mac_compute(&mac, salt.data(), salt.size(), key.data());
    prepared.reset(cw_aead_openssl()->make(CW_AEAD_CHACHA20_POLY1305, key.data()));
    CW_ASSERT(prepared != nullptr);
  }
  cw_aead_text text(const Check& first_check, const void* in, void* out) const {
    return {.nonce = nonce.data(),
            .associated = first_check.data(),
            .associated_bytes = first_check.size(),
            .in = in,
            .out = out,
            .bytes = check_bytes};
  }
};

}  // namespace

std::array<uint8_t, offer_bytes> bytes_of(const Offer& offer) {
  const auto flags = static_cast<uint8_t>((offer.has_psns ? offers_psns : 0) |
                                          (offer.seals_data ? offers_data : 0));
  return {offer.index, offer.kinds, flags, 0};
}

std::optional<Offer> parse_offer(std::span<const uint8_t> bytes) {
  if (bytes.size() != offer_bytes || (bytes[1] & ~known_kinds) != 0 || bytes[3] != 0 ||
      (bytes[2] & ~(offers_psns | offers_data)) != 0) {
    return std::nullopt;
  }
  return Offer{.index = bytes[0],
               .kinds = bytes[1],
               .has_psns = (bytes[2] & offers_psns) != 0,
               .seals_data = (bytes[2] & offers_data) != 0};
}

MessageCheck::MessageCheck(const PublicKey& receiver)
    : mac_(purpose_mac("causeway handshake", receiver)) {}

Check MessageCheck::of(std::span<const uint8_t> bytes) const { return check_by(mac_, bytes); }

bool MessageCheck::is_handshake(std::span<const uint8_t> payload) {
  if (payload.size() < sizeof(Head)) return false;
  const auto head = read_at<Head>(payload.data());
  return head.magic.host() == magic && head.version == version;
}

bool MessageCheck::fits(std::span<const uint8_t> packet) const {
  if (!is_handshake(packet)) return false;
  const auto head = read_at<Head>(packet.data());
  if (packet.size() != bytes_of_type(head.type) || head.ticket.host() == 0) return false;
  return is_same(of(packet.first(packet.size() - checks_bytes)), first_check_of(packet));
}

HandshakeHead head_of(std::span<const uint8_t> packet) {
  const auto head = read_at<Head>(packet.data());
  return {static_cast<HandshakeType>(head.type), head.ticket.host()};
}

std::span<const uint8_t> message_of(std::span<const uint8_t> packet) {
  return packet.subspan(handshake_header_bytes,
                        packet.size() - handshake_header_bytes - checks_bytes);
}

Check first_check_of(std::span<const uint8_t> packet) {
  Check check;
  std::copy_n(packet.end() - checks_bytes, check.size(), check.begin());
  return check;
}

std::vector<uint8_t> handshake_packet(const HandshakeHead& head, std::span<const uint8_t> message,
                                      const MessageCheck& receiver,
                                      const std::optional<Check>& cookie) {
  const Head written = {.magic = be16(magic),
                        .version = version,
                        .type = static_cast<uint8_t>(head.type),
                        .ticket = be32(head.ticket),
                        .reserved = be32(0)};
  std::vector<uint8_t> packet(sizeof written + message.size() + checks_bytes);
  CW_ASSERT(packet.size() <= handshake_bytes_max);
  std::memcpy(packet.data(), &written, sizeof written);
  std::ranges::copy(message, packet.begin() + sizeof written);
  const std::span<uint8_t> all(packet);
  std::ranges::copy(receiver.of(all.first(all.size() - checks_bytes)),
                    all.last(checks_bytes).begin());
  if (cookie) {
    const Check second = check_by(keyed(*cookie), all.first(all.size() - check_bytes));
    std::ranges::copy(second, all.last(check_bytes).begin());
  }
  return packet;
}

bool has_cookie(std::span<const uint8_t> packet, const Check& cookie) {
  const auto proven = packet.first(packet.size() - check_bytes);
  return is_same(check_by(keyed(cookie), proven), packet.last(check_bytes));
}

std::vector<uint8_t> cookie_packet(uint32_t ticket, const Check& cookie, const PublicKey& site,
                                   const Check& first_check, const MessageCheck& receiver,
                                   const Secret& random) {
  std::vector<uint8_t> message(cookie_bytes);
  const auto salt = std::span(message).first<salt_bytes>();
  std::ranges::copy(random.bytes().first<salt_bytes>(), salt.begin());
  const CookieSeal seal(site, salt);
  uint8_t* const out = message.data() + salt_bytes;
  const cw_aead_text text = seal.text(first_check, cookie.data(), out);
  cw_aead_openssl()->seal(seal.prepared.get(), &text, out + check_bytes);
  return handshake_packet({HandshakeType::Cookie, ticket}, message, receiver, std::nullopt);
}

std::optional<Check> open_cookie(std::span<const uint8_t> packet, const PublicKey& site,
                                 const Check& first_check) {
  const auto message = message_of(packet);
  const CookieSeal seal(site, message.first<salt_bytes>());
  const uint8_t* const in = message.data() + salt_bytes;
  Check cookie;
  const cw_aead_text text = seal.text(first_check, in, cookie.data());
  if (cw_aead_openssl()->open(seal.prepared.get(), &text, in + check_bytes) == 0) {
    return std::nullopt;
  }
  return cookie;
}

}  // namespace cw::seal
