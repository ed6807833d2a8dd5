// The default LAN port: a TUN device. The kernel routes to it, answers ARP and ICMP for the site,
// and hands us IP packets; one Packet is one IP packet of at most the MTU.
//
// The kernel takes and gives one packet per system call, so packets should be large where they can:
// TCP and UDP segments come joined and are split here (split.h), TCP segments that follow each
// other in a burst leave joined (merge.h).
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "dataplane/base/limits.h"
#include "dataplane/base/memory/buffers.h"
#include "dataplane/base/memory/pool.h"
#include "dataplane/base/result.h"
#include "dataplane/port.h"
#include "dataplane/port/tun/merge.h"
#include "dataplane/port/tun/split.h"
#include "dataplane/port/tun/tun_device.h"

namespace cw {

struct TunPortOptions {
  TunDeviceOptions device;
  size_t packets = 4096;  ///< lent or free
};

/// What a person should know about the port and PortCounters do not say. Counts only grow.
struct TunPortStatus {
  std::string name;
  bool has_offload = false;
  bool is_taken = false;       ///< an earlier life has made it
  uint64_t rx_joined = 0;      ///< packets of many segments that the kernel handed over
  uint64_t rx_pieces = 0;      ///< packets that they were split into
  uint64_t tx_joined = 0;      ///< packets of many segments that we handed over
  uint64_t tx_pieces = 0;      ///< packets that went into them
  uint64_t tx_lost = 0;        ///< packets that the kernel refused: no IP, or the device is down
  uint64_t device_errors = 0;  ///< reads that failed: the device is down or gone
};

/// One queue. Several workers share a device by one port each, made with the same name and
/// multi_queue; each flow then stays on one of them, from when all are made. Thread: one.
class TunPort final : public Port {
 public:
  /// Errors: those of TunDevice::make().
  static Result<std::unique_ptr<TunPort>> make(const TunPortOptions& options);
  TunPort(const TunPort&) = delete;
  TunPort& operator=(const TunPort&) = delete;

  const PortFacts& facts() const override { return facts_; }
  PortCounters counters() const override { return counters_; }
  TunPortStatus status() const { return status_; }

  /// Reads until `out` is full or nothing is left: a system call for each packet or joined packet,
  /// and one to find the end. What a joined packet has left over comes first next time.
  size_t rx_burst(std::span<Packet*> out, Instant now) override;
  /// A system call for each packet or joined packet.
  size_t tx_burst(std::span<Packet* const> packets, Instant now) override;
  size_t take_burst(std::span<Packet*> out) override;
  void give_back(std::span<Packet* const> packets) override;

 private:
  TunPort(TunDevice device, size_t packets);

  Packet* try_take();
  Packet* finish(Packet* packet, size_t bytes, Instant now);
  Packet* try_read(Instant now);
  Packet* accept(Packet* packet, size_t bytes, const VnetHeader& header, Instant now);
  Packet* begin_split(Packet* packet, size_t bytes, const Offload& offload, Instant now);
  Packet* refuse(Packet* packet);
  Packet* take_piece(Packet* packet, Instant now);

  size_t join(std::span<Packet* const> packets);
  bool try_write(std::span<Packet* const> packets);

  TunDevice device_;
  PortFacts facts_;
  PortCounters counters_;
  TunPortStatus status_;
  Pool<Packet> pool_;
  Buffers buffers_;
  std::unique_ptr<uint8_t[]> joined_;  // what splitter_ cuts
  Splitter splitter_;
  bool is_drained_ = false;  // the last read of this burst found nothing
  Merger merger_;
  std::array<iovec, limits::burst_packets_max + 2> pieces_;
};

}  // namespace cw
