// A shard's end of an Ethernet device: its queues, and the buffers of its packets, whoever drives
// it. The ports over it (frame_wan_port.h, frame_lan_port.h) know frames, not drivers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port.h"
#include "dataplane/port/frame/path_flow.h"
#include "dataplane/port/hand_over.h"

namespace cw {

struct FrameDeviceOptions {
  std::string device;  ///< as its driver's users write it
  uint16_t shards = 1;
  /// Each way; packets spread over those that receive by their flow. 0: as the driver has it.
  uint16_t queues = 0;
  uint16_t descriptors = 1024;   ///< of each queue, as far as the device allows
  uint32_t ip_bytes_max = 1500;  ///< the longest IP packet to be carried
  uint32_t packet_bytes = 0;     ///< room in a packet from Packet::data on
  size_t packets = 4096;         ///< of a shard, lent or free, besides those that fill the queues
  bool shares = false;           ///< packets may be share()d
  /// What alone is wanted, of a WAN and by which shard, or of a LAN and its VLAN. Where a driver
  /// cannot tell, everything comes, by whichever.
  std::vector<PathFlow> flows;
  std::vector<FrameTarget> targets;
  uint16_t vlan = 0;
};

/// What the kernel has of a device's frames.
enum class KernelPart : uint8_t {
  None,  ///< nothing: the port answers ARP, ND and pings
  All,   ///< all of them, besides us
  Rest,  ///< what is not for us
};

/// What never changes.
struct FrameDeviceFacts {
  const char* port = "";  ///< "dpdk", as the config file calls the kind
  std::string name;       ///< "net_memif0"
  std::string driver;     ///< "net_memif"
  std::string interface;  ///< of the kernel, shared with it; empty: it does not know of it
  MacAddress mac{};
  uint32_t mtu = 0;     ///< the longest IP packet, as far as the device says
  uint16_t queues = 1;  ///< to receive by
  uint16_t shard = 0, shards = 1;
  KernelPart kernel = KernelPart::None;
  int wait_fd = -1;  ///< as PortFacts
};

/// Counts since start; each only grows. Told by the device a few times a second.
struct FrameDeviceCounters {
  uint64_t rx_missed = 0;     ///< no free descriptor: the worker was too slow
  uint64_t rx_no_buffer = 0;  ///< no free packet: too many are held above
  uint64_t rx_errors = 0;     ///< wrong on the wire, or too long
  uint64_t tx_errors = 0;     ///< taken by the device and not sent
  uint64_t system_calls = 0;

  FrameDeviceCounters& operator+=(const FrameDeviceCounters& other) {
    rx_missed += other.rx_missed;
    rx_no_buffer += other.rx_no_buffer;
    rx_errors += other.rx_errors;
    tx_errors += other.tx_errors;
    system_calls += other.system_calls;
    return *this;
  }
};

/// What a person should know of a device.
struct FrameDeviceStatus {
  std::string name;       ///< "net_memif0"
  std::string text;       ///< as its driver was told of it, with what was chosen for the user
  std::string driver;     ///< "net_memif"
  std::string interface;  ///< of the kernel, shared with it; empty: the device is all ours
  MacAddress mac{};
  bool is_link_up = false;
  uint16_t queues = 1, queues_max = 1;  ///< to receive by: in use, and offered
  bool has_rss = false;      ///< spreads packets over its queues by addresses or UDP ports
  bool is_isolated = false;  ///< nothing comes but what is wanted; the kernel has the rest
  size_t rules = 0;          ///< that take what is wanted to its shard's queue
  std::string rules_why;     ///< why there are not more; empty: each has one, or none is needed
  std::string trouble;       ///< what stands in its way, and what to do; empty: nothing
  std::vector<uint64_t> rx_of_queue;  ///< frames that came by each; empty: the device does not say
  FrameDeviceCounters counters;
  /// Frames that were dropped before anything was made of them, by reason; why each is not zero.
  std::vector<std::pair<const char*, uint64_t>> refused;
};

/// Thread: one. Packets that come from it must not outlive it.
class FrameDevice {
 public:
  virtual ~FrameDevice() = default;
  FrameDevice(const FrameDevice&) = delete;
  FrameDevice& operator=(const FrameDevice&) = delete;

