// A worker's sealer between a keyring and a wire that both follow bytes: keys come, are used and go
// in any order that a keyring may give, while packets arrive that the other end has sealed by any
// key, that were changed on the way, or that are anything. What is opened is what was sealed and
// says what it said; what was changed opens never; no number comes twice under a key; what was
// taken over for good comes back once; and accounts add up.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/seal/sealer.h"
#include "tests/fuzz/orders.h"

namespace {
using namespace cw;
using namespace cw::seal;

using Bytes = std::vector<uint8_t>;

constexpr size_t peers = 2, links = 2, payload_max = 64, lives_max = 64, orders_max = 1024;
constexpr size_t ordered_most = 200, said_most = 64;  // fewer than a sealer takes; as many
constexpr uint8_t own_shard = 5, other_shard = 9;

/// A session's keys at our end, and a sealer that has the other end's.
struct Life {
  Life(uint8_t seed, uint16_t peer, uint8_t index, bool covers_psns);

  uint16_t peer;
  uint8_t index;
  bool covers_psns, is_over = false, is_back = false;
  std::unique_ptr<ShardKeys> ours, theirs;
  std::unique_ptr<Sealer> other_end;
  std::set<Bytes> numbers;  // that our end has used
};

cw_aead_kind kind_of(uint8_t seed) { return static_cast<cw_aead_kind>(seed % CW_AEAD_KINDS); }

Life::Life(uint8_t seed, uint16_t whose, uint8_t number, bool has_psns)
    : peer(whose), index(number), covers_psns(has_psns) {
  Bytes one(key_bytes, seed), other(key_bytes, seed);
  other[0] ^= 0xff;
  ours = std::make_unique<ShardKeys>(*cw_aead_openssl(), kind_of(seed), one.data(), other.data());
  theirs = std::make_unique<ShardKeys>(*cw_aead_openssl(), kind_of(seed), other.data(), one.data());
  ours->peer = peer;
  ours->shard = own_shard;
  theirs->shard = other_shard;
  ours->receive_index = theirs->send_index = index;
  ours->send_index = theirs->receive_index = static_cast<uint8_t>(~index);
  ours->covers_psns = theirs->covers_psns = covers_psns;
  ours->session = theirs->session = uint64_t{seed} + 1;  // as they are made
  SealerOptions options;
  options.payload_max = payload_max;
  other_end = std::make_unique<Sealer>(options);
  for (const auto what : {SealerOrder::What::Add, SealerOrder::What::Use}) {
    CW_ASSERT(other_end->try_order({.what = what, .keys = theirs.get(), .note = {}}));
  }
  other_end->take_orders();
}

/// A packet, and what its headers say.
struct OnWire {
  SlotWrite head;
  Form form = Form::Write;
  uint32_t source_qp = 0;
  Bytes payload;
};

/// Never null, as of a port.
const uint8_t* bytes_of(const OnWire& packet) {
  static const uint8_t none = 0;
  return packet.payload.empty() ? &none : packet.payload.data();
}

OnWire packet_of(Orders& orders) {
  OnWire it;
  const uint8_t what = orders.next();
  it.form = (what & 1) != 0 ? Form::Datagram : Form::Write;
  it.head.target_qp = orders.next();
  it.head.psn = Psn(orders.next());
  it.head.key = 7;
  it.head.is_solicited = (what & 2) != 0;
  if (it.form == Form::Write) {
    it.head.address = 9;
    it.head.immediate = 11;
  } else {
    it.source_qp = it.head.target_qp;  // of the same link
  }
  it.payload = orders.row(what >> 2);
  return it;
}

/// What a Send and an Arrival have alike.
template <class Descriptor>
Descriptor descriptor_of(const OnWire& packet) {
  Descriptor it;
  it.head = packet.head;
  it.head.payload_bytes = static_cast<uint32_t>(packet.payload.size());
  it.form = packet.form;
  it.source_qp = packet.source_qp;
  it.payload = bytes_of(packet);
  return it;
}

Send send_of(const OnWire& packet, uint16_t port_peer) {
  Send send = descriptor_of<Send>(packet);
  send.peer = port_peer;
  return send;
}

class World {
 public:
  explicit World(bool seals_data) : sealer_(options_of(seals_data)) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void follow(Orders& orders);
  /// A keyring that takes all back has all, and accounts add up.
  void end() {
    for (const auto& life : lives_) drop(*life);
    settle();
    for (const auto& life : lives_) CW_ASSERT(life->is_back);
    CW_ASSERT(sealer_.counts().opened == opened_);
    CW_ASSERT(sealer_.counts().sealed == sealed_);
  }

