// The multicast groups that a DPDK port belongs to, and how routers and switches hear of it: by the
// kernel, where it sees the frames of the same interface, else by IGMP and MLD of our own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/base/units.h"
#include "dataplane/kernel/owned_fd.h"
#include "dataplane/neighbour/membership/membership.h"

namespace cw {

/// Thread: one. Nothing allocates once groups are joined.
class PortGroups {
 public:
  explicit PortGroups(const std::vector<HostAddress>& groups) : groups_(groups) {}

  /// Errors: what the kernel says.
  Result<void> join_by_kernel(const std::string& interface);
  /// On an interface that has come back, where the kernel speaks; as far as it lets us.
  void join_anew(const std::string& interface);
  /// We speak ourselves, as `v4` and `v6`.
  void join(const NeighbourSelf& v4, const NeighbourSelf& v6, uint64_t seed);

  bool has(const HostAddress& group) const;
  bool speaks() const { return membership_.has_value(); }
  void hear(const GroupQuery& query, Instant now) {
    if (membership_) membership_->hear(query, now);
  }
  /// Now and then, while there is a link; `is_new`: its cable may lead elsewhere now. Writes what
  /// is to be said, in group_message_bytes_max; zero: nothing.
  size_t next_report(bool is_new, Instant now, std::span<uint8_t> out);
  /// Likewise, at the end, until it is zero.
  size_t next_leave(std::span<uint8_t> out);

 private:
  std::vector<HostAddress> groups_;
  std::optional<Membership> membership_;
  Instant spoken_at_ = Instant::never();
  bool is_by_kernel_ = false;
  std::vector<OwnedFd> joined_;
};

}  // namespace cw
