// Two sites with keyrings and one shard each, and the wire between them, in virtual time.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dataplane/seal/keyring.h"
#include "dataplane/seal/sealer.h"

namespace cw::seal {

using Bytes = std::vector<uint8_t>;

/// A packet as a port has read it: what its headers say, and its payload.
struct OnWire {
  SlotWrite head;
  Form form = Form::Write;
  uint32_t source_qp = 0;
  Bytes payload;
};

class SealedSite {
 public:
  SealedSite(const Identity& own, KeyringPeer peer, Instant now, bool seals_data = true,
             std::vector<cw_aead_kind> kinds = {CW_AEAD_AES_128_GCM, CW_AEAD_CHACHA20_POLY1305},
             KeyLog* log = nullptr)
      : identity(own),
        sealer({.payload_max = 2048, .seals_data = seals_data, .own = own.public_key}) {
    std::vector<Sealer*> all = {&sealer};
    KeyringOptions options;
    options.own = own;
    options.aead = cw_aead_openssl();
    options.kinds = std::move(kinds);
    options.seals_data = seals_data;
    options.log = log;
    ring = std::make_unique<Keyring>(options, all, now);
    ring->set_peer(0, std::move(peer));
  }

  /// What its port would send now of its own: handshakes, and what was held.
  std::vector<OnWire> turn(Instant now) {
    std::vector<OnWire> out;
    ring->turn(now);
    sealer.take_orders(Instant());
    while (const Send* const said = sealer.take_said()) {
      out.push_back({said->head,
                     said->form,
                     said->source_qp,
                     {said->payload, said->payload + said->head.payload_bytes}});
    }
    while (const Send* const held = sealer.take_held()) out.push_back(*seal(*held));
    return out;
  }

  static Send send_of(const OnWire& packet) {
    Send send;
    send.head = packet.head;
    send.form = packet.form;
    send.source_qp = packet.source_qp;
    static constexpr uint8_t nothing = 0;  // an empty vector need not point anywhere
    send.payload = packet.payload.empty() ? &nothing : packet.payload.data();
    send.head.payload_bytes = static_cast<uint32_t>(packet.payload.size());
    return send;
  }
  std::optional<OnWire> seal(const OnWire& plain) { return seal(send_of(plain)); }
  std::optional<OnWire> seal(const Send& send) {
    if (!sealer.has_keys(send.peer)) return std::nullopt;
    OnWire out{send.head, send.form, send.source_qp, Bytes(send.head.payload_bytes + seal_bytes)};
    if (!sealer.try_seal(send, out.payload.data())) return std::nullopt;
    out.head.payload_bytes += seal_bytes;
    return out;
  }
  /// Reads it; nothing when it was a handshake's. Its `payload` is the packet's.
  std::optional<Arrival> open(OnWire& packet) {
    Arrival arrival;
    arrival.head = packet.head;
    arrival.form = packet.form;
    arrival.source_qp = packet.source_qp;
    arrival.payload = packet.payload.data();
    arrival.head.payload_bytes = static_cast<uint32_t>(packet.payload.size());
    return sealer.open(arrival) == Sealer::Opened::Taken ? std::nullopt : std::optional(arrival);
  }

  Identity identity;
  Sealer sealer;
  std::unique_ptr<Keyring> ring;
};

/// Both, and a round trip between them.
class SealedPair {
 public:
  explicit SealedPair(Duration rtt = Duration::from_ms(50)) : rtt_(rtt) {}

  void make_a() {
    a = std::make_unique<SealedSite>(key_a, KeyringPeer{key_b.public_key, {}, {}}, now, seals_data);
  }
  void make_b() {
    b = std::make_unique<SealedSite>(key_b, KeyringPeer{key_a.public_key, {}, {}}, now, seals_data);
  }

  /// Milliseconds pass; each site sends the other a packet in each, if it can.
  void run(int64_t ms) {
    for (int64_t i = 0; i < ms; ++i) step();
  }
  bool run_until(const std::function<bool()>& is_so, int64_t ms_max) {
    for (int64_t i = 0; i < ms_max && !is_so(); ++i) step();
    return is_so();
  }
  bool both_have_keys() const { return a->sealer.has_keys(0) && b->sealer.has_keys(0); }

  Identity key_a = Identity::random(), key_b = Identity::random();
  std::unique_ptr<SealedSite> a, b;
  Instant now = Instant() + Duration::from_s(1000);
  bool sends_data = true, seals_data = true;
  /// Whether a packet is lost.
  std::function<bool(const OnWire&, bool is_to_b)> loses = [](const OnWire&, bool) {
    return false;
  };
  uint64_t sent = 0, opened = 0, refused = 0;
  std::vector<std::pair<OnWire, bool>> recorded;
  bool records = false;

 private:
  struct Flight {
    Instant at;
    OnWire packet;
    bool is_to_b;
  };
  void step() {
    now = now + Duration::from_ms(1);
    while (!flights_.empty() && flights_.front().at <= now) {
      Flight flight = std::move(flights_.front());
      flights_.pop_front();
      arrive(flight.packet, flight.is_to_b);
    }
    for (const bool is_b : {false, true}) {
      SealedSite* const site = (is_b ? b : a).get();
      if (site == nullptr) continue;
      for (OnWire& each : site->turn(now)) launch(std::move(each), !is_b);
      if (!sends_data) continue;
      const OnWire plain{.head = {.target_qp = 7,
                                  .psn = Psn(static_cast<uint32_t>(sent & 0xffffff)),
                                  .address = sent,
                                  .key = 9,
                                  .immediate = 11},
                         .payload = Bytes(64, 0x5a)};
      if (auto sealed = site->seal(plain)) {
        ++sent;
        launch(std::move(*sealed), !is_b);
      }
    }
  }
  void launch(OnWire packet, bool is_to_b) {
    if (records) recorded.emplace_back(packet, is_to_b);
    if (!loses(packet, is_to_b)) {
      flights_.push_back({now + Duration::from_ns(rtt_.ns() / 2), std::move(packet), is_to_b});
    }
  }
  void arrive(OnWire& packet, bool is_to_b) {
    SealedSite* const site = (is_to_b ? b : a).get();
    if (site == nullptr) return;
    const auto arrival = site->open(packet);
    if (!arrival || arrival->form == Form::Datagram) return;
    const bool is_good = arrival->form == Form::Write && arrival->head.payload_bytes == 64 &&
                         Bytes(arrival->payload, arrival->payload + 64) == Bytes(64, 0x5a);
    ++(is_good ? opened : refused);
  }

  Duration rtt_;
  std::deque<Flight> flights_;
};

}  // namespace cw::seal
