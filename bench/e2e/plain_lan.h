// A LAN port straight on a DPDK device, without neighbours: every IP packet that comes is taken,
// and what leaves goes to one MAC. What a gateway costs can be measured with it, and no LAN be
// served.
#pragma once

#include <memory>

#include "dataplane/base/result.h"
#include "dataplane/port.h"
#include "dataplane/port/dpdk/device.h"

namespace cw::bench {

/// Thread: one.
class PlainLan final : public Port {
 public:
  /// Errors: those of the device.
  static Result<std::unique_ptr<PlainLan>> make(const std::string& device, uint32_t mtu);

  const PortFacts& facts() const override { return facts_; }
  PortCounters counters() const override { return counters_; }
  size_t rx_burst(std::span<Packet*> out, Instant now) override;
  size_t tx_burst(std::span<Packet* const> packets, Instant now) override;
  size_t take_burst(std::span<Packet*> out) override { return device_->take_burst(out); }
  void give_back(std::span<Packet* const> packets) override { device_->give_back(packets); }

 private:
  explicit PlainLan(std::unique_ptr<DpdkDevice> device) : device_(std::move(device)) {}

  PortFacts facts_;
  PortCounters counters_;
  std::unique_ptr<DpdkDevice> device_;
};

}  // namespace cw::bench
