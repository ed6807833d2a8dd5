// The multicast addresses of groups: the queue pair that hears them, and the ways by which they are
// sent to. An address is its own GID, IPv4 as ::ffff:a.b.c.d, as RoCEv2 has it.
//
// To hear one takes two steps. The device is told which of its queue pairs a packet is for
// (ibv_attach_mcast), which says nothing to the network; and the interface joins the address as for
// a socket, so that switches (IGMP, MLD) and the kernel below soft-RoCE let it through.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/result.h"
#include "dataplane/kernel/owned_fd.h"
#include "dataplane/port.h"
#include "dataplane/port/verbs/device/device.h"

namespace cw::verbs {

struct MulticastOptions {
  std::vector<std::string> addresses;
  uint16_t source_port = 0, paths = 1;
};

/// Thread: the keeper's, once it is made; way() any.
class Multicast {
 public:
  /// `pair` hears all the addresses from now on, and is there for longer. Errors: an address that
  /// is none of a group, or not of the device's family; more than the device has room for; the
  /// kernel's, with the step that failed.
  static Result<std::unique_ptr<Multicast>> make(const Device& device, ibv_qp& pair,
                                                 const MulticastOptions& options);
  ~Multicast();
  Multicast(const Multicast&) = delete;
  Multicast& operator=(const Multicast&) = delete;

  size_t count() const { return count_; }
  /// Null: there is none at present.
  ibv_ah* way(size_t group, size_t path) const {
    return groups_[group].ways[path].load(std::memory_order_acquire);
  }
  /// The pair has been begun anew, or the device's address lies elsewhere: to be renewed.
  void expire() {
    for (Group& each : all()) each.is_current = false;
  }
  bool is_current() const;
  /// What is not. Errors: as make()'s; what has not been done is to be tried again.
  Result<void> renew();

 private:
  struct Group {
    ibv_gid gid{};
    OwnedFd membership;  // a socket that has joined; it takes nothing
    bool is_attached = false, is_current = false;
    std::array<std::atomic<ibv_ah*>, limits::paths_max> ways{};
  };

  Multicast(const Device& device, ibv_qp& pair, const MulticastOptions& options);
  std::span<Group> all() const { return {groups_.get(), count_}; }
  Result<void> check() const;
  Result<void> attach(Group& group) const;
  void detach(Group& group) const;
  Result<void> join(Group& group) const;
  Result<void> make_ways(Group& group);

  const Device& device_;
  ibv_qp& pair_;
  MulticastOptions options_;
  size_t count_;
  std::unique_ptr<Group[]> groups_;
  std::vector<AddressHandle> ways_;  // all that there were: the turn may still send by one
};

}  // namespace cw::verbs
