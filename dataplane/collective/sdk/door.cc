#include "dataplane/collective/sdk/door.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "dataplane/sdr/sdk/attributes.h"
#include "dataplane/sdr/sdk/misuse.h"

using namespace cw;
using namespace cw::sdk;

static_assert(CW_GROUP_OPERATIONS == group::Group::operations_max);
static_assert(CW_GROUP_MULTICAST == static_cast<int>(group::Algorithm::Multicast) &&
              CW_GROUP_UNICAST == static_cast<int>(group::Algorithm::Unicast) &&
              CW_GROUP_RING == static_cast<int>(group::Algorithm::Ring) &&
              CW_GROUP_TREE == static_cast<int>(group::Algorithm::Tree));

namespace {

constexpr size_t key_bytes_min = 16;
constexpr uint32_t chains_max = 8;
constexpr uint64_t rate_bps_max = 9'000'000'000'000;  // the pacer's
constexpr uint64_t bytes_limit = uint64_t{1} << 40;   // far above what slots can be
constexpr uint64_t deadline_ns_max = 86'400 * uint64_t{1'000'000'000};
constexpr Duration deadline_default = Duration::from_s(30);

Result<std::unique_ptr<GroupDevice>> open_device(std::string_view name, const GroupPlace& place) {
  const size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  std::string names;
  for (const GroupDeviceKind& each : platform().group_devices) {
    if (each.kind == kind) {
      return each.open(colon == name.npos ? "" : name.substr(colon + 1), place);
    }
    names += (names.empty() ? "" : ", ") + std::string(each.kind);
  }
  return failure("there is no kind of device for groups called \"" + std::string(kind) +
                 "\"; this program has: " + (names.empty() ? "none" : names));
}

Result<void> check(const cw_group_attr& attr) {
  const auto number = [](uint64_t value) { return std::to_string(value); };
  if (!group::is_member_count(attr.members)) {
    return failure("members is " + number(attr.members) + " and must be 1 to " +
                   number(limits::group_members_max));
  }
  if (attr.rank >= attr.members) {
    return failure("rank is " + number(attr.rank) + " and must be below members, " +
                   number(attr.members));
  }
  if (attr.key == nullptr || attr.key_bytes < key_bytes_min) {
    return failure("the key of the group has " + number(attr.key == nullptr ? 0 : attr.key_bytes) +
                   " bytes and must have " + number(key_bytes_min) + " at least");
  }
  if (attr.bytes_max == 0 || attr.bytes_max > bytes_limit) {
    return failure("bytes_max is " + number(attr.bytes_max) + " and must be 1 to " +
                   number(bytes_limit));
  }
  if (attr.chains > chains_max) {
    return failure("chains is " + number(attr.chains) + " and may be " + number(chains_max));
  }
  if (attr.rate_bps > rate_bps_max) {
    return failure("rate_bps is " + number(attr.rate_bps) + " and may be " + number(rate_bps_max));
  }
  if (attr.deadline_ns > deadline_ns_max) {
    return failure("deadline_ns is " + number(attr.deadline_ns) + " and may be " +
                   number(deadline_ns_max));
  }
  if (attr.sum_bytes_max > attr.bytes_max) {
    return failure("sum_bytes_max is " + number(attr.sum_bytes_max) + " and may be bytes_max, " +
                   number(attr.bytes_max));
  }
  if (attr.algorithm > CW_GROUP_TREE) {
    return failure("algorithm is " + number(attr.algorithm) +
                   " and must be one of cw_group_algorithm");
  }
  return {};
}

/// Copies what the attributes point at. Errors: an address or a site that cannot be.
Result<GroupWishes> keep(const char* device, const cw_group_attr& attr) {
  GroupWishes wishes;
  wishes.device = device;
  wishes.attr = attr;
  for (uint32_t rank = 0; rank < attr.members; ++rank) {
    const char* const given = attr.addresses == nullptr ? "" : attr.addresses[rank];
    if (given == nullptr)
      return failure("the address of rank " + std::to_string(rank) + " is null");
    wishes.addresses.push_back(attr.addresses == nullptr ? std::to_string(rank) : given);
  }
  if (attr.sites != nullptr) wishes.sites.assign(attr.sites, attr.sites + attr.members);
  const auto* const key = static_cast<const uint8_t*>(attr.key);
  wishes.key.assign(key, key + attr.key_bytes);
  wishes.attr.addresses = nullptr;
  wishes.attr.sites = nullptr;
  wishes.attr.key = nullptr;
  return wishes;
}

cw_group* open_group(GroupWishes wishes) {
  auto group = std::make_unique<cw_group>(std::move(wishes));
  if (const auto opened = group->open(); !opened) return misuse(opened.error()), nullptr;
  return group.release();
}

uint64_t fresh_bits(void* state) {
  auto* group = static_cast<cw_group*>(state);
  return group->wishes.attr.seed != 0 ? group->prng.next() : group->device->fresh_bits();
}

}  // namespace

