// A port with a bad path in front of it: any driver, real time, the model of model.h. Packets that
// the model delays stay packets of the inner port and are held here until their time.
//
// Drive it like any port. A held packet wakes no file descriptor: facts().wait_fd is the inner
// port's, and whoever sleeps asks next_due() as well. Both directions move on rx_burst() and on
// tx_burst().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/port.h"
#include "dataplane/port/impair/model.h"
#include "dataplane/port/impair/packet.h"

namespace cw {

struct ImpairedPortOptions {
  Impairment rx = {};  ///< what happens to packets on their way in, on every path
  Impairment tx = {};
  uint64_t seed = 1;
  size_t held_packets_max = 4096;  ///< per direction; at most what the inner port can spare
  PacketKey key = nullptr;
};

/// Packets waiting for their time, earliest first; equal times in the order of pushing.
class HeldPackets {
 public:
  struct Held {
    Instant at;
    uint64_t order;
    Packet* packet;
    bool operator>(const Held& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  explicit HeldPackets(size_t capacity) : capacity_(capacity) { heap_.reserve(capacity); }

  size_t count() const { return heap_.size(); }
  size_t free_count() const { return capacity_ - heap_.size(); }
  Instant earliest() const { return heap_.empty() ? Instant::never() : heap_.front().at; }
  /// There must be room.
  void push(Packet* packet, Instant at) { put_back({at, order_++, packet}); }
  /// Takes the earliest; there must be one.
  Held pop();
  /// Undoes a pop: the packet has its old place in the order.
  void put_back(Held held);

 private:
  size_t capacity_;
  uint64_t order_ = 0;
  std::vector<Held> heap_;  // never grows beyond what the constructor reserved
};

class ImpairedPort final : public Port {
 public:
  /// `inner` must outlive this port and be used through it only.
  ImpairedPort(Port& inner, const ImpairedPortOptions& options);
  /// Gives what is still held back to the inner port.
  ~ImpairedPort() override;
  ImpairedPort(const ImpairedPort&) = delete;
  ImpairedPort& operator=(const ImpairedPort&) = delete;

  const PortFacts& facts() const override { return facts_; }
  /// The inner port's, in which rx_packets counts what reached the inner port; damaged packets that
  /// came in are added to rx_malformed, refused ones to tx_refused.
  PortCounters counters() const override;
  size_t rx_burst(std::span<Packet*> out, Instant now) override;
  /// Refuses what it cannot hold. Copies come last: they never take a packet's room.
  size_t tx_burst(std::span<Packet* const> packets, Instant now) override;
  size_t take_burst(std::span<Packet*> out) override { return inner_.take_burst(out); }
  void give_back(std::span<Packet* const> packets) override { inner_.give_back(packets); }
  void share(std::span<Packet* const> packets) override { inner_.share(packets); }
  bool is_shared(const Packet& packet) const override { return inner_.is_shared(packet); }
  size_t take_done(std::span<uint64_t> out) override { return inner_.take_done(out); }
  // ICRCs are not left to others: around the copies made here nothing stands.

  /// When a held packet is due; never when none is held.
  Instant next_due() const override;
  size_t held_count() const { return rx_.held.count() + tx_.held.count(); }
  void set_rx_impairment(uint16_t path, const Impairment& impairment);
  void set_tx_impairment(uint16_t path, const Impairment& impairment);
  const ImpairmentCounters& rx_counters(uint16_t path) const { return rx_.paths[path].counters(); }
  const ImpairmentCounters& tx_counters(uint16_t path) const { return tx_.paths[path].counters(); }
  /// Copies that the models wanted and for which there was no room or no packet.
  uint64_t copies_missed() const { return copies_missed_; }

 private:
  struct Direction {
    std::vector<ImpairmentModel> paths;
    HeldPackets held;
    uint64_t damaged = 0;
  };
  Direction make_direction(const Impairment& impairment, size_t held_max, Prng& prng) const;
  void admit_burst(Direction& direction, std::span<Packet* const> packets, Instant now);
  void admit(Direction& direction, Packet* packet, Instant now, size_t reserved);
  bool try_damage_own(Packet*& packet, uint32_t bit);
  bool try_hold_copy(Direction& direction, const Packet& packet, Instant at);
  void send_due(Instant now);

  Port& inner_;
  PortFacts facts_;
  PacketKey key_;
  Prng prng_;
  Direction rx_, tx_;
  uint64_t refused_ = 0;
  uint64_t copies_missed_ = 0;
};

}  // namespace cw
