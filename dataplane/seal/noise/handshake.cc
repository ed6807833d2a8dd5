#include "dataplane/seal/noise/handshake.h"

#include <algorithm>
#include <utility>

namespace cw::seal {
namespace {

constexpr const char* protocol_name = "Noise_IKpsk2_25519_ChaChaPoly_SHA256";

/// The token "e" of a handshake with a preshared secret (9.2), written or read.
void mix_ephemeral(NoiseSymmetric& noise, const PublicKey& key) {
  noise.mix_hash(key);
  noise.mix_key(key);
}

bool try_mix_shared(NoiseSymmetric& noise, const Identity& own, const PublicKey& other) {
  const auto shared = shared_secret(own.private_key, other);
  if (shared) noise.mix_key(shared->bytes());
  return shared.has_value();
}

PublicKey key_at(std::span<const uint8_t> message) {
  PublicKey key;
  std::ranges::copy(message.first(key_bytes), key.begin());
  return key;
}

}  // namespace

// ---- initiator ----------------------------------------------------------------------------------

Initiator::Initiator(const Identity& own, const PublicKey& other, std::span<const uint8_t> prologue,
                     const Identity& ephemeral)
    : own_(own), ephemeral_(ephemeral), other_(other), noise_(protocol_name, prologue) {
  noise_.mix_hash(other_);
}

std::optional<std::vector<uint8_t>> Initiator::write_first(std::span<const uint8_t> payload) {
  std::vector<uint8_t> message(ephemeral_.public_key.begin(), ephemeral_.public_key.end());
  mix_ephemeral(noise_, ephemeral_.public_key);
  if (!try_mix_shared(noise_, ephemeral_, other_)) return std::nullopt;  // es
  noise_.encrypt_and_hash(own_.public_key, message);                     // s
  if (!try_mix_shared(noise_, own_, other_)) return std::nullopt;        // ss
  noise_.encrypt_and_hash(payload, message);
  return message;
}

std::optional<HandshakeEnd> Initiator::read_second(std::span<const uint8_t> message,
                                                   const Secret& preshared) const {
  if (message.size() < second_message_bytes) return std::nullopt;
  NoiseSymmetric noise = noise_;
  const PublicKey other_ephemeral = key_at(message);
  mix_ephemeral(noise, other_ephemeral);
  if (!try_mix_shared(noise, ephemeral_, other_ephemeral)) return std::nullopt;  // ee
  if (!try_mix_shared(noise, own_, other_ephemeral)) return std::nullopt;        // se
  noise.mix_key_and_hash(preshared);                                             // psk
  auto payload = noise.decrypt_and_hash(message.subspan(key_bytes));
  if (!payload) return std::nullopt;
  const auto [ours, theirs] = noise.split();
  return HandshakeEnd{std::move(*payload), {ours, theirs, noise.hash()}};
}

// ---- responder ----------------------------------------------------------------------------------

Responder::Responder(const Identity& own, std::span<const uint8_t> prologue,
                     const Identity& ephemeral)
    : own_(own), ephemeral_(ephemeral), noise_(protocol_name, prologue) {
  noise_.mix_hash(own_.public_key);
}

std::optional<std::vector<uint8_t>> Responder::read_first(std::span<const uint8_t> message) {
  if (message.size() < first_message_bytes) return std::nullopt;
  other_ephemeral_ = key_at(message);
  mix_ephemeral(noise_, other_ephemeral_);
  if (!try_mix_shared(noise_, own_, other_ephemeral_)) return std::nullopt;  // es
  const auto named = noise_.decrypt_and_hash(message.subspan(key_bytes, key_bytes + tag_bytes));
  if (!named) return std::nullopt;  // s
  other_ = key_at(*named);
  if (!try_mix_shared(noise_, own_, other_)) return std::nullopt;  // ss
  return noise_.decrypt_and_hash(message.subspan(2 * key_bytes + tag_bytes));
}

std::optional<Responder::Answer> Responder::write_second(std::span<const uint8_t> payload,
                                                         const Secret& preshared) {
  Answer answer{{ephemeral_.public_key.begin(), ephemeral_.public_key.end()}, {}};
  mix_ephemeral(noise_, ephemeral_.public_key);
  if (!try_mix_shared(noise_, ephemeral_, other_ephemeral_)) return std::nullopt;  // ee
  if (!try_mix_shared(noise_, ephemeral_, other_)) return std::nullopt;            // se
  noise_.mix_key_and_hash(preshared);                                              // psk
  noise_.encrypt_and_hash(payload, answer.message);
  const auto [theirs, ours] = noise_.split();
  answer.keys = {ours, theirs, noise_.hash()};
  return answer;
}

}  // namespace cw::seal