Result<void> cw_group::open() {
  const cw_group_attr& attr = wishes.attr;
  const auto rank = static_cast<uint16_t>(attr.rank);
  auto opened = open_device(wishes.device, {.rank = rank, .members = wishes.addresses});
  if (!opened) return std::unexpected(opened.error());
  device = std::move(*opened);
  const uint32_t most = group::slot_bytes_max(device->port().facts());
  if (attr.payload_bytes != 0 && (attr.payload_bytes < limits::group_payload_bytes_min ||
                                  attr.payload_bytes > most || attr.payload_bytes % 4 != 0)) {
    return cw::failure("payload_bytes is " + std::to_string(attr.payload_bytes) +
                       " and must be a multiple of 4 from " +
                       std::to_string(limits::group_payload_bytes_min) + " to " +
                       std::to_string(most) + " on this device");
  }
  group::GroupEndOptions options;
  options.rank = rank;
  options.addresses = wishes.addresses;
  for (uint32_t each = 0; each < attr.members; ++each) {
    options.peers.push_back(device->peer_of(static_cast<uint16_t>(each)));
  }
  options.sites = wishes.sites;
  options.group_peer = device->group_peer();
  options.key = wishes.key;
  options.random = {this, fresh_bits};
  options.rate = attr.rate_bps == 0 ? device->rate() : Rate::from_bps(attr.rate_bps);
  options.payload_bytes = attr.payload_bytes;
  options.bytes_max = attr.bytes_max;
  options.sum_bytes_max = attr.sum_bytes_max;
  options.algorithm = static_cast<group::Algorithm>(attr.algorithm);
  options.chains = attr.chains;
  options.deadline = attr.deadline_ns == 0
                         ? deadline_default
                         : Duration::from_ns(static_cast<int64_t>(attr.deadline_ns));
  end.emplace(device->port(), options);
  return {};
}

cw_group* cw_group_create(const char* device, const cw_group_attr* given) {
  const auto attr = copy_attributes(given, sizeof(cw_group_attr), "cw_group_attr");
  if (!attr) return nullptr;
  if (device == nullptr) return misuse("the device is null"), nullptr;
  if (const auto checked = check(*attr); !checked) return misuse(checked.error()), nullptr;
  auto wishes = keep(device, *attr);
  if (!wishes) return misuse(wishes.error()), nullptr;
  return open_group(std::move(*wishes));
}

void cw_group_destroy(cw_group* group) { delete group; }

cw_group* cw_group_shrink(cw_group* group, uint32_t rank) {
  if (group == nullptr) return misuse("the group is null"), nullptr;
  GroupWishes wishes = group->wishes;
  if (rank >= wishes.attr.members || rank == wishes.attr.rank) {
    misuse("rank %u cannot be left out: it must be another one below members, %u", rank,
           wishes.attr.members);
    return nullptr;
  }
  wishes.addresses.erase(wishes.addresses.begin() + rank);
  if (!wishes.sites.empty()) wishes.sites.erase(wishes.sites.begin() + rank);
  wishes.attr.members -= 1;
  wishes.attr.rank -= wishes.attr.rank > rank;
  if (wishes.attr.seed != 0) wishes.attr.seed = group->prng.next() | 1;
  cw_group_destroy(group);
  return open_group(std::move(wishes));
}

int cw_group_turn(cw_group* group) {
  if (group == nullptr) return misuse("the group is null"), -1;
  return group->end->turn(group->device->now());
}

int64_t cw_group_idle_ns(cw_group* group) {
  if (group == nullptr) return misuse("the group is null"), 0;
  Worker& worker = group->end->worker();
  if (worker.is_behind()) return 0;
  const Instant wake = worker.next_wakeup();
  worker.sleeps_until(wake);
  if (wake == Instant::never()) return INT64_MAX;
  return std::max<int64_t>((wake - group->device->now()).ns(), 0);
}

int cw_group_fd(const cw_group* group) {
  if (group == nullptr) return misuse("the group is null"), -1;
  return group->end->port().facts().wait_fd;
}

int cw_group_is_up(const cw_group* group) {
  if (group == nullptr) return misuse("the group is null"), 0;
  return group->end->group().is_up() && group->failure().empty();
}

const char* cw_group_why(cw_group* group) {
  if (group == nullptr) return "the group is null";
  const group::Membership& membership = group->end->group().membership();
  group->why = !group->failure().empty()        ? group->failure()
               : !membership.obstacle().empty() ? membership.obstacle()
               : membership.is_in_force()       ? group->end->group().trouble()
                                                : "not all members have joined yet";
  return group->why.c_str();
}

uint32_t cw_group_payload_bytes(const cw_group* group) {
  if (group == nullptr) return misuse("the group is null"), 0;
  const group::Membership& membership = group->end->group().membership();
  return membership.is_in_force() ? membership.epoch().payload_bytes : 0;
}
