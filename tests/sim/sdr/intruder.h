// Writes packets into a pair of sites as their sender would, or as somebody who knows all but one
// thing would: it has listened to the wire, and it has the key.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "dataplane/wire/control/envelope.h"
#include "dataplane/wire/roce_inline.h"
#include "tests/sim/sdr/pair.h"

namespace cw::sim {

using PacketBytes = std::vector<uint8_t>;

/// What a wire has carried from a to b most recently.
struct Recorded {
  PacketBytes data, control;
  /// Whether the last packet of data is to be withheld, so that its slot stays open.
  bool withholds_data = false;

  Fate take_data(const Packet& packet) {
    data.assign(packet.data, packet.data + packet.bytes);
    data.insert(data.end(), packet.payload, packet.payload + packet.payload_bytes);
    return withholds_data ? Fate::Lose : Fate::Pass;
  }
  Fate take_control(const Packet& packet) {
    control.assign(packet.data, packet.data + packet.bytes);
    return Fate::Pass;
  }
};

class Intruder {
 public:
  Intruder(const Recorded& recorded, const std::string& key) : recorded_(recorded) {
    cw_mac_init(&mac_, key.data(), key.size());
  }

  /// The recorded slot, changed.
  PacketBytes slot(const std::function<void(SlotWrite&)>& change) const {
    SlotWrite slot;
    PacketBytes bytes = recorded_.data;
    CW_ASSERT(try_parse_slot_write(bytes, slot));
    change(slot);
    bytes.resize(slot_write_header_bytes + slot.payload_bytes + pad_bytes_for(slot.payload_bytes));
    encode_slot_write(slot, bytes);
    return bytes;
  }
  EnvelopeHeader header() const { return opened(recorded_.control).header; }
  /// What a control packet says, which it must go on being there for.
  Envelope opened(std::span<const uint8_t> packet) const {
    const auto envelope = open_envelope(packet.subspan(headers_bytes), {&mac_, cw_mac_compute});
    CW_ASSERT(envelope);
    return *envelope;
  }
  /// A control packet of any records under the right key.
  PacketBytes control(const EnvelopeHeader& header,
                      const std::function<void(EnvelopeWriter&)>& write) const {
    PacketBytes bytes(headers_bytes + 1024);
    std::copy_n(recorded_.control.begin(), headers_bytes, bytes.begin());
    EnvelopeWriter writer(std::span<uint8_t>(bytes).subspan(headers_bytes), header);
    write(writer);
    bytes.resize(headers_bytes + writer.seal({&mac_, cw_mac_compute}));
    return bytes;
  }
  /// The next control packet of this epoch, with raw bytes as its records.
  PacketBytes next_control(std::span<const uint8_t> records) const {
    EnvelopeHeader next = header();
    next.sequence += ++sequences_;
    PacketBytes bytes = control(next, [](EnvelopeWriter&) {});
    bytes.insert(bytes.end() - envelope_mac_bytes, records.begin(), records.end());
    return resealed(bytes);
  }
  /// With length and MAC made right again.
  PacketBytes resealed(PacketBytes bytes) const {
    const std::span<uint8_t> envelope = std::span<uint8_t>(bytes).subspan(headers_bytes);
    envelope[4] = static_cast<uint8_t>(envelope.size() >> 8);
    envelope[5] = static_cast<uint8_t>(envelope.size());
    uint8_t mac[32];
    cw_mac_compute(&mac_, envelope.data(), envelope.size() - envelope_mac_bytes, mac);
    std::copy_n(mac, envelope_mac_bytes, envelope.end() - envelope_mac_bytes);
    return bytes;
  }
  static constexpr size_t headers_bytes = 20;  // BTH and DETH

 private:
  const Recorded& recorded_;
  cw_mac mac_;
  mutable uint64_t sequences_ = 1000;  // ahead of the sender, still behind no window
};

/// Sends to `peer` of a port of the pair, past the script of that end.
inline void inject(Pair& pair, SimPort& port, uint16_t peer, const PacketBytes& bytes,
                   uint16_t path = 0) {
  Packet* packet = nullptr;
  CW_ASSERT(port.take_burst({&packet, 1}) == 1 && bytes.size() <= packet->bytes_max);
  std::copy(bytes.begin(), bytes.end(), packet->data);
  packet->bytes = static_cast<uint32_t>(bytes.size());
  packet->peer = peer;
  packet->path = path;
  CW_ASSERT(port.tx_burst({&packet, 1}, pair.network().now()) == 1);
}

/// From the side of a.
inline void inject(Pair& pair, const PacketBytes& bytes, uint16_t path = 0) {
  inject(pair, pair.a_sim(), pair.peers().of_first, bytes, path);
}

}  // namespace cw::sim
