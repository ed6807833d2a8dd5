// A device as people write it: a name, and arguments behind commas.
//
//   net_memif0,role=client,socket=/run/x.sock      a driver of DPDK's in software, and a number
//   0000:3b:00.0                                   a NIC, by its PCI address
//
// What can be told from the text is told here, before DPDK is started; of DPDK 22.11. Thread: any.
#pragma once

#include <cstdint>
#include <string>

namespace cw {

/// "0000:3b:00.0" or "3b:00.0", with or without arguments behind a comma.
bool is_pci_device(const std::string& device);
/// As DPDK names it: what stands before the arguments, a PCI address with its domain.
std::string device_name(const std::string& device);
/// "net_memif" of "net_memif0"; empty for a PCI device.
std::string device_driver(const std::string& device);
/// What stands behind "key="; empty: nothing.
std::string device_argument(const std::string& device, const std::string& key);
uint32_t device_argument(const std::string& device, const std::string& key, uint32_t otherwise);

/// Whether its driver copies packets, so that neither a NIC nor a kernel reads them where they lie.
bool copies_packets(const std::string& device);

/// The two ends of a wire in memory: the client calls the server.
bool is_memif_server(const std::string& device);
bool is_memif_client(const std::string& device);

/// Around an IP packet: Ethernet, 802.1Q, and an FCS that some NICs leave.
inline constexpr uint32_t link_bytes_max = 14 + 4 + 4;

/// The room for a frame in rings of memory, which a packet's buffer must have too.
uint32_t slot_bytes_of(const std::string& device);
/// The longest IP packet that fits there; UINT32_MAX: the device has no such rings.
uint32_t slot_mtu_of(const std::string& device);

/// The sentence about a name or an argument that DPDK does not know, one it misses, and values that
/// do not go together; empty: none.
std::string mistake_in_device(const std::string& device);

/// The device with the arguments that the user left open: room for frames of IP packets of
/// `ip_bytes_max` and of the interface's own MTU, as many queues as are wanted.
std::string complete_device(const std::string& device, uint32_t ip_bytes_max, uint16_t queues);

}  // namespace cw