 private:
  using What = SealerOrder::What;
  struct Ordered {
    What what;
    Life* life;
    Bytes said;
  };

  static SealerOptions options_of(bool seals_data) {
    SealerOptions options;
    options.peers = peers;
    options.links_per_peer = links;
    options.shard = own_shard;
    options.payload_max = payload_max;
    options.seals_data = seals_data;
    return options;
  }
  void order(What what, Life& life);
  void add(Orders& orders);
  void order_use(Orders& orders);
  void use(Life& life);
  void drop(Life& life);
  void take_orders();
  void apply(const Ordered& order);
  void take_back();
  void settle();
  void arrive(Orders& orders);
  void arrive_changed(Orders& orders);
  void arrive_raw(Orders& orders);
  void hear(Orders& orders);
  void leave(Orders& orders);
  void hold(Orders& orders);
  void say(Orders& orders);
  void take_own();

  OnWire sealed_by_other(Life& life, const OnWire& plain);
  Sealer::Opened open(OnWire& packet, uint16_t port_peer, Arrival& arrival);
  bool is_open(const Life& life) const {
    return places_[life.peer][life.index % sessions_max] == &life;
  }
  Life* life_of(Orders& orders) {
    return lives_.empty() ? nullptr : lives_[orders.next() % lives_.size()].get();
  }

