// A port that decides per packet what becomes of it: control packets by a script, data packets by a
// rule of their own. What it delays or doubles it keeps itself and sends again when its time has
// come, so that the network below sees honest packets only. It can be like a NIC, which is full at
// times and slow to give packets back, and then looks whether their bytes are what they were.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "dataplane/wire/opcode.h"
#include "tests/sim/stage.h"
#include "tests/sim/tally_port.h"

namespace cw::sim {

enum class Fate : uint8_t { Pass, Lose, Double, Delay };

/// Both ends of a wire may ask one script, so that packets are counted in the order of sending.
struct WireScript {
  std::function<Fate(const Packet&)> control = [](const Packet&) { return Fate::Pass; };
  std::function<Fate(const Packet&)> data = [](const Packet&) { return Fate::Pass; };
  Duration delay = Duration::from_ms(35);  ///< of what is delayed, and of the second of a double
  Duration linger;                         ///< so long the port has what it has sent
  bool is_full = false;                    ///< nothing leaves
};

inline bool is_control(const Packet& packet) {
  return packet.bytes > 0 && packet.data[0] == opcode_ud_send_only;
}

class ScriptedPort final : public PortAround, public Actor {
 public:
  ScriptedPort(Port& inner, const WireScript& script) : PortAround(inner), script_(script) {}

  size_t tx_burst(std::span<Packet* const> packets, Instant now) override {
    if (script_.is_full) return 0;
    for (Packet* packet : packets) send(packet, now);
    return packets.size();
  }
  /// What nobody has any more nobody may read.
  void give_back(std::span<Packet* const> packets) override {
    for (Packet* packet : packets) {
      if (!is_shared(*packet)) std::fill_n(packet->data, packet->bytes_max, uint8_t{0xdd});
    }
    PortAround::give_back(packets);
  }

  void turn(Instant now) override {
    while (!lingering_.empty() && lingering_.front().due <= now) {
      Lingering& first = lingering_.front();
      const bool is_whole = std::equal(first.bytes.begin(), first.bytes.end(), first.data);
      if (!is_whole) ++changed_;
      give_back({&first.packet, 1});
      lingering_.pop_front();
    }
    for (size_t i = 0; i < kept_.size();) {
      if (kept_[i].due > now || !try_release(kept_[i], now)) {
        ++i;
        continue;
      }
      kept_.erase(kept_.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  Instant next_deadline() const override {
    Instant due = lingering_.empty() ? Instant::never() : lingering_.front().due;
    for (const Kept& kept : kept_) due = std::min(due, kept.due);
    return due;
  }
  size_t kept_count() const { return kept_.size(); }
  size_t lingering_count() const { return lingering_.size(); }
  /// Packets whose bytes were not the same when they had left.
  size_t changed_count() const { return changed_; }

 private:
  struct Kept {
    Instant due;
    std::vector<uint8_t> bytes;
    uint16_t peer = 0, path = 0;
  };

  struct Lingering {
    Instant due;
    Packet* packet = nullptr;
    const uint8_t* data = nullptr;
    std::vector<uint8_t> bytes;
  };

  void send(Packet* packet, Instant now) {
    if (script_.linger > Duration()) {
      share({&packet, 1});
      lingering_.push_back({now + script_.linger,
                            packet,
                            packet->data,
                            {packet->data, packet->data + packet->bytes}});
    }
    const Fate fate = is_control(*packet) ? script_.control(*packet) : script_.data(*packet);
    if (fate == Fate::Double || fate == Fate::Delay) keep(*packet, now + script_.delay);
    const bool goes = fate == Fate::Pass || fate == Fate::Double;
    if (!goes || PortAround::tx_burst({&packet, 1}, now) == 0) give_back({&packet, 1});
  }
  void keep(const Packet& packet, Instant due) {
    Kept kept{due, {packet.data, packet.data + packet.bytes}, packet.peer, packet.path};
    kept.bytes.insert(kept.bytes.end(), packet.payload, packet.payload + packet.payload_bytes);
    kept_.push_back(std::move(kept));
  }
  bool try_release(const Kept& kept, Instant now) {
    Packet* packet = nullptr;
    if (take_burst({&packet, 1}) == 0) return false;
    std::copy(kept.bytes.begin(), kept.bytes.end(), packet->data);
    packet->bytes = static_cast<uint32_t>(kept.bytes.size());
    packet->peer = kept.peer;
    packet->path = kept.path;
    if (PortAround::tx_burst({&packet, 1}, now) == 0) give_back({&packet, 1});
    return true;
  }

  const WireScript& script_;
  std::vector<Kept> kept_;
  std::deque<Lingering> lingering_;
  size_t changed_ = 0;
};

}  // namespace cw::sim
