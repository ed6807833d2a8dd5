// Two sites agree on keys under a schedule of bytes: packets are lost, come twice, late, in another
// order, reflected or changed, time jumps, sites begin anew with other keys and options, and a peer
// who has the keys says what he likes inside the handshake. Whatever happens, no site has more
// sessions than there are places, none of them by keys that were there before, and none is sealed
// by that nobody else has ever had the keys of.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/seal/handshake/exchange.h"
#include "tests/fuzz/fixed_random.h"
#include "tests/fuzz/orders.h"

namespace {
using namespace cw;
using namespace cw::seal;

using Bytes = std::vector<uint8_t>;
using Raw = std::array<uint8_t, key_bytes>;

constexpr size_t said_max = 512, mad_max = 64, orders_max = 256;

Raw raw_of(const Secret& secret) {
  Raw raw;
  std::ranges::copy(secret.bytes(), raw.begin());
  return raw;
}

/// The two identities of each site, of which it changes from one to the other.
const Identity& identity(bool is_b, bool is_second) {
  static const auto made = [] {
    std::array<Identity, 4> all;
    for (size_t i = 0; i < all.size(); ++i) {
      Secret secret;
      std::ranges::fill(secret.bytes(), static_cast<uint8_t>(i + 1));
      all[i] = Identity::of(secret);
    }
    return all;
  }();
  return made[(is_b ? 2 : 0) + (is_second ? 1 : 0)];
}

struct World;

/// What one end of a session has, whoever that is.
struct Half {
  Raw send, receive;
  Hash hash;
  uint8_t receive_index, send_index;
  cw_aead_kind kind;
  bool is_mirror_of(const Half& other) const {
    return send == other.receive && receive == other.send && hash == other.hash &&
           receive_index == other.send_index && send_index == other.receive_index &&
           kind == other.kind;
  }
};

/// A site, from one beginning to the next.
class Site final : public ExchangeUser {
 public:
  Site(World& world, bool is_b, ExchangeOptions options, Instant now)
      : world_(world), is_b_(is_b), options_(options), exchange_(std::move(options), *this, now) {}

  void say(std::span<const uint8_t> packet) override;
  void add(const Agreement& agreement) override;
  void use(uint64_t session) override;
  void drop(uint64_t session) override {
    CW_ASSERT(open_.erase(session) == 1);
    if (session == used_) used_ = 0;
  }
  SessionUse use_of(uint64_t session) const override {
    const auto it = open_.find(session);
    return it == open_.end() ? SessionUse{} : it->second.use;
  }

  void hear(const Bytes& packet, Instant now) {
    if (MessageCheck(options_.own.public_key).fits(packet)) exchange_.on_packet(packet, now);
  }
  void on_time(Instant now) {
    if (exchange_.next_due() > now) return;
    exchange_.on_time(now);
    CW_ASSERT(exchange_.next_due() > now);
    CW_ASSERT(exchange_.has_keys() == (used_ != 0));
    CW_ASSERT(used_ == 0 || exchange_.age(now) < options_.age_max);
  }
  void on_gap(Duration gap) { exchange_.on_gap(gap); }

  /// Seals packets, by which the other learns that this end has the keys.
  std::optional<Half> seal(uint64_t count) {
    const auto it = open_.find(used_);
    if (it == open_.end()) return std::nullopt;
    it->second.use.sealed_most += count;
    return it->second.half;
  }
  /// Opens one of who has this half.
  void open(const Half& of) {
    for (auto& [number, session] : open_) {
      if (session.half.is_mirror_of(of)) ++session.use.opened;
    }
  }
  const ExchangeOptions& options() const { return options_; }

 private:
  struct Open {
    Half half;
    SessionUse use;
  };
  World& world_;
  const bool is_b_;
  const ExchangeOptions options_;
  std::map<uint64_t, Open> open_;
  std::set<uint64_t> numbers_;
  uint64_t used_ = 0;
  Exchange exchange_;
};

struct Said {
  Bytes packet;
  bool is_to_b;
};

/// Who has a site's private key and asks in its name.
struct MadAttempt {
  Initiator initiator;
  Offer offer;
  uint32_t ticket;
  bool is_b;
};

struct World {
  Instant now = Instant() + Duration::from_s(1000);
  std::array<std::unique_ptr<Site>, 2> sites;
  std::deque<Said> flying;
  std::vector<Said> said;
  std::array<std::vector<Half>, 2> had;  // by whoever has the keys of a or b, ever
  std::set<Raw> sealed_by;               // keys that a site was given to seal by
  std::vector<MadAttempt> mad;

