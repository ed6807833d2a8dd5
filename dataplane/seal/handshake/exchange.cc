#include "dataplane/seal/handshake/exchange.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <tuple>
#include <utility>

#include "dataplane/base/assert.h"

namespace cw::seal {
namespace {

constexpr std::string_view prologue_text = "causeway seal 1";
constexpr Duration look_every = Duration::from_ms(100);
/// While the other may use a session for the first time, by which ours are sealed from then on.
constexpr Duration look_soon = Duration::from_ms(1);
constexpr Duration cookie_life = Duration::from_s(120);
constexpr unsigned places_bits = 3;
static_assert(sessions_max == size_t{1} << places_bits);

std::span<const uint8_t> prologue() {
  return {reinterpret_cast<const uint8_t*>(prologue_text.data()), prologue_text.size()};
}

uint32_t fresh_ticket() {
  const Secret random = Secret::random();
  uint32_t ticket;
  std::memcpy(&ticket, random.bytes().data(), sizeof ticket);
  return std::max(ticket, uint32_t{1});
}

PublicKey ephemeral_of(std::span<const uint8_t> packet) {
  PublicKey key;
  std::ranges::copy(message_of(packet).first(key_bytes), key.begin());
  return key;
}

}  // namespace

Exchange::Exchange(ExchangeOptions options, ExchangeUser& user, Instant now)
    : options_(std::move(options)),
      user_(user),
      attempt_due_(now),
      heard_(now),
      cookie_secret_(Secret::random()),
      cookie_since_(now),
      unproven_{.left = 4, .most = 4, .per_second = 4, .at = now},
      proven_{.left = 16, .most = 16, .per_second = 16, .at = now},
      due_(now) {
  CW_ASSERT(!options_.kinds.empty());
  // What an earlier life's peer still sends is mostly of no index here.
  std::ranges::copy(Secret::random().bytes().first<sessions_max>(), rounds_.begin());
}

bool Exchange::Allowance::try_take(Instant now) {
  left = std::min(most, left + (now - at).seconds() * per_second);
  at = now;
  if (left < 1) return false;
  left -= 1;
  return true;
}

void Exchange::on_packet(std::span<const uint8_t> packet, Instant now) {
  switch (head_of(packet).type) {
    case HandshakeType::First:
      on_first(packet, now);
      break;
    case HandshakeType::Second:
      on_second(packet, now);
      break;
    case HandshakeType::Cookie:
      on_cookie(packet, now);
      break;
  }
}

void Exchange::on_time(Instant now) {
  look_at_use(now);
  end_old(now);
  if (attempt_ && now - attempt_->since > options_.attempt_max) attempt_.reset();
  if (!attempt_ && attempt_due_ <= now && wants_new(now)) begin_attempt(now);
  if (attempt_ && attempt_->due <= now) say_first(now);
  const bool waits = std::ranges::any_of(sessions_, [](const Session& each) {
    return each.number != 0 && !each.is_ours && !each.is_proven;
  });
  due_ = now + (waits ? look_soon : look_every);
  if (attempt_) due_ = std::min(due_, attempt_->due);
}

void Exchange::on_gap(Duration gap) {
  heard_ = heard_ + gap;  // what has come meanwhile is not read yet
}

// ---- asking -------------------------------------------------------------------------------------

bool Exchange::wants_new(Instant now) const {
  const Session* const it = find(current_);
  if (it == nullptr) return true;
  const Duration age_most = it->is_ours ? options_.renew_own : options_.renew_others;
  if (now - it->since >= age_most) return true;
  if (user_.use_of(current_).sealed_most >= options_.packets_renew) return true;
  return now - std::max(heard_, it->since) >= options_.silence;
}

void Exchange::begin_attempt(Instant now) {
  const bool takes_next = options_.next_other && attempts_++ % 2 == 1;
  const PublicKey& other = takes_next ? *options_.next_other : options_.other;
  const uint8_t index = take_index();
  Initiator initiator(options_.own, other, prologue());
  auto message = initiator.write_first(bytes_of(our_offer(index)));
  if (!message) {
    trouble_ = "the peer's public key is none: no secret can be shared by it";
    attempt_due_ = now + options_.retry_max;
    return;
  }
  attempt_.emplace(fresh_ticket(), index, other, std::move(initiator), std::move(*message), Check{},
                   now, now, options_.retry_min);
}

void Exchange::say_first(Instant now) {
  if (cookie_ && cookie_until_ <= now) cookie_.reset();
  const auto packet = handshake_packet({HandshakeType::First, attempt_->ticket}, attempt_->message,
                                       MessageCheck(attempt_->other), cookie_);
  attempt_->first_check = first_check_of(packet);
  attempt_->due = now + attempt_->interval;
  attempt_->interval = std::min(attempt_->interval * 2, options_.retry_max);
  ++counts_.asked;
  user_.say(packet);
}

void Exchange::on_second(std::span<const uint8_t> packet, Instant now) {
  if (!attempt_ || head_of(packet).ticket != attempt_->ticket) return;
  const auto end = attempt_->initiator.read_second(message_of(packet), options_.preshared);
  if (!end) {
    ++counts_.refused;
    trouble_ =
        "the peer answers, and not as the holder of peer.public_key; "
        "do both have the same peer.preshared_key_file?";
    return;
  }
  const auto theirs = parse_offer(end->payload);
  const uint8_t index = attempt_->index;
  attempt_.reset();
  attempt_due_ = now;
  if (!theirs || !is_alike(*theirs)) {
    attempt_due_ = now + options_.retry_max;
    return;
  }
  const auto kind = choose(theirs->kinds);
  if (!kind || theirs->kinds != 1u << *kind) {
    trouble_ = "the peer chose no cipher that was offered to it";
    attempt_due_ = now + options_.retry_max;
    return;
  }
  Session session{.number = ++numbers_,
                  .index = index,
                  .kind = *kind,
                  .is_ours = true,
                  .since = now,
                  .opened_at = now};
  add(std::move(session), *theirs, end->keys);
  use(*find(numbers_));
}

void Exchange::on_cookie(std::span<const uint8_t> packet, Instant now) {
  if (!attempt_ || head_of(packet).ticket != attempt_->ticket) return;
  const auto cookie = open_cookie(packet, attempt_->other, attempt_->first_check);
  if (!cookie || cookie == cookie_) return;
  cookie_ = cookie;
  cookie_until_ = now + cookie_life;
  say_first(now);
}

// ---- answering ----------------------------------------------------------------------------------

void Exchange::on_first(std::span<const uint8_t> packet, Instant now) {
  if (!may_answer(packet, now)) return;
  const PublicKey ephemeral = ephemeral_of(packet);
  for (const Session& each : sessions_) {
    if (each.number == 0 || each.is_ours || each.ephemeral != ephemeral) continue;
    // Which was lost, or this is a replay: of another ticket, where somebody gave it one.
    if (!each.is_proven) say_second(each.other, each.second, packet);
    return;
  }
  Responder responder(options_.own, prologue());
  const auto payload = responder.read_first(message_of(packet));
  const auto offer = payload ? parse_offer(*payload) : std::nullopt;
  if (!offer) return void(++counts_.refused);
  if (!is_other(responder.other())) {
    ++counts_.refused;
    trouble_ = "who asks at the peer's address has the public key " + text_of(responder.other()) +
               ", which is not peer.public_key";
    return;
  }
  answer(responder, *offer, packet, now);
}

/// What asks with a cookie has its answers sent to where it is: it goes before what has none.
bool Exchange::may_answer(std::span<const uint8_t> packet, Instant now) {
  const Check wanted = cookie(now);
  if (has_cookie(packet, wanted)) return proven_.try_take(now);
  if (unproven_.try_take(now)) return true;
  ++counts_.cookies;
  // To whoever it is: the one who asks can read it if it is the peer, or knows its public key.
  say_cookie(options_.other, wanted, packet);
  if (options_.next_other) say_cookie(*options_.next_other, wanted, packet);
  return false;
}

void Exchange::say_cookie(const PublicKey& other, const Check& cookie,
                          std::span<const uint8_t> first) {
  user_.say(cookie_packet(head_of(first).ticket, cookie, options_.own.public_key,
                          first_check_of(first), MessageCheck(other)));
}

void Exchange::answer(Responder& responder, const Offer& offer, std::span<const uint8_t> packet,
                      Instant now) {
  const auto kind = choose(offer.kinds);
  look_at_use(now);  // what a worker has begun to seal by is not to go for this
  const bool is_agreed = is_alike(offer) && kind;
  if (!kind) trouble_ = "the peer offers no cipher that this site has";
  const uint8_t index = is_agreed ? take_index() : 0;
  Offer ours = our_offer(index);
  ours.kinds = is_agreed ? static_cast<uint8_t>(1u << *kind) : 0;
  const auto answer = responder.write_second(bytes_of(ours), options_.preshared);
  if (!answer) return void(++counts_.refused);
  ++counts_.answered;
  if (is_agreed) {
    Session session{.number = ++numbers_,
                    .index = index,
                    .kind = *kind,
                    .since = now,
                    .opened_at = now,
                    .other = responder.other(),
                    .ephemeral = ephemeral_of(packet),
                    .second = answer->message};
    add(std::move(session), offer, answer->keys);
    due_ = now;
  }
  // Behind the keys: what comes by them can be opened [C-81].
  say_second(responder.other(), answer->message, packet);
}

void Exchange::say_second(const PublicKey& other, std::span<const uint8_t> message,
                          std::span<const uint8_t> first) {
  user_.say(handshake_packet({HandshakeType::Second, head_of(first).ticket}, message,
                             MessageCheck(other), std::nullopt));
}

Check Exchange::cookie(Instant now) {
  if (now - cookie_since_ >= cookie_life) {
    cookie_secret_ = Secret::random();
    cookie_since_ = now;
  }
  // A site has an address, and an exchange is one site's: the port tells whose a packet is by that.
  Check made;
  std::ranges::copy(cookie_secret_.bytes().first<check_bytes>(), made.begin());
  return made;
}

// ---- sessions -----------------------------------------------------------------------------------

void Exchange::add(Session session, const Offer& theirs, const SessionKeys& keys) {
  Session& place = sessions_[session.index % sessions_max];
  if (place.number != 0) drop(place);
  place = std::move(session);
  ++counts_.agreed;
  user_.add({.session = place.number,
             .receive_index = place.index,
             .send_index = theirs.index,
             .kind = place.kind,
             .covers_psns = options_.has_psns && theirs.has_psns,
             .send = keys.send,
             .receive = keys.receive,
             .hash = keys.hash});
}

void Exchange::use(const Session& session) {
  if (session.number <= newest_) return;  // as a worker does
  current_ = newest_ = session.number;
  trouble_.clear();
  user_.use(current_);
}

void Exchange::drop(Session& session) {
  user_.drop(session.number);
  if (session.number == current_) current_ = 0;
  session = {};
}

/// What has been opened by a session proves that the other has it.
void Exchange::look_at_use(Instant now) {
  for (Session& each : sessions_) {
    if (each.number == 0) continue;
    const uint64_t opened = user_.use_of(each.number).opened;
    if (opened == each.opened) continue;
    each.opened = opened;
    each.opened_at = heard_ = now;
    if (!std::exchange(each.is_proven, true) && !each.is_ours) use(each);
  }
}

/// Each end seals by one session, and they need not agree on which: what the other seals by is kept
/// as long as it does, or may. It began later than here if its question was answered again, while
/// nothing was opened. What is replayed is opened as well, and would keep old keys for ever.
void Exchange::end_old(Instant now) {
  for (Session& each : sessions_) {
    if (each.number == 0) continue;
    const bool is_current = each.number == current_;
    const Duration age = now - each.since;
    const bool is_old = age >= options_.age_max + (is_current ? Duration() : options_.unused_max);
    const bool is_silent = now - each.opened_at >= options_.unused_max;
    if (is_old || (!is_current && is_silent)) drop(each);
  }
}

/// A free place, or that of the oldest which nobody has proven to have.
uint8_t Exchange::take_index() {
  const auto cost = [this](size_t place) {
    const Session& it = sessions_[place];
    const bool is_held = attempt_ && attempt_->index % sessions_max == place;
    return std::tuple(is_held || (it.number != 0 && it.number == current_), it.is_proven,
                      it.number);
  };
  size_t best = 0;
  for (size_t i = 1; i < sessions_max; ++i) best = cost(i) < cost(best) ? i : best;
  const uint8_t round = rounds_[best]++;
  return static_cast<uint8_t>(round << places_bits | best);
}

Exchange::Session* Exchange::find(uint64_t number) {
  return const_cast<Session*>(std::as_const(*this).find(number));
}

const Exchange::Session* Exchange::find(uint64_t number) const {
  const auto it = std::ranges::find(sessions_, number, &Session::number);
  return number == 0 || it == sessions_.end() ? nullptr : &*it;
}

std::optional<cw_aead_kind> Exchange::choose(uint8_t kinds) const {
  for (const cw_aead_kind each : options_.kinds) {
    if ((kinds & 1u << each) != 0) return each;
  }
  return std::nullopt;
}

/// [C-80]
bool Exchange::is_other(const PublicKey& key) const {
  return key == options_.other || (options_.next_other && key == *options_.next_other);
}

Offer Exchange::our_offer(uint8_t index) const {
  Offer offer{
      .index = index, .kinds = 0, .has_psns = options_.has_psns, .seals_data = options_.seals_data};
  for (const cw_aead_kind each : options_.kinds) {
    offer.kinds = static_cast<uint8_t>(offer.kinds | 1u << each);
  }
  return offer;
}

bool Exchange::is_alike(const Offer& theirs) {
  if (theirs.seals_data == options_.seals_data) return true;
  trouble_ = options_.seals_data ? "the peer has pair.seal = false, and this site has not"
                                 : "this site has pair.seal = false, and the peer has not";
  return false;
}

}  // namespace cw::seal
