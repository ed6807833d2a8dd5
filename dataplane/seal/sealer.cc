#include "dataplane/seal/sealer.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/seal/session/associated.h"
#include "dataplane/wire/control/envelope.h"

namespace cw::seal {
namespace {

constexpr size_t orders_max = 256, said_max = 64;
constexpr uint64_t count_mask = (uint64_t{1} << shard_shift) - 1;
static_assert(packets_max <= count_mask);

void count(std::atomic<uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

Sealer::Sealer(const SealerOptions& options)
    : options_(options),
      check_(options.own),
      peers_(options.peers),
      sites_(options.peers * options.links_per_peer),
      held_(options.peers * options.links_per_peer),
      held_bytes_(new uint8_t[held_.size() * options.payload_max]),
      orders_(orders_max),
      heard_(heard_max),
      over_(options.peers * sessions_max),
      said_(said_max) {
  for (size_t i = 0; i < sites_.size(); ++i) {
    sites_[i] = static_cast<uint16_t>(i / options_.links_per_peer);
  }
}

// ---- from the keyring ---------------------------------------------------------------------------

void Sealer::take_orders(Instant now) {
  SealerOrder order;
  // Each may be the end of one session's keys. How many end at once the peer decides, who asks for
  // new ones: the rest waits until the keyring has taken those back, or what is said has left.
  while (over_.count() < over_.capacity() && !said_.is_full() && orders_.try_pop(order)) {
    carry_out(order, now);
  }
}

void Sealer::carry_out(const SealerOrder& order, Instant now) {
  if (order.what == SealerOrder::What::Say) {
    said_.try_push(order.note);
    return;
  }
  Peer& peer = peers_[order.keys->peer];
  ShardKeys*& place = peer.open[order.keys->receive_index % sessions_max];
  switch (order.what) {
    case SealerOrder::What::Add:
      if (place != nullptr) drop(place);
      place = order.keys;
      place->since = now;
      break;
    case SealerOrder::What::Use:
      use(order.keys);
      break;
    case SealerOrder::What::Drop:
      if (place == order.keys) drop(place);
      break;
    case SealerOrder::What::Say:
      break;
  }
}

/// The newest that may be sealed by.
void Sealer::use(ShardKeys* keys) {
  Peer& peer = peers_[keys->peer];
  if (keys->session <= peer.newest) return;
  peer.newest = keys->session;
  peer.use = keys;
  may_held_leave_ = true;
}

void Sealer::drop(ShardKeys* keys) {
  Peer& peer = peers_[keys->peer];
  peer.open[keys->receive_index % sessions_max] = nullptr;
  if (peer.use == keys) peer.use = nullptr;
  CW_ASSERT(over_.try_push(keys));  // take_orders() has seen that there is room
}

// ---- what leaves --------------------------------------------------------------------------------

/// [C-83]
bool Sealer::try_seal(const Send& send, uint8_t* out) {
  ShardKeys& keys = *peer_of(send.peer).use;
  const uint64_t before = keys.sealed.load(std::memory_order_relaxed);
  if (before >= packets_max) return false;
  keys.sealed.store(before + 1, std::memory_order_relaxed);
  const uint64_t number =
      uint64_t{keys.send_index} << index_shift | uint64_t{keys.shard} << shard_shift | before;
  const Nonce nonce(number);
  SlotWrite head = send.head;
  if (send.form == Form::Datagram) head.target_qp = send.source_qp;  // of the same link
  const Associated associated = associated_of(head, send.form, keys.covers_psns);
  const uint32_t bytes = send.head.payload_bytes;
  const cw_aead_text text = {.nonce = nonce.bytes(),
                             .associated = &associated,
                             .associated_bytes = sizeof associated,
                             .in = send.payload,
                             .out = out,
                             .bytes = bytes};
  keys.aead().seal(keys.send_key(), &text, out + bytes + number_bytes);
  const be64 told(number);
  std::memcpy(out + bytes, &told, number_bytes);
  count(counts_.sealed);
  return true;
}

void Sealer::hold(const Send& send) {
  Held& held = held_[send.peer];
  const bool is_kept =
      send.form == Form::Datagram && send.head.payload_bytes <= options_.payload_max;
  if (!is_kept || held.is_there) count(counts_.no_keys);
  if (!is_kept) return;
  uint8_t* const bytes = &held_bytes_[send.peer * options_.payload_max];
  std::memcpy(bytes, send.payload, send.head.payload_bytes);
  held_count_ += held.is_there ? 0 : 1;
  held = {.send = send, .is_there = true};
  held.send.payload = bytes;
  held.send.packet = nullptr;
  held.send.has_packet_alone = false;
  held.send.cookie = 0;
}

const Send* Sealer::take_held() {
  for (size_t i = 0; may_held_leave_ && held_count_ > 0 && i < held_.size(); ++i) {
    if (!held_[i].is_there || !has_keys(static_cast<uint16_t>(i))) continue;
    held_[i].is_there = false;
    --held_count_;
    return &held_[i].send;
  }
  may_held_leave_ = false;
  return nullptr;
}

const Send* Sealer::take_said() {
  if (said_.is_empty()) return nullptr;
  saying_ = said_.pop();
  say_ = {};
  say_.form = Form::Datagram;
  say_.head.target_qp = control_qpn_default;
  say_.head.key = control_qkey;
  say_.head.payload_bytes = saying_.bytes;
  say_.source_qp = control_qpn_default;
  say_.peer = static_cast<uint16_t>(saying_.peer * options_.links_per_peer);
  say_.payload = saying_.message.data();
  return &say_;
}

// ---- what comes ---------------------------------------------------------------------------------

/// [C-82]
Sealer::Opened Sealer::open(Arrival& arrival) {
  const uint32_t sealed_bytes = arrival.head.payload_bytes;
  arrival.keys_since = {};
  const auto refuse = [&arrival](WireError error) {
    arrival.form = Form::Other;
    arrival.error = error;
    return Opened::No;
  };
  if (!is_for_keys(arrival)) return Opened::Yes;  // it is said as ever what is wrong with it
  if (is_handshake(arrival)) return hear(arrival);
  if (sealed_bytes < seal_bytes) return refuse(WireError::SealShort);
  // Where it has come in, which nobody else reads until it is the port's again.
  auto* const payload = const_cast<uint8_t*>(arrival.payload);
  const uint32_t bytes = sealed_bytes - seal_bytes;
  ShardKeys* const keys = keys_of(arrival);
  if (keys == nullptr) return refuse(WireError::SealKey);
  const Nonce nonce(number_of(arrival));
  SlotWrite head = arrival.head;
  head.payload_bytes = bytes;
  const Associated associated = associated_of(head, arrival.form, keys->covers_psns);
  const cw_aead_text text = {.nonce = nonce.bytes(),
                             .associated = &associated,
                             .associated_bytes = sizeof associated,
                             .in = payload,
                             .out = payload,
                             .bytes = bytes};
  if (keys->aead().open(keys->receive_key(), &text, payload + bytes + number_bytes) == 0) {
    return refuse(WireError::SealForged);
  }
  arrival.head.payload_bytes = bytes;
  arrival.head.is_solicited &= keys->covers_psns;  // or nobody vouches for it
  arrival.keys_since = keys->since;
  use(keys);  // the other has it: what answers this packet is to be opened by it
  count(keys->opened);
  count(counts_.opened);
  return Opened::Yes;
}

Sealer::Opened Sealer::hear(Arrival& arrival) {
  const std::span<const uint8_t> packet(arrival.payload, arrival.head.payload_bytes);
  if (!check_.fits(packet)) {
    count(counts_.handshakes_wrong);
    return Opened::Taken;
  }
  HandshakeNote note;
  note.peer = sites_[arrival.peer];
  note.bytes = static_cast<uint16_t>(packet.size());
  std::ranges::copy(packet, note.message.begin());
  const bool is_told = heard_.try_push(note);
  count(is_told ? counts_.handshakes : counts_.handshakes_full);
  const uint64_t once = 1;
  if (is_told && options_.heard_fd >= 0) (void)!write(options_.heard_fd, &once, sizeof once);
  return Opened::Taken;
}

}  // namespace cw::seal
