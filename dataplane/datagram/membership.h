// Who the members of a group are, and the epoch in which they are one (SPEC.md 18.4 to 18.6,
// 18.13): joins, keys, and the envelopes between two of them.
//
//   member   joining: JOIN to rank 0, again and again -> EPOCH -> in force
//   rank 0   hears JOINs; all are proven -> draws the epoch, says it to each -> in force
//
// A group whose member begins anew is over: there is no way back, but to make another one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/base/units.h"
#include "dataplane/core/counters.h"
#include "dataplane/datagram/member_row.h"
#include "dataplane/wire/control/envelope.h"
#include "dataplane/wire/group/check.h"
#include "dataplane/wire/group/datagram_inline.h"
#include "dataplane/wire/group/pair_macs.h"
#include "dataplane/wire/group/records.h"

namespace cw::group {

struct MembershipOptions {
  uint16_t rank = 0;
  std::vector<uint16_t> peers;  ///< by rank: what the port calls it; its own does not matter
  std::vector<uint16_t> sites;  ///< by rank; empty: all are of one
  MacKey secret;
  MacMaker mac;
  RandomSource random;
  uint32_t qpn = qpn_default;  ///< ours, and theirs before they say
  uint32_t qpn_on_wire = 0;    ///< what they are to call ours; 0: the same
  Rate rate;                   ///< that we can receive
  uint32_t payload_bytes = 0;  ///< of the largest slot that the port carries
  uint32_t digest = 0;         ///< of what all must have alike
  bool greets = false;         ///< in an epoch, whoever speaks first is answered at once
};

/// Thread: the turn's. Nothing allocates once it is made.
class Membership {
 public:
  explicit Membership(const MembershipOptions& options);

  uint16_t rank() const { return options_.rank; }
  uint16_t members() const { return static_cast<uint16_t>(rows_.size()); }
  uint16_t site_of(uint16_t rank) const { return rows_[rank].site; }
  MemberRow& row(uint16_t rank) { return rows_[rank]; }
  const MemberRow& row(uint16_t rank) const { return rows_[rank]; }
  uint32_t qpn() const { return options_.qpn; }

  bool is_in_force() const { return epoch_.id != 0; }
  /// What all go by, while it is in force.
  const Epoch& epoch() const { return epoch_; }
  Member self() const {
    return {.group_key = epoch_.key, .own_key = own_key_, .members = members(), .rank = rank()};
  }
  /// Why there is no epoch; empty: nobody knows, or there is one.
  const std::string& obstacle() const { return obstacle_; }

  /// What an envelope brought, for whoever goes on with its records.
  struct Opened {
    uint16_t rank = 0;
    bool is_of_epoch = false;  ///< else its records have been dealt with here
    bool has_begun = false;    ///< an epoch is in force that was not
    bool wants_word = false;   ///< rank 0 is to hear something of the epoch
    bool is_anew = false;      ///< `rank` is another process than the one in the epoch
    bool wants_join = false;   ///< it is to be answered at once: greets
    bool is_greeted = false;   ///< it has told what a round trip takes, first of all
    RecordReader records{{}, 0};
  };
  /// Opens what came from a peer of the port, and takes JOIN and EPOCH of it. `bytes` is hostile.
  std::expected<Opened, DropReason> open(uint16_t peer, std::span<const uint8_t> bytes,
                                         Instant now);

  /// When join() is to be called.
  Instant join_due() const { return join_due_; }
  /// Whom to say JOIN or EPOCH to now, one each call; nothing: nobody.
  std::optional<uint16_t> next_join(Instant now);

  /// Of an envelope: a packet as long as a full slot's at most (SPEC.md 18.4).
  size_t envelope_bytes_max() const {
    constexpr size_t beyond = envelope_bytes_beyond_slot;
    if (!is_in_force()) return options_.payload_bytes + beyond;
    return std::min(limits::group_control_bytes_max, epoch_.payload_bytes + beyond);
  }
  /// An envelope to a member, with JOIN or EPOCH first where it wants them. `add` adds records and
  /// returns whether there were any. Returns its bytes; 0: nothing to say.
  template <class Add>
  size_t write(uint16_t to, std::span<uint8_t> buffer, Instant now, const Add& add) {
    EnvelopeWriter writer(buffer, next_header(to));
    const bool has_join = add_join(to, writer, now);
    const bool has_more = is_in_epoch(to) && add(writer);
    if (!has_join && !has_more) return 0;
    const size_t bytes = writer.seal(key_to(to));
    if (rank() == 0) asked_[to].nonce = 0;
    return bytes;
  }
  /// Where a member takes envelopes and datagrams.
  uint32_t qpn_of(uint16_t rank) const {
    return rows_[rank].qpn != 0 ? rows_[rank].qpn : options_.qpn;
  }

 private:
  static constexpr Duration join_interval = Duration::from_ms(100);
  static constexpr Duration answer_interval = Duration::from_ms(10);
  /// JOINs without an answer, after which rank 0 may be another than the one that was heard.
  static constexpr uint32_t patience = 3;

  /// Who wants an answer of rank 0, by which nonce, and when one was last made.
  struct Asked {
    uint64_t nonce = 0;
    Instant answered;
  };

  std::expected<Opened, DropReason> take_stranger(uint16_t rank, const Envelope& envelope,
                                                  Instant now);
  std::expected<Opened, DropReason> take_of_epoch(uint16_t rank, const Envelope& envelope,
                                                  Instant now);
  std::expected<Opened, DropReason> take_answer(const Envelope& envelope, Instant now);
  std::expected<Opened, DropReason> take_proven(uint16_t rank, const Envelope& envelope,
                                                Instant now);
  void take_join(uint16_t rank, const Join& join);
  bool try_begin(const Epoch& epoch);
  void draw_epoch();
  bool are_all_there() const;
  /// What we say to it goes under the epoch's key: else it may be one that knows of none.
  bool is_in_epoch(uint16_t to) const {
    if (rank() != 0) return is_in_force();
    return is_in_force() && rows_[to].is_in_epoch && asked_[to].nonce == 0;
  }
  bool add_join(uint16_t to, EnvelopeWriter& writer, Instant now);
  EnvelopeHeader next_header(uint16_t to);
  /// EPOCH itself still goes under the key of none.
  MacKey key_to(uint16_t to) { return macs_.with(to, is_in_epoch(to) ? epoch_.id : 0); }
  /// By which we speak to it before the epoch; 0: not known.
  uint64_t nonce_for(uint16_t to) const {
    return rank() == 0 && asked_[to].nonce != 0 ? asked_[to].nonce : rows_[to].nonce;
  }
  void repeat_epoch();
  Duration join_wait() const;
  void want_answer(uint16_t rank, uint64_t nonce, Instant now);

  MembershipOptions options_;
  PairMacs macs_;
  std::vector<MemberRow> rows_;
  std::vector<uint16_t> answers_;  // ranks that rank 0 is to answer
  std::vector<Asked> asked_;       // by rank; of rank 0 alone
  Epoch epoch_;
  uint64_t nonce_ = 0, sequence_ = 0;
  uint32_t own_key_ = 0;
  uint16_t proven_count_ = 1;  // of rank 0: itself
  uint32_t unanswered_ = 0;    // JOINs
  bool is_told_to_wait_ = false;
  Instant join_due_;
  std::string obstacle_;
};

}  // namespace cw::group