  /// Another shard's end of the same device, which goes with the last of them.
  virtual std::unique_ptr<FrameDevice> beside(uint16_t shard) const = 0;

  /// Whole frames, from the Ethernet header on, in one piece.
  virtual size_t rx_burst(std::span<Packet*> out) = 0;
  /// Takes whole frames from the front; the rest found no room in the queue.
  virtual size_t tx_burst(std::span<Packet* const> packets) = 0;
  /// Empty packets: `data` has limits::headers_bytes_max free before it and packet_bytes from it.
  virtual size_t take_burst(std::span<Packet*> out) = 0;
  virtual void give_back(std::span<Packet* const> packets) = 0;
  /// As Port's.
  virtual void share(std::span<Packet* const> packets) = 0;
  virtual bool is_shared(const Packet& packet) const = 0;

  // ---- other shards; see port/hand_over.h
  /// False: the other stands still, and the packet is still the caller's.
  bool try_hand_over(Packet* packet, uint16_t to) {
    return arrivals_ != nullptr && arrivals_->push(shard(), to, {&packet, 1}) == 1;
  }
  /// A copy for each of the others, as far as there is room.
  void tell_others(std::span<const uint8_t> frame);
  /// What others have handed over.
  size_t rx_handed(std::span<Packet*> out) {
    return arrivals_ == nullptr ? 0 : arrivals_->pop(shard(), out);
  }
  /// Whether the last rx_burst() has sent what shards without a queue have made; more may follow.
  virtual bool has_sent_for_others() const { return false; }

  /// Other targets than at the start, where the device is told any. Thread: any one, beside the
  /// device's. Errors: what the kernel says; then some are as before.
  virtual Result<void> want(const std::vector<FrameTarget>&) { return {}; }

  /// To be called now and then. True: it has come back as another than it was.
  virtual bool look_after(Instant) { return false; }
  /// May be a system call; for now and then.
  virtual bool is_link_up() const = 0;
  virtual FrameDeviceStatus status() const = 0;
  /// Those of the device as a whole are told by shard 0.
  virtual FrameDeviceCounters counters() const = 0;

  const FrameDeviceFacts& facts() const { return facts_; }
  const std::string& name() const { return facts_.name; }
  MacAddress mac() const { return facts_.mac; }
  const std::string& interface() const { return facts_.interface; }
  uint32_t mtu() const { return facts_.mtu; }
  uint16_t queues() const { return facts_.queues; }
  uint16_t shard() const { return facts_.shard; }
  uint16_t shards() const { return facts_.shards; }
  /// Whether some shards receive only what others hand over to them.
  bool spreads() const { return facts_.queues < facts_.shards; }
  /// Whether the kernel answers ARP, ND and pings with what it learns of them.
  bool is_heard_by_kernel() const { return facts_.kernel != KernelPart::None; }

 protected:
  /// `arrivals`: of all shards, null where there is one; it outlives this.
  FrameDevice(FrameDeviceFacts facts, HandOver* arrivals)
      : facts_(std::move(facts)), arrivals_(arrivals) {}

 private:
  const FrameDeviceFacts facts_;
  HandOver* const arrivals_;
};

/// A kind of devices. Thread: any; at start.
class FrameDriver {
 public:
  virtual ~FrameDriver() = default;
  virtual Result<std::unique_ptr<FrameDevice>> make(const FrameDeviceOptions& options) const = 0;
  /// Of the kernel's interface that the device shares; UINT32_MAX: it shares none.
  virtual uint32_t mtu_of(const std::string& device) const = 0;
  /// Of a device, as people write it; for the sentence that asks for one.
  virtual const char* example() const = 0;
};

}  // namespace cw
