// Knows the keys of simulated sites as they agree on them, and sees that no number is used twice
// under one of them: over resends, restarts, swaps and shards.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "dataplane/seal/keyring.h"
#include "tests/sim/gateway/site_seat.h"

namespace cw::sim {

class SealWatch final : public WanTap, public KeyLogs {
 public:
  seal::KeyLog& log_of(int site) override;

  /// Complains of a number that was there under its key, and of what is sealed by none that the
  /// site has.
  void on_sent(const WanEnd& end, const Packet& packet, Instant now) override;
  void on_received(const WanEnd&, const Packet&, Instant) override {}
  /// What a packet that a site sends says inside. Nothing: it is a handshake's, or of no session.
  std::optional<std::vector<uint8_t>> open(const WanEnd& end, const Packet& packet) const;

  /// The first complaint; empty: there is none.
  const std::string& complaint() const { return complaint_; }
  uint64_t sealed_count() const { return sealed_; }
  uint64_t session_count() const { return sessions_.size(); }

 private:
  struct Session {
    std::array<uint8_t, seal::key_bytes> key{};
    cw_aead_kind kind = CW_AEAD_AES_128_GCM;
    bool covers_psns = false;
    std::unordered_set<uint64_t> numbers;
  };
  class Log final : public seal::KeyLog {
   public:
    Log(SealWatch& watch, int site) : watch_(watch), site_(site) {}
    void agreed(const std::string& name, const seal::Agreement& agreement) override;

   private:
    SealWatch& watch_;
    const int site_;
  };
  using Bytes = std::vector<uint8_t>;
  struct Sealed {
    Arrival arrival;
    uint64_t number = 0;
  };
  /// Nothing: a handshake's, or no packet of a link.
  static std::optional<Sealed> sealed_in(const Packet& packet);
  /// By which the end has sealed it, and what was in it; null: none. A receiver that begins anew
  /// gives its indices again, while the end goes on by the session before.
  Session* find(const WanEnd& end, const Sealed& sealed, Bytes& payload) const;
  static bool try_open(const Session& session, const Sealed& sealed, Bytes& payload);

  std::map<int, std::unique_ptr<Log>> logs_;
  std::deque<Session> sessions_;
  std::map<std::array<uint8_t, seal::key_bytes>, Session*> by_key_;
  /// The last with that index, by site, peer and index: the newest first.
  std::map<int, std::deque<Session*>> by_index_;
  std::string complaint_;
  uint64_t sealed_ = 0;
};

}  // namespace cw::sim