  Sealer sealer_;
  std::vector<std::unique_ptr<Life>> lives_;
  // As the keyring sees it, and as the sealer has taken it up.
  std::array<std::array<Life*, sessions_max>, peers> ordered_places_{}, places_{};
  std::array<Life*, peers> used_{};
  std::array<uint64_t, peers> newest_{};  // that was ever used
  std::deque<Ordered> ordered_;
  size_t over_ = 0;
  std::deque<Bytes> said_;
  std::array<std::optional<Bytes>, peers * links> held_;
  uint64_t opened_ = 0, sealed_ = 0;
};

// ---- a keyring ----------------------------------------------------------------------------------

void World::order(What what, Life& life) {
  if (ordered_.size() >= ordered_most) settle();
  CW_ASSERT(sealer_.try_order({.what = what, .keys = life.ours.get(), .note = {}}));
  ordered_.push_back({what, &life, {}});
}

void World::add(Orders& orders) {
  const uint8_t peer = orders.next() % peers, index = orders.next(), how = orders.next();
  if (lives_.size() == lives_max) return;
  lives_.push_back(
      std::make_unique<Life>(static_cast<uint8_t>(lives_.size()), peer, index, how % 2 != 0));
  Life*& place = ordered_places_[peer][index % sessions_max];
  if (place != nullptr) drop(*place);
  place = lives_.back().get();
  order(What::Add, *place);
  if (how >= 128) order(What::Use, *place);
}

/// The newest, by order and where something has been opened by it.
void World::use(Life& life) {
  if (life.ours->session <= newest_[life.peer]) return;
  newest_[life.peer] = life.ours->session, used_[life.peer] = &life;
}

void World::order_use(Orders& orders) {
  Life* const life = life_of(orders);
  if (life != nullptr && !life->is_over) order(What::Use, *life);
}

void World::drop(Life& life) {
  if (std::exchange(life.is_over, true)) return;
  ordered_places_[life.peer][life.index % sessions_max] = nullptr;
  order(What::Drop, life);
}

void World::take_orders() {
  sealer_.take_orders();
  while (!ordered_.empty() && over_ < peers * sessions_max) {
    apply(ordered_.front());
    ordered_.pop_front();
  }
  for (uint16_t i = 0; i < peers * links; ++i) {
    CW_ASSERT(sealer_.has_keys(i) == (used_[i / links] != nullptr));
  }
}

void World::apply(const Ordered& order) {
  if (order.what == What::Say) {
    if (said_.size() < said_most) said_.push_back(order.said);
    return;
  }
  Life& life = *order.life;
  if (order.what == What::Add) places_[life.peer][life.index % sessions_max] = &life;
  if (order.what == What::Use) use(life);
  if (order.what != What::Drop) return;
  CW_ASSERT(is_open(life));
  places_[life.peer][life.index % sessions_max] = nullptr;
  if (used_[life.peer] == &life) used_[life.peer] = nullptr;
  ++over_;
}

void World::take_back() {
  while (const ShardKeys* const keys = sealer_.take_over()) {
    const auto it =
        std::ranges::find_if(lives_, [keys](const auto& life) { return life->ours.get() == keys; });
    CW_ASSERT(it != lives_.end() && (*it)->is_over && !(*it)->is_back);
    (*it)->is_back = true;
    CW_ASSERT(over_-- > 0);
  }
  CW_ASSERT(over_ == 0);
}

void World::settle() {
  do {
    take_back();
    take_orders();
  } while (!ordered_.empty());
  take_back();
}

void World::say(Orders& orders) {
  if (ordered_.size() >= ordered_most) settle();
  SealerOrder order;
  const Bytes bytes = orders.row(orders.next() % (handshake_bytes_max + 1));
  order.note.peer = orders.next() % peers;
  order.note.bytes = static_cast<uint16_t>(bytes.size());
  std::ranges::copy(bytes, order.note.message.begin());
  CW_ASSERT(sealer_.try_order(order));
  ordered_.push_back({What::Say, nullptr, bytes});
}

// ---- a wire -------------------------------------------------------------------------------------

OnWire World::sealed_by_other(Life& life, const OnWire& plain) {
  OnWire it = plain;
  it.payload.resize(plain.payload.size() + seal_bytes);
  CW_ASSERT(life.other_end->try_seal(send_of(plain, 0), it.payload.data()));
  return it;
}

Sealer::Opened World::open(OnWire& packet, uint16_t port_peer, Arrival& arrival) {
  arrival = descriptor_of<Arrival>(packet);
  arrival.peer = port_peer;
  const Sealer::Opened how = sealer_.open(arrival);
  CW_ASSERT((how == Sealer::Opened::No) ==
            (packet.form != Form::Other && arrival.form == Form::Other));
  return how;
}

/// As the other end has sealed it, by keys that are not here yet, are here, or were.
void World::arrive(Orders& orders) {
  Life* const life = life_of(orders);
  const auto port_peer =
      static_cast<uint16_t>((life == nullptr ? 0 : life->peer * links) + orders.next() % links);
  const OnWire plain = packet_of(orders);
  if (life == nullptr || !sealer_.seals(plain.form)) return;
  OnWire packet = sealed_by_other(*life, plain);
  Arrival arrival;
  const auto how = open(packet, port_peer, arrival);
  if (how == Sealer::Opened::Taken) return;  // its first bytes are those of a handshake, by chance
  CW_ASSERT((how == Sealer::Opened::Yes) == is_open(*life));
  if (how != Sealer::Opened::Yes) return;
  ++opened_;
  use(*life);
  CW_ASSERT(arrival.form == plain.form);
  CW_ASSERT(
      std::ranges::equal(std::span(arrival.payload, arrival.head.payload_bytes), plain.payload));
}

/// Whether the seal has to find out.
bool change(OnWire& packet, bool covers_psns, uint8_t what, uint8_t where, uint8_t mask) {
  const bool is_write = packet.form == Form::Write;
  switch (what % 10) {
    case 0:
      packet.head.target_qp ^= mask;
      return true;
    case 1:
      packet.head.psn = Psn(packet.head.psn.value() ^ mask);
      return covers_psns;
    case 2:
      packet.head.key ^= mask;
      return true;
    case 3:
      packet.head.address ^= uint64_t{mask} << where % 57;
      return is_write;
    case 4:
      packet.head.immediate ^= mask;
      return is_write;
    case 5:
      packet.source_qp ^= mask;
      return false;
    case 6:
      packet.head.is_solicited = !packet.head.is_solicited;
      return covers_psns;
    case 7:
      packet.payload.resize(packet.payload.size() - 1 - where % packet.payload.size());
      return true;
    case 8:
      packet.payload.insert(packet.payload.begin() + where % packet.payload.size(), mask);
      return true;
    default:
      packet.payload[where % packet.payload.size()] ^= mask;
      return true;
  }
}

void World::arrive_changed(Orders& orders) {
  Life* const life = life_of(orders);
  const uint8_t what = orders.next(), where = orders.next();
  const auto mask = std::max<uint8_t>(orders.next(), 1);
  const OnWire plain = packet_of(orders);
  if (life == nullptr || !sealer_.seals(plain.form)) return;
  OnWire packet = sealed_by_other(*life, plain);
  const bool is_found_out = change(packet, life->covers_psns, what, where, mask);
  Arrival arrival;
  const auto how = open(packet, static_cast<uint16_t>(life->peer * links), arrival);
  CW_ASSERT(how != Sealer::Opened::Yes || (is_open(*life) && !is_found_out));
  if (how != Sealer::Opened::Yes) return;
  ++opened_;
  use(*life);
}

void World::arrive_raw(Orders& orders) {
  OnWire packet;
  packet.form = static_cast<Form>(orders.next() % 4);
  const uint16_t port_peer = orders.next() % (peers * links + 2);
  packet.payload = orders.row(orders.next());
  const Bytes before = packet.payload;
  Arrival arrival;
  const auto how = open(packet, port_peer, arrival);
  if (how != Sealer::Opened::Yes) return;
  CW_ASSERT(packet.form == Form::Other || !sealer_.seals(packet.form) ||
            port_peer >= peers * links);
  CW_ASSERT(packet.payload == before && arrival.head.payload_bytes == before.size());
}

/// A packet of a handshake, and who listens does so now or later.
void World::hear(Orders& orders) {
  const uint8_t type = orders.next() % 3, peer = orders.next() % (peers * links);
  const size_t message_bytes = std::array{100, 52, 48}[type];
  const MessageCheck check(sealer_.options().own);
  OnWire packet;
  packet.form = Form::Datagram;
  packet.payload = handshake_packet({static_cast<HandshakeType>(type + 1), 1},
                                    orders.row(message_bytes), check, std::nullopt);
  const Bytes whole = packet.payload;
  const uint64_t told = sealer_.counts().handshakes, full = sealer_.counts().handshakes_full;
  Arrival arrival;
  CW_ASSERT(open(packet, peer, arrival) == Sealer::Opened::Taken);
  const bool is_told = sealer_.counts().handshakes > told;
  CW_ASSERT(is_told != (sealer_.counts().handshakes_full > full));
  if (orders.next() % 2 != 0) return;
  HandshakeNote note, last;
  while (sealer_.try_hear(note)) last = note;
  CW_ASSERT(!sealer_.has_heard());
  CW_ASSERT(!is_told || (std::ranges::equal(last.text(), whole) && last.peer == peer / links));
}

void World::leave(Orders& orders) {
  const uint16_t port_peer = orders.next() % (peers * links);
  const uint8_t skips = orders.next();
  const OnWire plain = packet_of(orders);
  Life* const life = used_[port_peer / links];
  if (life == nullptr || !sealer_.seals(plain.form)) return;
  auto& count = life->ours->sealed;
  if (skips >= 128) count = std::max<uint64_t>(count, packets_max - (255 - skips));
  const bool has_number = count < packets_max;
  OnWire packet = plain;
  packet.payload.resize(plain.payload.size() + seal_bytes);
  CW_ASSERT(sealer_.try_seal(send_of(plain, port_peer), packet.payload.data()) == has_number);
  if (!has_number) return;
  ++sealed_;
  const Bytes number(packet.payload.end() - seal_bytes, packet.payload.end() - CW_AEAD_TAG_BYTES);
  CW_ASSERT(life->numbers.insert(number).second);
  CW_ASSERT(number[0] == life->ours->send_index && number[1] == own_shard);
  Arrival arrival = descriptor_of<Arrival>(packet);
  if (life->other_end->open(arrival) == Sealer::Opened::Taken) return;
  CW_ASSERT(arrival.form == plain.form);
  CW_ASSERT(
      std::ranges::equal(std::span(arrival.payload, arrival.head.payload_bytes), plain.payload));
}

// ---- what waits ---------------------------------------------------------------------------------

void World::hold(Orders& orders) {
  const uint16_t port_peer = orders.next() % (peers * links);
  const OnWire plain = packet_of(orders);
  sealer_.hold(send_of(plain, port_peer));
  if (plain.form == Form::Datagram && plain.payload.size() <= payload_max) {
    held_[port_peer] = plain.payload;
  }
}

void World::take_own() {
  while (const Send* const said = sealer_.take_said()) {
    const std::span text(said->payload, said->head.payload_bytes);
    CW_ASSERT(!said_.empty() && std::ranges::equal(text, said_.front()));
    said_.pop_front();
  }
  CW_ASSERT(said_.empty());
  while (const Send* const held = sealer_.take_held()) {
    CW_ASSERT(sealer_.has_keys(held->peer));
    auto& expected = held_[held->peer];
    CW_ASSERT(expected &&
              std::ranges::equal(std::span(held->payload, held->head.payload_bytes), *expected));
    expected.reset();
  }
}

void World::follow(Orders& orders) {
  switch (orders.next() % 12) {
    case 0:
      return add(orders);
    case 1:
      return order_use(orders);
    case 2:
      if (Life* const life = life_of(orders)) drop(*life);
      return;
    case 3:
      return take_orders();
    case 4:
      return take_back();
    case 5:
      return arrive(orders);
    case 6:
      return arrive_changed(orders);
    case 7:
      return arrive_raw(orders);
    case 8:
      return hear(orders);
    case 9:
      return leave(orders);
    case 10:
      return hold(orders);
    default:
      return orders.next() % 2 != 0 ? say(orders) : take_own();
  }
}
}  // namespace
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  Orders orders({bytes, std::min(size, orders_max)});
  World world(orders.next() % 4 != 0);
  while (!orders.is_over()) world.follow(orders);
  world.end();
  return 0;
}
