#include "dataplane/port/frame/groups/port_groups.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/kernel/kernel_groups.h"
#include "dataplane/kernel/kernel_interface.h"

namespace cw {

Result<void> PortGroups::join_by_kernel(const std::string& interface) {
  is_by_kernel_ = true;
  joined_.clear();
  for (const HostAddress& each : groups_) {
    auto joined = join_group(kernel_index(interface), each.version, each.ip);
    if (!joined) {
      return failure("group " + text_of(each) + " cannot be joined on " + interface + ": " +
                     std::strerror(joined.error()));
    }
    joined_.push_back(std::move(*joined));
  }
  return {};
}

void PortGroups::join_anew(const std::string& interface) {
  if (is_by_kernel_) (void)join_by_kernel(interface);
}

void PortGroups::join(const NeighbourSelf& v4, const NeighbourSelf& v6, uint64_t seed) {
  if (!groups_.empty()) membership_.emplace(groups_, v4, v6, seed);
}

bool PortGroups::has(const HostAddress& group) const {
  return std::ranges::find(groups_, group) != groups_.end();
}

size_t PortGroups::next_report(bool is_new, Instant now, std::span<uint8_t> out) {
  if (!membership_) return 0;
  if (is_new || spoken_at_ == Instant::never()) membership_->begin(now);
  spoken_at_ = now;
  return membership_->next_report(now, out);
}

size_t PortGroups::next_leave(std::span<uint8_t> out) {
  if (!membership_ || spoken_at_ == Instant::never()) return 0;
  return membership_->next_leave(spoken_at_, out);
}

}  // namespace cw