  void begin(bool is_b, uint8_t how);
  void say(Bytes packet, bool is_to_b);
  void deliver(const Said& what) { sites[what.is_to_b]->hear(what.packet, now); }
  void deliver_first() {
    if (flying.empty()) return;
    const Said what = std::move(flying.front());
    flying.pop_front();
    deliver(what);
  }
  void on_time() {
    for (const auto& site : sites) site->on_time(now);
  }
  void traffic(bool is_b, uint64_t count) {
    if (const auto half = sites[is_b]->seal(count)) sites[!is_b]->open(*half);
  }
  bool has_had(bool is_b, const Half& mirror) const {
    return std::ranges::any_of(had[is_b],
                               [&](const Half& each) { return each.is_mirror_of(mirror); });
  }
  /// Of a session by this cipher, if both come to have it.
  void has_keys(bool is_b, const SessionKeys& keys, uint8_t own, uint8_t other, uint8_t kinds);
  void ask_madly(bool is_b, std::span<const uint8_t> offer);
  void answer_madly(bool is_b, std::span<const uint8_t> offer);
  void hear_madly(const Bytes& second);
};

std::span<const uint8_t> prologue() {
  constexpr std::string_view text = "causeway seal 1";
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// ---- a site -------------------------------------------------------------------------------------

void Site::say(std::span<const uint8_t> packet) {
  CW_ASSERT(std::ranges::any_of(std::array{false, true}, [&](bool is_second) {
    return MessageCheck(identity(!is_b_, is_second).public_key).fits(packet);
  }));
  world_.say({packet.begin(), packet.end()}, !is_b_);
}

void Site::add(const Agreement& it) {
  CW_ASSERT(it.session != 0 && numbers_.insert(it.session).second);
  for (const auto& [number, open] : open_) {
    CW_ASSERT(open.half.receive_index % sessions_max != it.receive_index % sessions_max);
  }
  const Half half = {raw_of(it.send),  raw_of(it.receive), it.hash,
                     it.receive_index, it.send_index,      it.kind};
  CW_ASSERT(half.send != half.receive);
  CW_ASSERT(world_.sealed_by.insert(half.send).second);
  CW_ASSERT(std::ranges::find(options_.kinds, it.kind) != options_.kinds.end());
  CW_ASSERT(!it.covers_psns || options_.has_psns);
  open_[it.session] = {half, {}};
  world_.had[is_b_].push_back(half);
}

void Site::use(uint64_t session) {
  const auto it = open_.find(session);
  CW_ASSERT(it != open_.end());
  CW_ASSERT(world_.has_had(!is_b_, it->second.half));
  used_ = session;
}

// ---- the world ----------------------------------------------------------------------------------

void World::begin(bool is_b, uint8_t how) {
  ExchangeOptions options;
  options.own = identity(is_b, (how & 1) != 0);
  options.other = identity(!is_b, (how & 2) != 0).public_key;
  if ((how & 4) != 0) options.next_other = identity(!is_b, (how & 2) == 0).public_key;
  if ((how & 8) != 0) std::ranges::fill(options.preshared.bytes(), uint8_t{0x77});
  options.has_psns = (how & 16) == 0;
  options.seals_data = (how & 32) == 0;
  options.kinds = {CW_AEAD_CHACHA20_POLY1305};
  if ((how & 64) == 0) options.kinds.insert(options.kinds.begin(), CW_AEAD_AES_128_GCM);
  if ((how & 128) != 0) options.kinds.push_back(CW_AEAD_AES_256_GCM);
  sites[is_b] = std::make_unique<Site>(*this, is_b, std::move(options), now);
}

void World::say(Bytes packet, bool is_to_b) {
  hear_madly(packet);
  if (said.size() < said_max) said.push_back({packet, is_to_b});
  if (flying.size() < said_max) flying.push_back({std::move(packet), is_to_b});
}

void World::has_keys(bool is_b, const SessionKeys& keys, uint8_t own, uint8_t other,
                     uint8_t kinds) {
  for (size_t kind = 0; kind < CW_AEAD_KINDS; ++kind) {
    if ((kinds >> kind & 1) == 0) continue;
    had[is_b].push_back({raw_of(keys.send), raw_of(keys.receive), keys.hash, own, other,
                         static_cast<cw_aead_kind>(kind)});
  }
}

void World::ask_madly(bool is_b, std::span<const uint8_t> offer) {
  if (mad.size() == mad_max) return;
  const PublicKey& to = sites[!is_b]->options().own.public_key;
  const auto ticket = static_cast<uint32_t>(0xffff0000 + mad.size());
  Initiator initiator(sites[is_b]->options().own, to, prologue());
  const Bytes message = *initiator.write_first(offer);
  mad.push_back({std::move(initiator), parse_offer(offer).value_or(Offer()), ticket, is_b});
  say(handshake_packet({HandshakeType::First, ticket}, message, MessageCheck(to), {}), !is_b);
}

void World::hear_madly(const Bytes& second) {
  const HandshakeHead head = head_of(second);
  const auto it = std::ranges::find(mad, head.ticket, &MadAttempt::ticket);
  if (head.type != HandshakeType::Second || it == mad.end()) return;
  const auto end =
      it->initiator.read_second(message_of(second), sites[it->is_b]->options().preshared);
  const auto theirs = end ? parse_offer(end->payload) : std::nullopt;
  if (theirs) has_keys(it->is_b, end->keys, it->offer.index, theirs->index, theirs->kinds);
}

/// The newest first message that the other end has said.
void World::answer_madly(bool is_b, std::span<const uint8_t> offer) {
  const ExchangeOptions& own = sites[is_b]->options();
  for (auto it = said.rbegin(); it != said.rend(); ++it) {
    const HandshakeHead head = head_of(it->packet);
    if (it->is_to_b != is_b || head.type != HandshakeType::First) continue;
    Responder responder(own.own, prologue());
    const auto payload = responder.read_first(message_of(it->packet));
    const auto theirs = payload ? parse_offer(*payload) : std::nullopt;
    const auto answer = theirs ? responder.write_second(offer, own.preshared) : std::nullopt;
    if (!answer) return;
    const auto ours = parse_offer(offer);
    if (ours) has_keys(is_b, answer->keys, ours->index, theirs->index, ours->kinds);
    return say(handshake_packet({HandshakeType::Second, head.ticket}, answer->message,
                                MessageCheck(responder.other()), {}),
               !is_b);
  }
}

// ---- the fuzzer's orders ------------------------------------------------------------------------

/// A packet of the past with a byte changed, and a right first MAC where it is asked for.
void deliver_changed(World& world, Orders& orders) {
  const uint8_t which = orders.next(), how = orders.next(), at = orders.next();
  const uint8_t mask = orders.next();
  if (world.said.empty()) return;
  Said copy = world.said[world.said.size() - 1 - which % world.said.size()];
  copy.packet[at % copy.packet.size()] ^= mask;
  if ((how & 1) != 0) copy.is_to_b = !copy.is_to_b;
  if ((how & 2) != 0) {
    const std::span<uint8_t> all(copy.packet);
    const MessageCheck check(world.sites[copy.is_to_b]->options().own.public_key);
    std::ranges::copy(check.of(all.first(all.size() - 32)), all.last(32).begin());
  }
  world.deliver(copy);
}

void pass_time(World& world, Duration time, bool is_gap) {
  world.now = world.now + time;
  for (const auto& site : world.sites) {
    if (is_gap) site->on_gap(time);
  }
  world.on_time();
}

/// Milliseconds in which all arrives, and both ends seal.
void run(World& world, uint8_t ms) {
  for (uint8_t i = 0; i < ms; ++i) {
    for (size_t left = world.flying.size(); left > 0; --left) world.deliver_first();
    world.traffic(false, 1);
    world.traffic(true, 1);
    pass_time(world, Duration::from_ms(1), false);
  }
}

void seal_madly(World& world, Orders& orders) {
  const bool is_b = orders.next() % 2 != 0;
  const auto& halves = world.had[is_b];
  const uint8_t which = orders.next();
  if (!halves.empty()) world.sites[!is_b]->open(halves[halves.size() - 1 - which % halves.size()]);
}

void follow(World& world, Orders& orders) {
  const uint8_t order = orders.next();
  const bool is_b = order >= 128;
  switch (order % 12) {
    case 0:
      return pass_time(world, Duration::from_ms(orders.next()), false);
    case 1:
      return pass_time(world, Duration::from_s(orders.next()), is_b);
    case 2:
      return world.deliver_first();
    case 3:
      return world.flying.empty() ? void() : world.flying.pop_front();
    case 4:
    case 5:
      return deliver_changed(world, orders);
    case 6:
      return world.traffic(is_b, orders.next() == 255 ? packets_max : 1);
    case 7:
      return world.begin(is_b, orders.next());
    case 8:
      return world.ask_madly(is_b, orders.row(offer_bytes));
    case 9:
      return world.answer_madly(is_b, orders.row(offer_bytes));
    case 10:
      return seal_madly(world, orders);
    default:
      return run(world, orders.next() % 32);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fixed_random() = Prng(1);
  World world;
  Orders orders({bytes, std::min(size, orders_max)});
  world.begin(false, orders.next());
  world.begin(true, orders.next());
  while (!orders.is_over()) follow(world, orders);
  return 0;
}
