// One Ethernet device of DPDK with its queues and the buffers of its packets; what a NIC, a memif
// and an af_packet socket have in common. The ports over it know frames, not drivers.
//
// A Packet lies in the private area of its mbuf, so that neither needs a table to find the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port.h"
#include "dataplane/port/dpdk/eal/memif_gate.h"
#include "dataplane/wire/outer/frame.h"

struct rte_mempool;

namespace cw {

struct DpdkDeviceOptions {
  /// As people write it (device_text.h), "net_memif0,role=client,socket=/run/x.sock", or a PCI
  /// address that start_eal() was told of.
  std::string device;
  uint16_t queues = 1;           ///< each way; packets spread over those that receive by their flow
  uint16_t descriptors = 1024;   ///< of each queue, as far as the device allows
  uint32_t ip_bytes_max = 1500;  ///< the longest IP packet to be carried
  uint32_t packet_bytes = 0;     ///< room in a packet from Packet::data on
  size_t packets = 4096;         ///< lent or free, besides those that fill the queues
  bool shares = false;           ///< packets may be share()d
};

/// Counts since start; each only grows. Told by the device a few times a second.
struct DpdkDeviceCounters {
  uint64_t rx_missed = 0;     ///< no free descriptor: the worker was too slow
  uint64_t rx_no_buffer = 0;  ///< no free packet: too many are held above
  uint64_t rx_errors = 0;     ///< wrong on the wire, or too long
  uint64_t tx_errors = 0;     ///< taken by the device and not sent
};

/// What a person should know of a device.
struct DpdkDeviceStatus {
  std::string name;       ///< "net_memif0"
  std::string text;       ///< as DPDK was told of it, with what was chosen for the user
  std::string driver;     ///< "net_memif"
  std::string interface;  ///< of the kernel, shared with it; empty: the device is all ours
  MacAddress mac{};
  bool is_link_up = false;
  uint16_t queues = 1, queues_max = 1;  ///< to receive by: in use, and offered
  bool has_rss = false;               ///< spreads packets over its queues by addresses or UDP ports
  std::vector<uint64_t> rx_of_queue;  ///< frames that came by each; empty: the device does not say
  DpdkDeviceCounters counters;
};

/// Thread: one. The device is stopped, closed and detached with the object; packets that come from
/// it must not outlive it.
class DpdkDevice {
 public:
  /// Errors: no such device or driver, arguments it refuses, queues or MTU it does not have.
  static Result<std::unique_ptr<DpdkDevice>> make(const DpdkDeviceOptions& options);
  ~DpdkDevice();
  DpdkDevice(const DpdkDevice&) = delete;
  DpdkDevice& operator=(const DpdkDevice&) = delete;

  /// Whole frames, from the Ethernet header on. A frame in several pieces is made one, or counted
  /// as an error.
  size_t rx_burst(std::span<Packet*> out);
  /// Takes whole frames from the front; the rest found no room in the queue.
  size_t tx_burst(std::span<Packet* const> packets);
  /// Empty packets: `data` has limits::headers_bytes_max free before it and packet_bytes from it.
  size_t take_burst(std::span<Packet*> out);
  void give_back(std::span<Packet* const> packets);
  /// As Port's.
  void share(std::span<Packet* const> packets);
  bool is_shared(const Packet& packet) const;

  const std::string& name() const { return name_; }      ///< "net_memif0"
  const std::string& driver() const { return driver_; }  ///< "net_memif"
  MacAddress mac() const { return mac_; }
  /// The kernel's interface that this device shares; empty: the kernel does not know of it.
  const std::string& interface() const { return interface_; }
  /// Whether the kernel gets all frames besides us, and answers ARP, ND and pings with what it
  /// learns of them; of all drivers that share an interface with it, a packet socket alone.
  bool is_heard_by_kernel() const { return driver_ == "net_af_packet" && !interface_.empty(); }
  /// The longest IP packet, as far as the device says.
  uint32_t mtu() const { return mtu_; }
  uint16_t queues() const { return queues_; }

  /// To be called now and then: a memif's client without a link calls its server again, every other
  /// second.
  void look_after(Instant now);

  /// May be a system call; for now and then.
  bool is_link_up() const;
  DpdkDeviceStatus status() const;
  DpdkDeviceCounters counters() const;

 private:
  DpdkDevice() = default;
  Result<void> attach(const DpdkDeviceOptions& options);
  Result<void> configure(const DpdkDeviceOptions& options);
  Result<void> set_up_queues(const DpdkDeviceOptions& options);
  Result<void> make_pool(const DpdkDeviceOptions& options, size_t packets);
  Result<void> settle_mtu(const DpdkDeviceOptions& options);
  Result<void> tell_mtu() const;
  Result<void> start();
  void detach();
  static void reopen(void* device);
  bool may_burst() const { return gate_ == nullptr || is_link_up(); }
  std::vector<uint64_t> rx_of_queue() const;
  size_t rx_queue(uint16_t queue, std::span<Packet*> out);

  std::string name_, text_, driver_, interface_;
  uint16_t id_ = 0, queues_ = 1, tx_queues_ = 1, queues_max_ = 1, rx_descriptors_ = 0,
           tx_descriptors_ = 0;
  bool has_rss_ = false;
  bool is_attached_ = false, is_ours_ = false, has_thread_ = false;
  bool is_memif_client_ = false;
  bool is_started_ = false;          // the interrupt thread's, once make() is over
  std::unique_ptr<MemifGate> gate_;  // null: no memif
  uint16_t next_queue_ = 0;
  uint32_t mtu_ = 0, packet_bytes_ = 0;
  uint64_t rx_in_pieces_ = 0;
  Instant reopen_due_;
  MacAddress mac_{};
  rte_mempool* pool_ = nullptr;
};

}  // namespace cw
