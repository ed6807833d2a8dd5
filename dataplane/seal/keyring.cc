#include "dataplane/seal/keyring.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "dataplane/base/assert.h"

namespace cw::seal {
namespace {

/// Whoever leaves is told so.
constexpr Duration farewell = Duration::from_s(1);
/// Longer between two turns: this thread stood still.
constexpr Duration gap_min = Duration::from_s(1);

}  // namespace

/// One at a place: its exchange, and which keys the shards have of its sessions.
class Keyring::Peer final : public ExchangeUser {
 public:
  Peer(Keyring& ring, uint16_t place, const KeyringPeer& who, Instant now)
      : ring_(ring),
        place_(place),
        name_(who.name),
        exchange_(options_of(ring.options_, who), *this, now) {}
  ~Peer() override { drop_all(); }

  Exchange& exchange() { return exchange_; }
  const Exchange& exchange() const { return exchange_; }

  void say(std::span<const uint8_t> packet) override {
    SealerOrder order;
    order.note.peer = place_;
    order.note.bytes = static_cast<uint16_t>(packet.size());
    std::ranges::copy(packet, order.note.message.begin());
    ring_.order(0, order);  // link 0 lives there
  }

  void add(const Agreement& agreement) override {
    for (size_t shard = 0; shard < ring_.shards_.size(); ++shard) {
      ShardKeys& keys = ring_.make_keys(shard, place_, agreement);
      keys_.push_back({shard, agreement.session, &keys});
      ring_.order(shard, {.what = SealerOrder::What::Add, .keys = &keys, .note = {}});
    }
    if (ring_.options_.log != nullptr) ring_.options_.log->agreed(name_, agreement);
  }

  void use(uint64_t session) override { order(SealerOrder::What::Use, session); }

  void drop(uint64_t session) override {
    order(SealerOrder::What::Drop, session);
    std::erase_if(keys_, [session](const Held& each) { return each.session == session; });
  }

  SessionUse use_of(uint64_t session) const override {
    SessionUse sum;
    for (const Held& each : keys_) {
      if (each.session != session) continue;
      sum.opened += each.keys->opened.load(std::memory_order_relaxed);
      const uint64_t sealed = each.keys->sealed.load(std::memory_order_relaxed);
      sum.sealed_most = std::max(sum.sealed_most, sealed);
    }
    return sum;
  }

 private:
  struct Held {
    size_t shard;
    uint64_t session;
    ShardKeys* keys;
  };

  static ExchangeOptions options_of(const KeyringOptions& site, const KeyringPeer& who) {
    ExchangeOptions options;
    options.own = site.own;
    options.other = who.key;
    options.next_other = who.next_key;
    options.preshared = who.preshared;
    options.kinds = site.kinds;
    options.has_psns = site.has_psns;
    options.seals_data = site.seals_data;
    return options;
  }

  void order(SealerOrder::What what, uint64_t session) {
    for (const Held& each : keys_) {
      if (each.session != session) continue;
      ring_.order(each.shard, {.what = what, .keys = each.keys, .note = {}});
    }
  }
  void drop_all() {
    while (!keys_.empty()) drop(keys_.front().session);
  }

