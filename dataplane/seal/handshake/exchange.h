// How a site comes to have keys with one other, and always fresh ones (SPEC.md 19.2): both ends
// ask, both answer, and either end's session will do.
//
//   asking    first message -> ... again, until there is a second -> session, used at once
//   asked     first message came -> second -> session, used from when something was opened by it
//
// No clock is compared and no state is kept for what may be a replay but one of sessions_max
// places, for a while: a session that nobody but the holder of the ephemeral key can use. Thread:
// one. Cost: a message that comes or leaves some hundred microseconds. Allocates.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/units.h"
#include "dataplane/seal/handshake/packet.h"
#include "dataplane/seal/session/session.h"

namespace cw::seal {

struct ExchangeOptions {
  Identity own;
  PublicKey other{};
  std::optional<PublicKey>
      next_other;                   ///< is taken for it as well, while that site changes its key
  Secret preshared;                 ///< zeros: there is none
  std::vector<cw_aead_kind> kinds;  ///< the dearest first; not empty
  bool has_psns = true, seals_data = true;

  Duration retry_min = Duration::from_ms(250), retry_max = Duration::from_s(5);
  Duration attempt_max = Duration::from_s(20);  ///< then it begins anew, with another ephemeral key
  Duration renew_own = Duration::from_s(120);   ///< age of a session that this end asked for
  Duration renew_others = Duration::from_s(150);
  Duration age_max = Duration::from_s(180);        ///< then it is used no more
  Duration silence = Duration::from_s(5);          ///< after which new keys are asked for
  Duration unused_max = Duration::from_s(30);      ///< what has opened nothing for so long is over
  uint64_t packets_renew = packets_max / 16 * 15;  ///< of one shard
};

/// Both ends have it now.
struct Agreement {
  uint64_t session = 0;  ///< a number that no other of this exchange has
  uint8_t receive_index = 0, send_index = 0;
  cw_aead_kind kind = CW_AEAD_AES_128_GCM;
  bool covers_psns = false;
  Secret send, receive;
  Hash hash{};
};

/// Of a session, over all shards.
struct SessionUse {
  uint64_t sealed_most = 0;  ///< by one shard
  uint64_t opened = 0;
};

/// What an exchange acts on.
class ExchangeUser {
 public:
  virtual ~ExchangeUser() = default;
  virtual void say(std::span<const uint8_t> packet) = 0;
  virtual void add(const Agreement& agreement) = 0;
  virtual void use(uint64_t session) = 0;
  virtual void drop(uint64_t session) = 0;
  virtual SessionUse use_of(uint64_t session) const = 0;
};

/// Each only grows.
struct ExchangeCounts {
  uint64_t asked = 0, answered = 0, agreed = 0;
  uint64_t refused = 0;  ///< messages that Noise did not take, or of a key that is not the peer's
  uint64_t cookies = 0;  ///< asked for, as there were many
};

class Exchange {
 public:
  /// `user` outlives it.
  Exchange(ExchangeOptions options, ExchangeUser& user, Instant now);

  /// A packet that fits this site's MessageCheck.
  void on_packet(std::span<const uint8_t> packet, Instant now);
  void on_time(Instant now);
  /// When on_time() has work next; looking at what sessions are used for, ten times a second.
  Instant next_due() const { return due_; }
  /// This thread stood still for so long.
  void on_gap(Duration gap);

  bool has_keys() const { return current_ != 0; }
  // Of the session in use, if it has keys.
  cw_aead_kind kind() const { return find(current_)->kind; }
  Duration age(Instant now) const { return now - find(current_)->since; }
  /// Why there are none, or will be no more; empty: nobody knows of a reason.
  const std::string& trouble() const { return trouble_; }
  const ExchangeCounts& counts() const { return counts_; }

 private:
  struct Session {
    uint64_t number = 0;  // 0: the place is free
    uint8_t index = 0;
    cw_aead_kind kind = CW_AEAD_AES_128_GCM;
    bool is_ours = false, is_proven = false;
    Instant since, opened_at;
    uint64_t opened = 0;
    PublicKey other{}, ephemeral{};  // of who asked
    std::vector<uint8_t> second;     // the message that he was answered with
  };
  struct Attempt {
    uint32_t ticket;
    uint8_t index;
    PublicKey other;
    Initiator initiator;
    std::vector<uint8_t> message;
    Check first_check{};
    Instant since, due;
    Duration interval;
  };
  /// So many at once, and so many a second.
  struct Allowance {
    double left, most, per_second;
    Instant at;
    bool try_take(Instant now);
  };

  void on_first(std::span<const uint8_t> packet, Instant now);
  void on_second(std::span<const uint8_t> packet, Instant now);
  void on_cookie(std::span<const uint8_t> packet, Instant now);
  bool may_answer(std::span<const uint8_t> packet, Instant now);
  void say_cookie(const PublicKey& other, const Check& cookie, std::span<const uint8_t> first);
  void say_second(const PublicKey& other, std::span<const uint8_t> message,
                  std::span<const uint8_t> first);
  void answer(Responder& responder, const Offer& offer, std::span<const uint8_t> packet,
              Instant now);
  void begin_attempt(Instant now);
  void say_first(Instant now);
  void add(Session session, const Offer& theirs, const SessionKeys& keys);
  void use(const Session& session);
  void drop(Session& session);
  void look_at_use(Instant now);
  void end_old(Instant now);
  bool wants_new(Instant now) const;
  uint8_t take_index();
  Session* find(uint64_t number);
  const Session* find(uint64_t number) const;
  Check cookie(Instant now);
  std::optional<cw_aead_kind> choose(uint8_t kinds) const;
  bool is_other(const PublicKey& key) const;
  Offer our_offer(uint8_t index) const;
  bool is_alike(const Offer& theirs);

  ExchangeOptions options_;
  ExchangeUser& user_;
  std::array<Session, sessions_max> sessions_;
  std::array<uint8_t, sessions_max> rounds_{};  // of indices, by place
  std::optional<Attempt> attempt_;
  size_t attempts_ = 0;
  Instant attempt_due_;  // not before
  uint64_t numbers_ = 0, current_ = 0;
  uint64_t newest_ = 0;  // that was ever used
  Instant heard_;
  Secret cookie_secret_;
  Instant cookie_since_;
  std::optional<Check> cookie_;  // of the other's, for us
  Instant cookie_until_;
  Allowance unproven_, proven_;
  Instant due_;
  std::string trouble_;
  ExchangeCounts counts_;
};

}  // namespace cw::seal
