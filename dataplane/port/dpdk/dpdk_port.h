// What the LAN port and the WAN port have in common: a device, a look at its link now and then, the
// kernel where it shares the device's interface, and questions for MACs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "dataplane/kernel/kernel_net.h"
#include "dataplane/kernel/owned_fd.h"
#include "dataplane/neighbour/neighbour_message.h"
#include "dataplane/port.h"
#include "dataplane/port/dpdk/eal/device.h"

namespace cw {

/// Thread: one.
class DpdkPort : public Port {
 public:
  DpdkPort(const DpdkPort&) = delete;
  DpdkPort& operator=(const DpdkPort&) = delete;

  const PortFacts& facts() const final { return facts_; }
  /// Asks the device: for now and then.
  PortCounters counters() const final;
  size_t take_burst(std::span<Packet*> out) final { return device_->take_burst(out); }
  void give_back(std::span<Packet* const> packets) final { device_->give_back(packets); }

 protected:
  enum class Fate : uint8_t { Taken, Dropped, Answered };
  enum class Look : uint8_t { NotDue, Down, Up, CameUp };
  static constexpr Duration look_every = Duration::from_ms(100);

  explicit DpdkPort(std::unique_ptr<DpdkDevice> device);
  Result<void> join_kernel();

  /// At the device, each `look_every`; CameUp: its cable may lead elsewhere now.
  Look try_look(Instant now);
  DpdkDeviceStatus device_status() const;

  /// What of a burst `accept` has stripped to what its user wants; what it dropped goes back.
  template <class Accept>
  size_t rx_accepted(std::span<Packet*> out, Accept accept) {
    const size_t arrived = device_->rx_burst(out);
    size_t count = 0;
    for (size_t i = 0; i < arrived; ++i) {
      Packet* const packet = out[i];
      const Fate fate = accept(*packet);
      if (fate == Fate::Taken) out[count++] = packet;
      if (fate == Fate::Dropped) device_->give_back({&packet, 1});
    }
    return count;
  }
  /// A frame of ours. Lost when there is no room.
  void send_frame(std::span<const uint8_t> frame);

  std::unique_ptr<DpdkDevice> device_;
  MacAddress mac_;
  PortFacts facts_;
  PortCounters counters_;
  std::optional<KernelNet> kernel_;  // where it owns the interface, or as the port says
  OwnedFd silence_;                  // what keeps its hands off our packets
  bool is_up_;                       // the link, when it was last looked at

 private:
  Instant look_due_;
};

}  // namespace cw
