#include "dataplane/device/device_text.h"

#include <net/if.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "dataplane/kernel/kernel_interface.h"

namespace cw {
namespace {

constexpr uint32_t slot_bytes_usual = 2048, page_bytes = 4096;
constexpr uint32_t slot_header_bytes = 82;  // of a packet socket: TPACKET2_HDRLEN, aligned

/// Drivers in software and all their arguments; the first is one that each device needs.
struct Driver {
  std::string_view name, arguments;
  bool needs_first = false;
};
constexpr Driver drivers[] = {
    {"net_af_packet", "iface qpairs blocksz framesz framecnt qdisc_bypass", true},
    {"net_af_xdp", "iface start_queue queue_count shared_umem xdp_prog busy_budget force_copy",
     true},
    {"net_memif",
     "role id bsize rsize socket socket-abstract owner-uid owner-gid mac secret zero-copy"},
    {"net_tap", "iface remote mac"},
    {"net_null", "size copy no-rx"},
    {"net_pcap", "rx_pcap tx_pcap rx_iface rx_iface_in tx_iface iface phy_mac infinite_rx"},
};

const Driver* driver_called(const std::string& name) {
  const auto* const found = std::ranges::find(drivers, name, &Driver::name);
  return found == std::end(drivers) ? nullptr : found;
}

bool has_word(std::string_view words, std::string_view wanted) {
  const std::string padded = " " + std::string(words) + " ";
  return padded.find(" " + std::string(wanted) + " ") != std::string::npos;
}

/// What is between the commas behind the name, one after the other; false: there is no more.
bool next_argument(const std::string& device, size_t& at, std::string& argument) {
  if (at > device.size()) return false;
  const size_t end = std::min(device.find(',', at), device.size());
  argument = device.substr(at, end - at);
  at = end + 1;
  return true;
}

std::string mistake_in_name(const std::string& device) {
  const std::string name = device_name(device), driver = device_driver(device);
  if (driver_called(driver) != nullptr || is_pci_device(device)) return {};
  const bool is_bare = name.find_first_of(":_") == std::string::npos;
  if (!is_bare || name.empty()) return {};  // of another bus, or a driver we know nothing of
  return "\"" + name +
         "\" is no device of DPDK's; an interface of the kernel is written "
         "\"net_af_packet0,iface=" +
         name + "\", a NIC of our own by its PCI address, which `dpdk-devbind.py --status` tells";
}

std::string mistake_in_arguments(const std::string& device, const Driver& driver) {
  std::string argument;
  size_t at = std::min(device.find(','), device.size()) + 1;
  while (next_argument(device, at, argument)) {
    const size_t equals = argument.find('=');
    const std::string key = argument.substr(0, equals);
    if (!has_word(driver.arguments, key)) {
      return std::string(driver.name) + " has no argument \"" + key + "\"; it has " +
             std::string(driver.arguments);
    }
    if (equals == std::string::npos || equals + 1 == argument.size()) {
      return std::string(driver.name) + ": the argument " + key + " has no value; " + key + "=..";
    }
  }
  const std::string_view first = driver.arguments.substr(0, driver.arguments.find(' '));
  if (driver.needs_first && device_argument(device, std::string(first)).empty()) {
    return std::string(driver.name) + " needs an interface of the kernel's: \"" +
           device_name(device) + ",iface=eth1\"; `ip link` lists them";
  }
  return {};
}

std::string mistake_in_values(const std::string& device, const std::string& driver) {
  const std::string role = device_argument(device, "role");
  if (driver == "net_memif" && !role.empty() && role != "server" && role != "client" &&
      role != "master" && role != "slave") {
    return "net_memif: role=" + role + " is neither server nor client; each wire has one of each";
  }
  const std::string interface = device_argument(device, "iface");
  if (interface.size() >= IFNAMSIZ) {
    return "iface=" + interface + " is no name for an interface: 1 to 15 characters";
  }
  if (driver != "net_af_packet") return {};
  const uint32_t block = device_argument(device, "blocksz", page_bytes);
  const uint32_t frame = device_argument(device, "framesz", slot_bytes_usual);
  if (block == 0 || block % page_bytes != 0) {
    return "net_af_packet: blocksz=" + std::to_string(block) + " is no multiple of a page, 4096";
  }
  if (frame == 0 || frame % 16 != 0 || frame > block) {
    return "net_af_packet: framesz=" + std::to_string(frame) +
           " must be a multiple of 16 and fit into blocksz=" + std::to_string(block) +
           "; framesz=16384,blocksz=65536 carries every MTU";
  }
  return {};
}

void add_argument(std::string& device, const std::string& key, uint32_t value) {
  if (device_argument(device, key).empty()) device += "," + key + "=" + std::to_string(value);
}

/// A power of two, of `least` at least, that holds `bytes`.
uint32_t room_for(uint32_t bytes, uint32_t least) {
  while (least < bytes) least *= 2;
  return least;
}

/// Four megabytes of frames.
void size_rings(std::string& device, uint32_t ip_bytes_max) {
  constexpr uint32_t block_bytes = 65536, ring_bytes = 4 << 20;
  const uint32_t mtu = kernel_mtu(device_argument(device, "iface"));
  const uint32_t longest = mtu == 0 ? ip_bytes_max : mtu;
  const uint32_t frame = std::min(
      room_for(longest + link_bytes_max + slot_header_bytes, slot_bytes_usual), block_bytes);
  add_argument(device, "blocksz", block_bytes);
  add_argument(device, "framesz", frame);
  add_argument(device, "framecnt", ring_bytes / frame);
}

}  // namespace

bool is_pci_device(const std::string& device) {
  // [domain:]bus:slot.function, in hexadecimal digits
  const std::string address = device.substr(0, device.find(','));
  const size_t dot = address.rfind('.');
  const auto colons = std::ranges::count(address, ':');
  const bool is_hex = std::ranges::all_of(
      address, [](unsigned char c) { return std::isxdigit(c) != 0 || c == ':' || c == '.'; });
  return is_hex && dot != std::string::npos && (colons == 1 || colons == 2);
}

std::string device_name(const std::string& device) {
  const std::string name = device.substr(0, device.find(','));
  const bool lacks_domain = is_pci_device(device) && std::ranges::count(name, ':') == 1;
  return lacks_domain ? "0000:" + name : name;
}

std::string device_driver(const std::string& device) {
  if (is_pci_device(device)) return {};
  const std::string name = device_name(device);
  return name.substr(0, name.find_last_not_of("0123456789") + 1);
}

std::string device_argument(const std::string& device, const std::string& key) {
  const size_t at = device.find("," + key + "=");
  if (at == std::string::npos) return {};
  const size_t from = at + key.size() + 2;
  return device.substr(from, device.find(',', from) - from);
}

uint32_t device_argument(const std::string& device, const std::string& key, uint32_t otherwise) {
  const std::string text = device_argument(device, key);
  return text.empty() ? otherwise : static_cast<uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
}

bool copies_packets(const std::string& device) {
  constexpr const char* copying[] = {"net_memif", "net_ring", "net_null",
                                     "net_pcap",  "net_tap",  "net_af_packet"};
  return std::ranges::find(copying, device_driver(device)) != std::end(copying);
}

bool is_memif_server(const std::string& device) {
  const std::string role = device_argument(device, "role");
  return device_driver(device) == "net_memif" && (role == "server" || role == "master");
}

bool is_memif_client(const std::string& device) {
  return device_driver(device) == "net_memif" && !is_memif_server(device);
}

uint32_t slot_bytes_of(const std::string& device) {
  const std::string driver = device_driver(device);
  if (driver == "net_af_packet") return device_argument(device, "framesz", slot_bytes_usual);
  if (driver == "net_memif") return device_argument(device, "bsize", slot_bytes_usual);
  return slot_bytes_usual;
}

uint32_t slot_mtu_of(const std::string& device) {
  const std::string driver = device_driver(device);
  const uint32_t slot = slot_bytes_of(device);
  const auto less = [slot](uint32_t bytes) { return slot > bytes ? slot - bytes : 0; };
  // Longer frames would take several slots, which 22.11 gets wrong: frames come twice (seen).
  if (driver == "net_memif") return less(link_bytes_max);
  if (driver == "net_af_packet") return less(link_bytes_max + slot_header_bytes);
  return UINT32_MAX;
}

std::string mistake_in_device(const std::string& device) {
  if (const std::string mistake = mistake_in_name(device); !mistake.empty()) return mistake;
  const std::string name = device_driver(device);
  const Driver* const driver = driver_called(name);
  if (driver == nullptr) return {};
  const std::string mistake = mistake_in_arguments(device, *driver);
  return mistake.empty() ? mistake_in_values(device, name) : mistake;
}

std::string complete_device(const std::string& device, uint32_t ip_bytes_max, uint16_t queues) {
  const std::string driver = device_driver(device);
  std::string whole = device;
  if (driver == "net_memif") {
    const uint32_t kibibytes = (ip_bytes_max + link_bytes_max + 1023) / 1024;
    add_argument(whole, "bsize", std::max(kibibytes * 1024, slot_bytes_usual));
  } else if (driver == "net_af_packet") {
    const bool is_sized =
        !device_argument(device, "framesz").empty() || !device_argument(device, "blocksz").empty();
    if (!is_sized) size_rings(whole, ip_bytes_max);
    add_argument(whole, "qpairs", queues);
  } else if (driver == "net_af_xdp") {
    add_argument(whole, "queue_count", queues);
  }
  return whole;
}

}  // namespace cw
