// Seals what leaves and opens what comes, for one worker (SPEC.md 19). It has the keys of each
// peer; how they are agreed upon is the keyring's affair, whose thread is another one:
//
//   worker   RawPort -> Sealer  -- handshake packets that came, keys that are over -->  Keyring
//                               <-- keys, and what is to be said to a peer -----------
//
// A packet that cannot be opened costs one check, nobody is given what was in it, and it is an
// arrival with the reason. Nothing allocates, locks or waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/endian.h"
#include "dataplane/base/memory/ring.h"
#include "dataplane/seal/handshake/packet.h"
#include "dataplane/seal/session/session.h"
#include "dataplane/wan.h"

namespace cw::seal {

inline constexpr size_t heard_max = 256;  ///< packets of handshakes that wait for the keyring

struct SealerOptions {
  size_t peers = 1;           ///< sites
  size_t links_per_peer = 1;  ///< the port's number of a peer is the site's times this, plus a link
  uint8_t shard = 0;          ///< no other of the process has it
  uint32_t payload_max = 0;   ///< of a datagram, before it is sealed
  bool seals_data = true;     ///< false: control alone
  PublicKey own{};            ///< the site's
  int heard_fd = -1;          ///< an eventfd of the keyring's, for each packet of a handshake
};

/// Counts since start; each only grows. Thread: the worker writes, any reads.
struct SealerCounts {
  std::atomic<uint64_t> sealed{0}, opened{0};
  std::atomic<uint64_t> no_keys{0};           ///< packets that were to be sent, and were not
  std::atomic<uint64_t> handshakes{0};        ///< packets handed to the keyring
  std::atomic<uint64_t> handshakes_full{0};   ///< for which that had no room
  std::atomic<uint64_t> handshakes_wrong{0};  ///< not for us: length, or first MAC
};

/// A packet of a handshake on its way between worker and keyring.
struct HandshakeNote {
  uint16_t peer = 0;  ///< the site's
  uint16_t bytes = 0;
  std::array<uint8_t, handshake_bytes_max> message{};
  std::span<const uint8_t> text() const { return std::span(message).first(bytes); }
};

/// From the keyring to the worker.
struct SealerOrder {
  enum class What : uint8_t {
    Add,   ///< can be opened by from now on
    Use,   ///< is sealed by
    Drop,  ///< neither; keys come back
    Say,   ///< a packet of a handshake leaves
  } what = What::Say;
  ShardKeys* keys = nullptr;
  HandshakeNote note;
};

/// Thread: the worker's, except for what says otherwise.
class Sealer {
 public:
  explicit Sealer(const SealerOptions& options);

  /// Before each burst: what the keyring has ordered.
  void take_orders(Instant now);
  /// Whether packets to it can be sealed.
  bool has_keys(uint16_t port_peer) const { return peer_of(port_peer).use != nullptr; }
  bool seals(Form form) const { return form != Form::Write || options_.seals_data; }

  /// Writes payload, number and tag of `send` to `out`, which has seal_bytes more room than the
  /// payload is long. has_keys() is true. False: its key has no numbers left.
  bool try_seal(const Send& send, uint8_t* out);
  /// Without keys: keeps a datagram for when there are some, the last of each link.
  void hold(const Send& send);
  /// Datagrams that were held and can leave now: the next, or null. Until the next call.
  const Send* take_held();
  /// The next packet of a handshake that is to leave, or null. Until the next call.
  const Send* take_said();

  /// Whether open() will find out if anything in it was changed that decides about it, save the
  /// path, which is the network's to change.
  bool proves(const Arrival& arrival) const {
    const bool is_covered = arrival.form == Form::Write || arrival.form == Form::Datagram;
    if (!is_covered || !is_for_keys(arrival) || is_handshake(arrival)) return false;
    if (arrival.head.payload_bytes < seal_bytes) return false;
    const ShardKeys* const keys = keys_of(arrival);
    return keys != nullptr && keys->covers_psns;
  }
  enum class Opened : uint8_t { Yes, No, Taken };
  /// In place, in the packet. No: the arrival says why. Taken: it was a handshake's.
  Opened open(Arrival& arrival);

  const SealerOptions& options() const { return options_; }
  SealerCounts& counts() { return counts_; }
  const SealerCounts& counts() const { return counts_; }

  // Thread: the keyring's.
  bool has_heard() const { return heard_.count() > 0; }
  bool try_order(const SealerOrder& order) { return orders_.try_push(order); }
  bool try_hear(HandshakeNote& note) { return heard_.try_pop(note); }
  ShardKeys* take_over() {
    ShardKeys* keys = nullptr;
    return over_.try_pop(keys) ? keys : nullptr;
  }

 private:
  struct Peer {
    std::array<ShardKeys*, sessions_max> open{};  // by the index's lowest bits
    ShardKeys* use = nullptr;
    uint64_t newest = 0;  // session that was ever sealed by: no older one will be
  };
  struct Held {
    Send send;
    bool is_there = false;
  };
  const Peer& peer_of(uint16_t port_peer) const { return peers_[sites_[port_peer]]; }
  /// What is nothing else, and of a peer.
  bool is_for_keys(const Arrival& arrival) const {
    return arrival.form != Form::Other && seals(arrival.form) && arrival.peer < sites_.size();
  }
  static bool is_handshake(const Arrival& arrival) {
    return arrival.form == Form::Datagram &&
           MessageCheck::is_handshake({arrival.payload, arrival.head.payload_bytes});
  }
  /// Of a packet as long as a seal.
  static uint64_t number_of(const Arrival& arrival) {
    return read_at<be64>(arrival.payload + arrival.head.payload_bytes - seal_bytes).host();
  }
  /// That it says it is sealed by; null: there are none.
  ShardKeys* keys_of(const Arrival& arrival) const {
    const auto index = static_cast<uint8_t>(number_of(arrival) >> index_shift);
    ShardKeys* const keys = peer_of(arrival.peer).open[index % sessions_max];
    return keys != nullptr && keys->receive_index == index ? keys : nullptr;
  }
  void carry_out(const SealerOrder& order, Instant now);
  void use(ShardKeys* keys);
  void drop(ShardKeys* keys);
  Opened hear(Arrival& arrival);

  SealerOptions options_;
  MessageCheck check_;
  std::vector<Peer> peers_;
  std::vector<uint16_t> sites_;            // by the port's number: a division a packet is long
  std::vector<Held> held_;                 // by the port's number
  std::unique_ptr<uint8_t[]> held_bytes_;  // not touched before it is needed
  size_t held_count_ = 0;
  bool may_held_leave_ = false;  // keys have come since it was looked
  SpscRing<SealerOrder> orders_;
  SpscRing<HandshakeNote> heard_;
  SpscRing<ShardKeys*> over_;
  Ring<HandshakeNote> said_;
  HandshakeNote saying_;
  Send say_;
  SealerCounts counts_;
};

}  // namespace cw::seal
