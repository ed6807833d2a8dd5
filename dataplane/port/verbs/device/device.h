// An RDMA device and the address by which it speaks: what it can do, the way to a peer, and what it
// tells of itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/port/verbs/device/handles.h"
#include "dataplane/wire/outer/source_index.h"

namespace cw::verbs {

inline constexpr uint8_t port_number = 1;

/// Of path p of a link, at who sends from `first` upwards [C-63].
inline uint16_t source_port_of(uint16_t first, uint16_t link, uint16_t path) {
  return static_cast<uint16_t>(first_source_port(first, link) + path);
}
/// What is not there yet is asked for again.
void make_nonblocking(int fd);

/// "192.0.2.1" or "2001:db8::1" as a GID; `key` is what the sentence of an error blames.
Result<ibv_gid> parse_gid(const std::string& address, const char* key);
/// As parse_gid() reads it.
std::string text_of(const ibv_gid& gid);
bool is_v4(const ibv_gid& gid);

/// Thread: any, its members being constant once made; the system calls behind them are safe.
class Device {
 public:
  /// Errors: no such device (those that there are follow), no right to use it, its port is no
  /// Ethernet, no GID of this address.
  static Result<std::unique_ptr<Device>> open(const std::string& name, const std::string& address);

  ibv_context* context() const { return context_.get(); }
  ibv_pd* domain() const { return domain_.get(); }
  const ibv_device_attr& limits() const { return limits_; }
  const std::string& name() const { return name_; }
  const std::string& address() const { return address_; }
  const ibv_gid& gid() const { return gid_; }
  /// The most that one packet carries, of the sizes that path MTUs have.
  uint32_t payload_max() const { return payload_max_; }
  /// The longest IP packet that the interface takes, at the start.
  uint32_t interface_mtu() const { return interface_mtu_; }

  /// Which place of the table the address has at present; it moves when addresses come and go.
  std::optional<uint8_t> find_gid() const;
  /// The network interface that has the address, as the kernel numbers them; 0: none that is seen
  /// from here.
  uint32_t find_interface() const;
  bool is_port_up() const;
  /// The way to a peer, by a UDP source port from rnic_source_port_min on where the device lets it
  /// be chosen.
  ibv_ah_attr way_to(const ibv_gid& peer, uint8_t gid_index, uint16_t source_port) const;

  /// Readable when take_event() has something.
  int event_fd() const { return context_->async_fd; }
  /// What the device tells next; nothing: no more at present.
  std::optional<ibv_event_type> take_event() const;

 private:
  Device() = default;
  Result<void> read_limits();
  Result<void> read_port();
  uint32_t read_interface_mtu() const;

  std::string name_, address_;
  ibv_gid gid_{};
  ibv_device_attr limits_{};
  uint32_t payload_max_ = 0, interface_mtu_ = 0;
  Context context_;
  ProtectionDomain domain_;
};

/// The path MTU of this many bytes, one of those that there are.
ibv_mtu path_mtu_of(uint32_t bytes);

}  // namespace cw::verbs
