// A port with one bug, on every so-manieth packet. Each bug is the reason for which a checker
// exists.
#pragma once

#include <cstdint>
#include <span>

#include "tests/sim/tally_port.h"

namespace cw::sim {

enum class PortBug : uint8_t {
  None,
  LosesSilently,  ///< a sent packet disappears and nobody counts it
  FlipsByte,      ///< a received byte is another
  Leaks,          ///< a packet given back stays lent for ever
  StampsBack,     ///< a packet arrives before the one received before it
};

class MutantPort final : public PortAround {
 public:
  MutantPort(Port& inner, PortBug bug) : PortAround(inner), bug_(bug) {}

  size_t tx_burst(std::span<Packet* const> packets, Instant now) override {
    size_t taken = 0;
    for (Packet* packet : packets) {
      if (strikes(PortBug::LosesSilently)) {
        PortAround::give_back({&packet, 1});
      } else if (PortAround::tx_burst({&packet, 1}, now) == 0) {
        break;
      }
      ++taken;
    }
    return taken;
  }
  size_t rx_burst(std::span<Packet*> out, Instant now) override {
    const size_t count = PortAround::rx_burst(out, now);
    for (Packet* packet : out.first(count)) {
      if (strikes(PortBug::FlipsByte)) packet->data[packet->bytes - 1] ^= 0x10;
      if (strikes(PortBug::StampsBack)) packet->at = packet->at - Duration::from_ms(1);
    }
    return count;
  }
  void give_back(std::span<Packet* const> packets) override {
    for (Packet* packet : packets) {
      if (!strikes(PortBug::Leaks)) PortAround::give_back({&packet, 1});
    }
  }

 private:
  bool strikes(PortBug bug) {
    constexpr uint64_t every = 50;
    return bug == bug_ && ++occasions_ % every == 0;
  }

  PortBug bug_;
  uint64_t occasions_ = 0;
};

}  // namespace cw::sim
