// The packets in which two sites agree on keys (SPEC.md 19.1): a message of Noise, what it is
// called, and two MACs over both. The first MAC shows that the sender knows whom it speaks to,
// which costs a stranger's packets little here; the second that it gets what is sent to its
// address, and is asked for when there are many.
//
// All bytes are hostile. Thread: any; functions of their arguments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/seal/keys.h"
#include "dataplane/seal/noise/handshake.h"
#include "offload/aead/aead.h"
#include "offload/mac.h"

namespace cw::seal {

inline constexpr size_t check_bytes = 16;
inline constexpr size_t handshake_header_bytes = 12;
inline constexpr size_t offer_bytes = 4;
inline constexpr size_t handshake_bytes_max =
    handshake_header_bytes + first_message_bytes + offer_bytes + 2 * check_bytes;

using Check = std::array<uint8_t, check_bytes>;

enum class HandshakeType : uint8_t { First = 1, Second = 2, Cookie = 3 };

/// A packet's own words, whatever its type.
struct HandshakeHead {
  HandshakeType type = HandshakeType::First;
  uint32_t ticket = 0;  ///< of the attempt: its initiator's, not 0
};

/// What each end says of itself, inside a Noise message.
struct Offer {
  uint8_t index = 0;        ///< of the session, in the numbers that the other writes
  uint8_t kinds = 0;        ///< bit k: cw_aead_kind k; of a responder the one that it chose
  bool has_psns = false;    ///< it writes PSNs itself and sees those of the wire
  bool seals_data = false;  ///< not control alone
};
std::array<uint8_t, offer_bytes> bytes_of(const Offer& offer);
/// Nothing: its length or a bit that must be zero [C-79].
std::optional<Offer> parse_offer(std::span<const uint8_t> bytes);

/// Makes and checks the first MAC of what is sent to one site.
class MessageCheck {
 public:
  explicit MessageCheck(const PublicKey& receiver);
  Check of(std::span<const uint8_t> bytes) const;
  /// Whether these are the bytes of a packet of its type, and the first MAC fits [C-78].
  bool fits(std::span<const uint8_t> packet) const;
  /// Whether it says that it is one: nothing has been proven by that.
  static bool is_handshake(std::span<const uint8_t> payload);

 private:
  cw_mac mac_;
};

/// Of a packet that fits; behind its head stands the message, and behind that the MACs.
HandshakeHead head_of(std::span<const uint8_t> packet);
std::span<const uint8_t> message_of(std::span<const uint8_t> packet);
Check first_check_of(std::span<const uint8_t> packet);

/// A packet of the message and both MACs; no cookie: the second is zeros.
std::vector<uint8_t> handshake_packet(const HandshakeHead& head, std::span<const uint8_t> message,
                                      const MessageCheck& receiver,
                                      const std::optional<Check>& cookie);
/// Whether the second MAC is by this cookie.
bool has_cookie(std::span<const uint8_t> packet, const Check& cookie);

/// The answer to a packet with that first MAC, for who has sent it and nobody else: `site` is ours.
/// The salt is the first bytes of `random`, which is new for each; tests give one.
std::vector<uint8_t> cookie_packet(uint32_t ticket, const Check& cookie, const PublicKey& site,
                                   const Check& first_check, const MessageCheck& receiver,
                                   const Secret& random = Secret::random());
/// Of `site`; nothing: it answers something else.
std::optional<Check> open_cookie(std::span<const uint8_t> packet, const PublicKey& site,
                                 const Check& first_check);

}  // namespace cw::seal