  Keyring& ring_;
  const uint16_t place_;
  const std::string name_;
  std::vector<Held> keys_;
  Exchange exchange_;
};

Keyring::Keyring(KeyringOptions options, std::span<Sealer* const> sealers, Instant now)
    : options_(std::move(options)), due_(now), turned_(now) {
  CW_ASSERT(!sealers.empty() && options_.aead != nullptr);
  for (Sealer* each : sealers) shards_.push_back({each, {}});
  peers_.resize(sealers.front()->options().peers);
  wanted_.resize(peers_.size());
}

Keyring::~Keyring() = default;

void Keyring::set_peer(size_t place, std::optional<KeyringPeer> peer) {
  const std::scoped_lock lock(mutex_);
  wanted_[place].peer = std::move(peer);
  wanted_[place].is_new = true;
  due_ = Instant();
}

bool Keyring::turn(Instant now) {
  const std::scoped_lock lock(mutex_);
  has_ordered_ = false;
  const Duration gap = now - turned_;
  turned_ = now;
  due_ = Instant::never();
  take_changes(now);
  hear(now);
  for (const auto& peer : peers_) {
    if (peer == nullptr) continue;
    if (gap > gap_min) peer->exchange().on_gap(gap);
    if (peer->exchange().next_due() <= now) peer->exchange().on_time(now);
    due_ = std::min(due_, peer->exchange().next_due());
  }
  flush();
  return has_ordered_;
}

void Keyring::take_changes(Instant now) {
  for (size_t place = 0; place < peers_.size(); ++place) {
    Wanted& it = wanted_[place];
    const bool is_new = std::exchange(it.is_new, false);
    if (is_new) it.leaves = it.peer ? Instant::never() : now + farewell;
    if (it.leaves <= now) peers_[place].reset();
    if (peers_[place] != nullptr && it.leaves > now) due_ = std::min(due_, it.leaves);
    if (!is_new || !it.peer) continue;
    peers_[place].reset();
    peers_[place] = std::make_unique<Peer>(*this, static_cast<uint16_t>(place), *it.peer, now);
  }
}

void Keyring::hear(Instant now) {
  HandshakeNote note;
  for (Shard& shard : shards_) {
    // No more than were there at first: who floods one worker does not keep this thread from time.
    for (size_t i = 0; i < heard_max && shard.sealer->try_hear(note); ++i) {
      if (peers_[note.peer] != nullptr) peers_[note.peer]->exchange().on_packet(note.text(), now);
    }
    while (const ShardKeys* const over = shard.sealer->take_over()) {
      std::erase_if(keys_, [over](const auto& each) { return each.get() == over; });
      has_ordered_ = true;  // orders may have waited for that
    }
  }
}

ShardKeys& Keyring::make_keys(size_t shard, uint16_t place, const Agreement& agreement) {
  auto keys =
      std::make_unique<ShardKeys>(*options_.aead, agreement.kind, agreement.send.bytes().data(),
                                  agreement.receive.bytes().data());
  keys->session = ++made_;
  keys->peer = place;
  keys->receive_index = agreement.receive_index;
  keys->send_index = agreement.send_index;
  keys->shard = shards_[shard].sealer->options().shard;
  keys->covers_psns = agreement.covers_psns;
  return *keys_.emplace_back(std::move(keys));
}

void Keyring::order(size_t shard, const SealerOrder& order) {
  shards_[shard].orders.push_back(order);
  has_ordered_ = true;
}

void Keyring::flush() {
  // What is said leaves by the first, and by then the others know what may come in answer [C-81].
  for (Shard& shard : std::views::reverse(shards_)) {
    while (!shard.orders.empty() && shard.sealer->try_order(shard.orders.front())) {
      shard.orders.pop_front();
    }
  }
}

Instant Keyring::next_wakeup() const {
  const std::scoped_lock lock(mutex_);
  const bool is_late = std::ranges::any_of(shards_, [](const Shard& shard) {
    return !shard.orders.empty() || shard.sealer->has_heard();
  });
  return is_late ? Instant() : due_;
}

std::vector<KeyringView> Keyring::views(Instant now) const {
  const std::scoped_lock lock(mutex_);
  std::vector<KeyringView> views;
  for (const auto& peer : peers_) {
    KeyringView& view = views.emplace_back();
    if (peer == nullptr) continue;
    const Exchange& exchange = peer->exchange();
    view.counts = exchange.counts();
    view.has_keys = exchange.has_keys();
    if (view.has_keys) {
      view.kind = exchange.kind();
      view.age = exchange.age(now);
    } else {
      view.trouble = exchange.trouble();
    }
  }
  return views;
}

}  // namespace cw::seal
