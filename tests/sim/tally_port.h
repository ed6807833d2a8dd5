// Ports around ports, for tests: `PortAround` passes everything through, to be overridden in one
// place; `TallyPort` counts at the user's side of the door what the ports below should account for.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/port.h"

namespace cw::sim {

class PortAround : public Port {
 public:
  explicit PortAround(Port& inner) : inner_(inner) {}

  const PortFacts& facts() const override { return inner_.facts(); }
  PortCounters counters() const override { return inner_.counters(); }
  size_t rx_burst(std::span<Packet*> out, Instant now) override {
    return inner_.rx_burst(out, now);
  }
  size_t tx_burst(std::span<Packet* const> packets, Instant now) override {
    return inner_.tx_burst(packets, now);
  }
  size_t take_burst(std::span<Packet*> out) override { return inner_.take_burst(out); }
  void give_back(std::span<Packet* const> packets) override { inner_.give_back(packets); }
  void share(std::span<Packet* const> packets) override { inner_.share(packets); }
  bool is_shared(const Packet& packet) const override { return inner_.is_shared(packet); }
  size_t take_done(std::span<uint64_t> out) override { return inner_.take_done(out); }
  Instant next_due() const override { return inner_.next_due(); }

 private:
  Port& inner_;
};

class TallyPort final : public PortAround {
 public:
  using PortAround::PortAround;

  size_t rx_burst(std::span<Packet*> out, Instant now) override {
    const size_t count = PortAround::rx_burst(out, now);
    received_ += count;
    return count;
  }
  size_t tx_burst(std::span<Packet* const> packets, Instant now) override {
    const size_t count = PortAround::tx_burst(packets, now);
    sent_ += count;
    return count;
  }
  size_t take_burst(std::span<Packet*> out) override {
    const size_t count = PortAround::take_burst(out);
    taken_ += count;
    return count;
  }
  void give_back(std::span<Packet* const> packets) override {
    given_back_ += packets.size();
    PortAround::give_back(packets);
  }

  void share(std::span<Packet* const> packets) override {
    shared_ += packets.size();
    PortAround::share(packets);
  }

  uint64_t sent() const { return sent_; }
  uint64_t received() const { return received_; }
  /// Packets in the user's hands now, as often as he owns them.
  uint64_t held() const { return taken_ + received_ + shared_ - sent_ - given_back_; }

 private:
  uint64_t sent_ = 0, received_ = 0, taken_ = 0, given_back_ = 0, shared_ = 0;
};

}  // namespace cw::sim
