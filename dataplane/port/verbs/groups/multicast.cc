#include "dataplane/port/verbs/groups/multicast.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "dataplane/kernel/kernel_groups.h"

namespace cw::verbs {
namespace {

/// What gateways send in circles ends (SPEC.md 18.1).
constexpr uint8_t group_hops = 4;

bool is_group(const ibv_gid& gid) {
  return is_v4(gid) ? gid.raw[12] >> 4 == 0xe : gid.raw[0] == 0xff;
}

}  // namespace

Multicast::Multicast(const Device& device, ibv_qp& pair, const MulticastOptions& options)
    : device_(device),
      pair_(pair),
      options_(options),
      count_(options.addresses.size()),
      groups_(std::make_unique<Group[]>(count_)) {}

Multicast::~Multicast() {
  for (Group& each : all()) detach(each);
}

Result<std::unique_ptr<Multicast>> Multicast::make(const Device& device, ibv_qp& pair,
                                                   const MulticastOptions& options) {
  std::unique_ptr<Multicast> made(new Multicast(device, pair, options));
  for (size_t i = 0; i < made->count_; ++i) {
    const auto gid = parse_gid(options.addresses[i], "the address of a group");
    if (!gid) return std::unexpected(gid.error());
    made->groups_[i].gid = *gid;
  }
  if (const auto checked = made->check(); !checked) return std::unexpected(checked.error());
  if (const auto renewed = made->renew(); !renewed) return std::unexpected(renewed.error());
  return made;
}

Result<void> Multicast::check() const {
  for (const Group& each : all()) {
    if (!is_group(each.gid)) {
      return failure("the address of a group is " + text_of(each.gid) +
                     " and must be a multicast address, as 239.0.0.1 or ff15::1");
    }
    if (is_v4(each.gid) != is_v4(device_.gid())) {
      return failure("the address of a group is " + text_of(each.gid) +
                     " and must be of one family with " + device_.address());
    }
  }
  const auto most = static_cast<size_t>(device_.limits().max_mcast_grp);
  if (count_ <= most) return {};
  if (most == 0) return failure("device \"" + device_.name() + "\" knows no multicast");
  return failure("device \"" + device_.name() + "\" has room for this many groups: " +
                 std::to_string(most) + "; here are " + std::to_string(count_));
}

bool Multicast::is_current() const {
  return std::ranges::all_of(all(), [](const Group& each) { return each.is_current; });
}

Result<void> Multicast::renew() {
  for (Group& each : all()) {
    if (each.is_current) continue;
    if (const auto joined = join(each); !joined) return joined;
    if (const auto attached = attach(each); !attached) return attached;
    if (const auto made = make_ways(each); !made) return made;
    each.is_current = true;
  }
  return {};
}

/// Anew where it was: whether a device forgets it with the state of the pair is the device's.
Result<void> Multicast::attach(Group& group) const {
  detach(group);
  const int error = ibv_attach_mcast(&pair_, &group.gid, 0);
  group.is_attached = error == 0;
  if (error == 0) return {};
  return failure("device \"" + device_.name() + "\" takes no queue pair into group " +
                 text_of(group.gid) + " (" + std::strerror(error) + "): it has room for " +
                 std::to_string(device_.limits().max_mcast_grp) + " groups, and for " +
                 std::to_string(device_.limits().max_mcast_qp_attach) + " queue pairs in each");
}

void Multicast::detach(Group& group) const {
  if (group.is_attached) (void)ibv_detach_mcast(&pair_, &group.gid, 0);
  group.is_attached = false;
}

Result<void> Multicast::join(Group& group) const {
  const uint32_t interface = device_.find_interface();
  if (interface == 0) return {};  // none of this namespace: who owns it has to
  const IpVersion version = is_v4(group.gid) ? IpVersion::V4 : IpVersion::V6;
  IpAddress ip{};
  std::copy(group.gid.raw + (is_v4(group.gid) ? 12 : 0), std::end(group.gid.raw), ip.begin());
  auto joined = join_group(interface, version, ip);
  if (!joined) {
    return failure("the interface of device \"" + device_.name() + "\" does not join group " +
                   text_of(group.gid) + ": " + std::strerror(joined.error()));
  }
  group.membership = std::move(*joined);
  return {};
}

Result<void> Multicast::make_ways(Group& group) {
  const auto gid_index = device_.find_gid();
  if (!gid_index) {
    return failure("device \"" + device_.name() + "\" has lost the address " + device_.address());
  }
  for (uint16_t path = 0; path < options_.paths; ++path) {
    ibv_ah_attr way =
        device_.way_to(group.gid, *gid_index, source_port_of(options_.source_port, 0, path));
    way.grh.hop_limit = group_hops;
    AddressHandle handle(ibv_create_ah(device_.domain(), &way));
    if (handle == nullptr) {
      return failure("device \"" + device_.name() + "\" has no way to group " + text_of(group.gid) +
                     ": " + std::strerror(errno));
    }
    group.ways[path].store(handle.get(), std::memory_order_release);
    ways_.push_back(std::move(handle));
  }
  return {};
}

}  // namespace cw::verbs
