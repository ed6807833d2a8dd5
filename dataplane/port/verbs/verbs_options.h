// What the port of an RNIC is made from, and what it tells people. No header of a library's: builds
// without one read files that name this port, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/wire/roce.h"

namespace cw {

/// One link of one peer, which is named once for each.
struct VerbsPeerOptions {
  std::string address;  ///< IPv4 or IPv6; its place in the list is the port's number for it
  uint16_t link = 0;    ///< of the pair: the same at both ends, below links_max
};

/// Groups, which share one queue pair (SPEC.md 18). Their member calls it 0x00ca15.
struct VerbsGroupOptions {
  /// Addresses of members; the port calls them by their place here, behind all of `peers`.
  std::vector<std::string> members;
  /// Multicast addresses, of the family of `address`; the port calls them 0xf000 + their place.
  std::vector<std::string> addresses;
  uint32_t slot_bytes = 0;  ///< of the longest that will be sent
};

struct VerbsPortOptions {
  std::string device;   ///< "mlx5_0", "rxe0"
  std::string address;  ///< ours: one of the device's interface
  /// Path p of link l sends from source_port + 16 l + p, where the device can; 49152 and above.
  uint16_t source_port = rnic_source_port_min;
  uint16_t paths = 1;
  std::vector<VerbsPeerOptions> peers;
  VerbsGroupOptions groups;
  uint32_t payload_bytes_max = limits::payload_bytes_max;  ///< the path MTU may allow less
  size_t packets = 4096;                                   ///< lent or under way
  size_t turn_packets = 4096;  ///< that may arrive by one queue while the thread stands still
  size_t windows = 1024;       ///< open at a time
};

/// What a person should know about the port and PortCounters do not say. Counts only grow.
struct VerbsPortStatus {
  std::string device, address, trouble;
  bool is_port_up = true;
  bool has_address = true;  ///< the device has it at present
  uint32_t path_mtu = 0;
  uint32_t epochs = 0, windows = 0;       ///< at present
  bool keeps_own_multicast_back = false;  ///< the device does, so that none is `rx_own`
  uint64_t rx_own = 0;                    ///< multicast of ours that came back, and was dropped
  uint64_t rx_unknown = 0;                ///< datagrams from nobody in the lists of peers
  uint64_t rx_starved = 0;     ///< as often as a queue may have been without a receive request
  uint64_t tx_unresolved = 0;  ///< control packets to whom no way is known yet
  uint64_t send_posts = 0;     ///< rows that the device was given; soft-RoCE: a system call
  uint64_t completions = 0;    ///< taken from the device, of what came and of rows that left
  uint64_t tx_copied = 0;      ///< packets from memory that nobody has registered: repair
  uint64_t slots_copied = 0;   ///< of these, slots of groups; `trouble` says so, too
  uint64_t tx_lost = 0;        ///< packets to queues that are not, or are broken
  uint64_t windows_refused = 0;
  uint64_t queues_made = 0, queues_broken = 0, queues_mended = 0;
  uint64_t contacts_asked = 0, contacts_answered = 0;
  uint64_t port_downs = 0, address_changes = 0, overruns = 0;
  uint64_t fatal = 0;  ///< as often as the device said that it is lost: its queues are no more
};

}  // namespace cw
