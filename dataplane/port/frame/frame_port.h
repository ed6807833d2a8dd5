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
#include "dataplane/port/frame/frame_device.h"

namespace cw {

/// Thread: one.
class FramePort : public Port {
 public:
  FramePort(const FramePort&) = delete;
  FramePort& operator=(const FramePort&) = delete;

  const PortFacts& facts() const final { return facts_; }
  /// Asks the device: for now and then.
  PortCounters counters() const final;
  size_t take_burst(std::span<Packet*> out) final { return device_->take_burst(out); }
  void give_back(std::span<Packet* const> packets) final { device_->give_back(packets); }
  /// At once, where the last burst was other shards': there may be more.
  Instant next_due() const override { return has_passed_on_ ? Instant() : Instant::never(); }

 protected:
  enum class Fate : uint8_t { Taken, Dropped, Gone };
  /// A frame came by a queue of ours, or from another shard, which has looked at it.
  enum class From : uint8_t { Wire, Shard };
  enum class Look : uint8_t { NotDue, Down, Up, CameUp };
  static constexpr Duration look_every = Duration::from_ms(100);

  explicit FramePort(std::unique_ptr<FrameDevice> device);
  Result<void> join_kernel();

  /// At the device, each `look_every`; CameUp: its cable may lead elsewhere now.
  Look try_look(Instant now);
  FrameDeviceStatus device_status() const;

  /// What of a burst `accept` has stripped to what its user wants; what it dropped goes back, and
  /// what is Gone has found another owner.
  template <class Accept>
  size_t rx_accepted(std::span<Packet*> out, Accept accept) {
    has_passed_on_ = false;
    // What others hand over first, or a wire that fills every burst would leave it no room.
    size_t count = rx_handed(out.first(out.size() / 2), accept);
    // More, where most is other shards': theirs is not to wait for our next turn.
    for (int burst = 0; burst < bursts_max; ++burst) {
      const auto rest = out.subspan(count);
      const size_t arrived = device_->rx_burst(rest);
      count += accepted(rest.first(arrived), From::Wire, accept);
      has_passed_on_ |= device_->has_sent_for_others();
      if (arrived < rest.size() || count == out.size() || !has_passed_on_) break;
    }
    return count + rx_handed(out.subspan(count), accept);
  }
  /// A frame whose packets are another shard's: it is in its hands, or lost.
  Fate hand_over(Packet& packet, uint16_t shard);
  /// All shards ask and learn for themselves, and one of them alone hears the answer. A flood of
  /// them is told in part.
  void tell_others(std::span<const uint8_t> message);
  /// A frame of ours. Lost when there is no room.
  void send_frame(std::span<const uint8_t> frame);

  std::unique_ptr<FrameDevice> device_;
  MacAddress mac_;
  PortFacts facts_;
  PortCounters counters_;
  std::optional<KernelNet> kernel_;  // where it owns the interface, or as the port says
  OwnedFd silence_;                  // what keeps its hands off our packets
  bool is_up_;                       // the link, when it was last looked at

 private:
  static constexpr uint32_t told_max = 1000;  // between two looks
  static constexpr int bursts_max = 16;       // of the wire, in one

  template <class Accept>
  size_t rx_handed(std::span<Packet*> out, Accept accept) {
    return accepted(out.first(device_->rx_handed(out)), From::Shard, accept);
  }
  template <class Accept>
  size_t accepted(std::span<Packet*> arrived, From from, Accept accept) {
    size_t count = 0;
    for (Packet* const packet : arrived) {
      const Fate fate = accept(*packet, from);
      if (fate == Fate::Taken) arrived[count++] = packet;
      if (fate == Fate::Dropped) device_->give_back({&packet, 1});
      has_passed_on_ |= fate == Fate::Gone;
    }
    return count;
  }

  Instant look_due_;
  uint32_t told_ = 0;
  bool has_passed_on_ = false;  // work for others, of which our room hears nothing
};

}  // namespace cw
