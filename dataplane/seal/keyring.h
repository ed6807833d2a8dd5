// A site's keys with all its peers: exchanges (handshake/exchange.h), and the sealers of the
// shards, each of which has prepared keys of its own.
//
// Thread: one of its own, or whoever turns everything; never a worker's: a handshake takes longer
// than a turn should. Only that thread calls, save for what says otherwise.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/seal/handshake/exchange.h"
#include "dataplane/seal/sealer.h"

namespace cw::seal {

/// Who is at a place of the site's.
struct KeyringPeer {
  PublicKey key{};
  std::optional<PublicKey> next_key;
  Secret preshared;
  std::string name{};  ///< as a log says it
  bool operator==(const KeyringPeer&) const = default;
};

/// Sees every session that is agreed upon, for who has to open what was recorded: a debug switch.
class KeyLog {
 public:
  virtual ~KeyLog() = default;
  /// Thread: the keyring's.
  virtual void agreed(const std::string& peer, const Agreement& agreement) = 0;
};

struct KeyringOptions {
  Identity own;
  const cw_aead* aead = nullptr;  ///< whose keys
  std::vector<cw_aead_kind> kinds;
  bool has_psns = true, seals_data = true;
  KeyLog* log = nullptr;  ///< it outlives the keyring; null: nobody is told
};

/// How it stands with one peer.
struct KeyringView {
  bool has_keys = false;
  cw_aead_kind kind = CW_AEAD_AES_128_GCM;
  Duration age;         ///< of the session in use
  std::string trouble;  ///< why there are no keys; empty: nobody knows
  ExchangeCounts counts;
};

class Keyring {
 public:
  /// The sealers, one of each shard, have as many peers, and outlive this once it has turned.
  Keyring(KeyringOptions options, std::span<Sealer* const> sealers, Instant now);
  ~Keyring();
  Keyring(const Keyring&) = delete;
  Keyring& operator=(const Keyring&) = delete;

  /// Nobody: there is no peer at that place any more; its keys are forgotten a second later, when
  /// it has been told. Thread: any.
  void set_peer(size_t place, std::optional<KeyringPeer> peer);

  /// Returns whether a worker has something to do: it may sleep.
  bool turn(Instant now);
  /// When it must at the latest; past instants mean at once. A worker that hears something later
  /// says so by `heard_fd`.
  Instant next_wakeup() const;

  /// Thread: any.
  std::vector<KeyringView> views(Instant now) const;

 private:
  class Peer;
  /// What a worker that stands still has no room for yet.
  struct Shard {
    Sealer* sealer;
    std::deque<SealerOrder> orders;
  };
  void take_changes(Instant now);
  void hear(Instant now);
  ShardKeys& make_keys(size_t shard, uint16_t place, const Agreement& agreement);
  void order(size_t shard, const SealerOrder& order);
  void flush();

  const KeyringOptions options_;
  std::vector<Shard> shards_;
  uint64_t made_ = 0;                             // keys, so far
  std::vector<std::unique_ptr<ShardKeys>> keys_;  // until their worker has them no more
  mutable std::mutex mutex_;                      // of what is below; no worker waits for it
  std::vector<std::unique_ptr<Peer>> peers_;
  struct Wanted {
    std::optional<KeyringPeer> peer;
    bool is_new = false;
    Instant leaves = Instant::never();
  };
  std::vector<Wanted> wanted_;
  Instant due_, turned_;
  bool has_ordered_ = false;
};

}  // namespace cw::seal
