// Two sites become sure of each other and agree on keys: Noise_IKpsk2_25519_ChaChaPoly_SHA256 (The
// Noise Protocol Framework, revision 34, 7.5 and 9).
//
//   initiator                                     responder
//   knows the other's static key   -- first -->   reads who it is, and may know it or not
//   has keys                      <-- second --   has keys
//
// Who listens learns no static key of the initiator's. What was recorded stays sealed when static
// keys become known later. An older attacker with a quantum computer, or one who has a static key,
// does not have the preshared secret of two sites, if they have one; without one it is 32 zeros.
//
// A message that is refused ends the handshake of its reader, who begins anew with the next. All
// bytes that come are hostile. Thread: one each. Cost: each message some 100 to 200 us.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/seal/keys.h"
#include "dataplane/seal/noise/symmetric.h"

namespace cw::seal {

/// How much longer than its payload a message is.
inline constexpr size_t first_message_bytes = key_bytes + key_bytes + tag_bytes + tag_bytes;
inline constexpr size_t second_message_bytes = key_bytes + tag_bytes;

/// What both ends have then.
struct SessionKeys {
  Secret send, receive;
  Hash hash{};  ///< of all that was said: a name for this session that no other has
};

struct HandshakeEnd {
  std::vector<uint8_t> payload;
  SessionKeys keys;
};

class Initiator {
 public:
  /// `prologue`: what both ends must have in common besides. `ephemeral` is new for each handshake;
  /// tests give one.
  Initiator(const Identity& own, const PublicKey& other, std::span<const uint8_t> prologue,
            const Identity& ephemeral = Identity::random());

  /// Once. Nothing: the other's key is none.
  std::optional<std::vector<uint8_t>> write_first(std::span<const uint8_t> payload);
  /// Nothing: not the answer of the one who was asked, with this preshared secret. What answers
  /// later may still be; the first message stands.
  std::optional<HandshakeEnd> read_second(std::span<const uint8_t> message,
                                          const Secret& preshared) const;

 private:
  Identity own_, ephemeral_;
  PublicKey other_;
  NoiseSymmetric noise_;
};

class Responder {
 public:
  Responder(const Identity& own, std::span<const uint8_t> prologue,
            const Identity& ephemeral = Identity::random());

  /// Once; its payload. Nothing: not for us, or not of who holds the key that it names.
  std::optional<std::vector<uint8_t>> read_first(std::span<const uint8_t> message);
  /// Whose message that was.
  const PublicKey& other() const { return other_; }

  struct Answer {
    std::vector<uint8_t> message;
    SessionKeys keys;
  };
  /// Once, behind read_first(). Nothing: the other's key is none.
  std::optional<Answer> write_second(std::span<const uint8_t> payload, const Secret& preshared);

 private:
  Identity own_, ephemeral_;
  PublicKey other_{}, other_ephemeral_{};
  NoiseSymmetric noise_;
};

}  // namespace cw::seal
