#include "dataplane/datagram/membership.h"

#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/core/wire_drops.h"

namespace cw::group {
namespace {

constexpr RecordTypes join_and_pad = types_of<Join, Pad>;

template <class Record>
std::optional<Record> first_of(RecordReader records) {
  while (const auto view = records.next()) {
    if (view->type != std::to_underlying(Record::type)) continue;
    const auto record = parse<Record>(*view);
    if (record) return *record;
  }
  return std::nullopt;
}

}  // namespace

Membership::Membership(const MembershipOptions& options)
    : options_(options),
      macs_(options.secret, options.mac, options.rank),
      rows_(options.peers.size()),
      asked_(options.rank == 0 ? options.peers.size() : 0) {
  CW_ASSERT(is_member_count(members()) && options.rank < members());
  CW_ASSERT(options.sites.empty() || options.sites.size() == options.peers.size());
  answers_.reserve(rows_.size());
  for (size_t rank = 0; rank < rows_.size(); ++rank) {
    rows_[rank].peer = options.peers[rank];
    if (!options.sites.empty()) rows_[rank].site = options.sites[rank];
  }
  nonce_ = options.random.fresh();
  own_key_ = static_cast<uint32_t>(options.random.fresh() >> 32 | 1);
  join_due_ = rank() == 0 ? Instant::never() : Instant();
  if (members() == 1) draw_epoch();
}

// ---- what comes ----

std::expected<Membership::Opened, DropReason> Membership::open(uint16_t peer,
                                                               std::span<const uint8_t> bytes,
                                                               Instant now) {
  const EnvelopeHeader peeked = peek_envelope(bytes).header;
  const uint16_t from = peeked.link;
  if (from == rank()) return std::unexpected(DropReason::epoch_reflected);
  if (from >= members() || rows_[from].peer != peer) {
    return std::unexpected(DropReason::group_source);
  }
  const bool is_of_epoch = is_in_force() && peeked.receiver_nonce == epoch_.id;
  const auto envelope =
      open_envelope(bytes, macs_.with(from, is_of_epoch ? epoch_.id : 0), Records::types);
  if (!envelope) return std::unexpected(reason_of(envelope.error()));
  return is_of_epoch ? take_of_epoch(from, *envelope, now) : take_stranger(from, *envelope, now);
}

std::expected<Membership::Opened, DropReason> Membership::take_of_epoch(uint16_t from,
                                                                        const Envelope& envelope,
                                                                        Instant now) {
  MemberRow& row = rows_[from];
  if (row.nonce == 0) row.nonce = envelope.header.sender_nonce;
  if (row.nonce != envelope.header.sender_nonce) return std::unexpected(DropReason::epoch_stale);
  if (!row.replay.try_accept(envelope.header.sequence))
    return std::unexpected(DropReason::epoch_replay);
  row.heard = now;
  const auto join = first_of<Join>(envelope.reader());
  if (join) take_join(from, *join);
  const bool has_ours = !join || join->heard_nonce == nonce_;
  Opened opened{.rank = from,
                .is_of_epoch = true,
                .wants_join = options_.greets && (!row.is_in_epoch || !has_ours),
                .records = envelope.reader()};
  if (join) {
    row.note_clock(join->clock_us, now);
    opened.is_greeted = row.note_echo(join->echo_us, now);
  }
  row.has_our_join = row.has_our_join || has_ours;
  row.is_in_epoch = true;
  return opened;
}

/// SPEC.md 18.13: what is done with an envelope under the key of no epoch.
std::expected<Membership::Opened, DropReason> Membership::take_stranger(uint16_t from,
                                                                        const Envelope& envelope,
                                                                        Instant now) {
  const EnvelopeHeader& header = envelope.header;
  if (header.sender_nonce == nonce_) return std::unexpected(DropReason::epoch_reflected);
  if (rank() != 0) {
    const bool is_answer = from == 0 && header.receiver_nonce == nonce_;
    return is_answer ? take_answer(envelope, now) : std::unexpected(DropReason::epoch_stale);
  }
  if (header.receiver_nonce == nonce_) return take_proven(from, envelope, now);
  const bool is_question = header.receiver_nonce == 0 && (envelope.types & ~join_and_pad) == 0 &&
                           first_of<Join>(envelope.reader()).has_value();
  if (!is_question) return std::unexpected(DropReason::epoch_stale);
  want_answer(from, header.sender_nonce, now);
  return Opened{.rank = from};
}

/// What rank 0 says to a member: JOIN at first, then EPOCH.
std::expected<Membership::Opened, DropReason> Membership::take_answer(const Envelope& envelope,
                                                                      Instant now) {
  const auto epoch = first_of<Epoch>(envelope.reader());
  if (is_in_force()) {
    const bool is_again = epoch && epoch->id == epoch_.id;
    if (!is_again) return std::unexpected(DropReason::epoch_stale);
    return Opened{.rank = 0, .wants_word = true};
  }
  Opened opened{.rank = 0};
  rows_[0].nonce = envelope.header.sender_nonce;
  rows_[0].heard = now;
  unanswered_ = 0;
  if (const auto join = first_of<Join>(envelope.reader())) take_join(0, *join);
  if (epoch) opened.has_begun = opened.wants_word = try_begin(*epoch);
  if (!is_in_force() && !is_told_to_wait_) join_due_ = now;
  is_told_to_wait_ = true;
  return opened;
}

/// What a member says to rank 0 under the nonces of both.
std::expected<Membership::Opened, DropReason> Membership::take_proven(uint16_t from,
                                                                      const Envelope& envelope,
                                                                      Instant now) {
  MemberRow& row = rows_[from];
  const uint64_t nonce = envelope.header.sender_nonce;
  if (is_in_force() && row.nonce != nonce) return Opened{.rank = from, .is_anew = true};
  const auto join = first_of<Join>(envelope.reader());
  if (!join) return std::unexpected(DropReason::epoch_unproven);
  row.nonce = nonce;
  row.heard = now;
  take_join(from, *join);
  proven_count_ += !row.is_proven;
  row.is_proven = true;
  Opened opened{.rank = from};
  if (is_in_force() || !are_all_there()) {
    want_answer(from, nonce, now);
    return opened;
  }
  draw_epoch();
  opened.has_begun = true;
  join_due_ = now;
  return opened;
}

void Membership::take_join(uint16_t from, const Join& join) {
  MemberRow& row = rows_[from];
  row.key = join.key;
  row.qpn = join.qpn;
  row.rate_kbps = static_cast<uint32_t>(std::min<uint64_t>(join.rate_bps / 1000, UINT32_MAX));
  row.payload_bytes = join.payload_bytes;
  row.is_alike = join.digest == options_.digest;
  if (row.is_alike) return;
  obstacle_ = "rank " + std::to_string(from) + " and rank " + std::to_string(rank()) +
              " are not of one group: members, sites, sizes or chains differ";
}

void Membership::want_answer(uint16_t to, uint64_t nonce, Instant now) {
  Asked& asked = asked_[to];
  const bool is_soon = asked.answered != Instant() && now - asked.answered < answer_interval;
  if (is_soon || answers_.size() == answers_.capacity()) return;  // it asks again
  asked = {nonce, now};
  answers_.push_back(to);
  join_due_ = std::min(join_due_, now);
}

// ---- the epoch ----

bool Membership::are_all_there() const {
  return proven_count_ == members() &&
         std::all_of(rows_.begin() + 1, rows_.end(),
                     [](const MemberRow& row) { return row.is_alike; });
}

void Membership::draw_epoch() {
  uint64_t rate_kbps = options_.rate.bps() / 1000;
  uint32_t payload_bytes = options_.payload_bytes;
  for (size_t i = 1; i < rows_.size(); ++i) {
    rate_kbps = std::min<uint64_t>(rate_kbps, rows_[i].rate_kbps);
    payload_bytes = std::min<uint32_t>(payload_bytes, rows_[i].payload_bytes);
  }
  epoch_.key = static_cast<uint32_t>(options_.random.fresh() >> 32);
  epoch_.rate_kbps = static_cast<uint32_t>(std::min<uint64_t>(rate_kbps, UINT32_MAX));
  epoch_.payload_bytes = static_cast<uint16_t>(payload_bytes);
  epoch_.members = members();
  epoch_.id = options_.random.fresh();
  obstacle_.clear();
}

bool Membership::try_begin(const Epoch& epoch) {
  if (epoch.members != members()) return false;
  obstacle_.clear();
  epoch_ = epoch;
  join_due_ = Instant::never();
  return true;
}

// ---- what leaves ----

/// Whoever has not been heard in the epoch may not know of it.
void Membership::repeat_epoch() {
  for (uint16_t each = 1; each < members() && answers_.size() < answers_.capacity(); ++each) {
    if (rows_[each].is_in_epoch) continue;
    asked_[each].nonce = rows_[each].nonce;
    answers_.push_back(each);
  }
}

std::optional<uint16_t> Membership::next_join(Instant now) {
  if (rank() == 0 && is_in_force() && answers_.empty() && now >= join_due_) repeat_epoch();
  if (!answers_.empty()) {
    const uint16_t to = answers_.back();
    answers_.pop_back();
    if (answers_.empty()) join_due_ = is_in_force() ? now + join_interval : Instant::never();
    return to;
  }
  if (rank() == 0 || is_in_force()) return join_due_ = Instant::never(), std::nullopt;
  if (now < join_due_) return std::nullopt;
  join_due_ = now + join_wait();
  if (++unanswered_ > patience) rows_[0].nonce = 0;
  return 0;
}

/// Each member's is another, and another each time: else those who say it at once, and of whom a
/// full switch drops the last, would do so each time, and be the same ones.
Duration Membership::join_wait() const {
  const uint64_t drawn = Prng(nonce_ + unanswered_).next();
  return join_interval / 2 +
         Duration::from_ns(static_cast<int64_t>(drawn % static_cast<uint64_t>(join_interval.ns())));
}

EnvelopeHeader Membership::next_header(uint16_t to) {
  return {.sender_nonce = nonce_,
          .receiver_nonce = is_in_epoch(to) ? epoch_.id : nonce_for(to),
          .sequence = ++sequence_,
          .link = rank()};
}

/// In an epoch one stands first in each envelope to a member of which nothing has come, and in
/// another one to who has said one.
bool Membership::add_join(uint16_t to, EnvelopeWriter& writer, Instant now) {
  MemberRow& row = rows_[to];
  if (is_in_epoch(to) && row.has_our_join && !row.is_echo_due) return false;
  const Join join{.heard_nonce = is_in_epoch(to) ? row.nonce : nonce_for(to),
                  .key = own_key_,
                  .qpn = options_.qpn_on_wire != 0 ? options_.qpn_on_wire : options_.qpn,
                  .rate_bps = options_.rate.bps(),
                  .payload_bytes = static_cast<uint16_t>(options_.payload_bytes),
                  .site = rows_[rank()].site,
                  .digest = options_.digest,
                  .clock_us = clock_us_of(now),
                  .echo_us = row.echo(now)};
  if (!writer.try_add(join)) return false;
  row.has_echo = row.has_echo || row.is_echo_due;
  row.is_echo_due = false;
  const bool wants_epoch =
      rank() == 0 && is_in_force() && !row.is_in_epoch && nonce_for(to) == row.nonce;
  if (wants_epoch) return writer.try_add(epoch_);
  // As long as a full datagram, which so is known to arrive.
  return rank() == 0 || is_in_force() ||
         writer.try_add(Pad{{static_cast<uint16_t>(writer.body_room())}});
}

}  // namespace cw::group
