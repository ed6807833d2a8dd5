// What two sites have agreed on, and what one thread needs to seal and open packets by it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "dataplane/base/units.h"
#include "offload/aead/aead.h"

namespace cw::seal {

/// What a sealed payload is longer by: the number that no other packet under the key has, and the
/// tag [C-82].
inline constexpr uint32_t number_bytes = 8;
inline constexpr uint32_t seal_bytes = number_bytes + CW_AEAD_TAG_BYTES;

/// Sessions of a peer that can be open at once: one in use, one before it, one of each end's that
/// is being made, and what replays of first messages take.
inline constexpr size_t sessions_max = 8;

/// Of its number, from the highest bit on: the index that the receiver has given the session, the
/// sender's shard, the count of that shard's packets under the key [C-83].
inline constexpr unsigned index_shift = 56, shard_shift = 48;
inline constexpr size_t shards_max = size_t{1} << (index_shift - shard_shift);

/// Packets that a shard may seal under one key. AES-GCM stays far below the bounds of NIST SP
/// 800-38D and of RFC 8446, 5.5: a new key is asked for a sixteenth before the end.
inline constexpr uint64_t packets_max = uint64_t{1} << 30;

/// One thread's: its own prepared keys and numbers.
class ShardKeys {
 public:
  /// `aead` as of its table. The keys are the kind's, of cw_aead_key_bytes() each.
  ShardKeys(const cw_aead& aead, cw_aead_kind kind, const uint8_t* send, const uint8_t* receive)
      : aead_(aead), send_(aead.make(kind, send)), receive_(aead.make(kind, receive)) {}
  ~ShardKeys() {
    aead_.drop(send_);
    aead_.drop(receive_);
  }
  ShardKeys(const ShardKeys&) = delete;
  ShardKeys& operator=(const ShardKeys&) = delete;

  const cw_aead& aead() const { return aead_; }
  void* send_key() const { return send_; }
  void* receive_key() const { return receive_; }

  uint64_t session = 1;  ///< later ones are higher, whoever is at the peer's place
  Instant since;         ///< the worker's: it opens by them
  uint16_t peer = 0;     ///< the site's
  uint8_t receive_index = 0;
  uint8_t send_index = 0;
  uint8_t shard = 0;
  bool covers_psns = false;

  // The worker counts, others look.
  std::atomic<uint64_t> sealed{0}, opened{0};

 private:
  const cw_aead& aead_;
  void *send_, *receive_;
};

}  // namespace cw::seal
