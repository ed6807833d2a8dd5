#include "dataplane/datagram/sdk/open_member.h"

#include <algorithm>
#include <utility>

namespace cw::sdk {
namespace {

constexpr size_t key_bytes_min = 16;
constexpr uint64_t rate_bps_max = 9'000'000'000'000;  // the pacer's

std::string number(uint64_t value) { return std::to_string(value); }

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

Result<void> check(const MemberAttributes& attr) {
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
  if (attr.rate_bps > rate_bps_max) {
    return failure("rate_bps is " + number(attr.rate_bps) + " and may be " + number(rate_bps_max));
  }
  if (attr.deadline_ns > deadline_ns_max) {
    return failure("deadline_ns is " + number(attr.deadline_ns) + " and may be " +
                   number(deadline_ns_max));
  }
  return {};
}

}  // namespace

Result<MemberWishes> MemberWishes::of(const char* device, const MemberAttributes& attr) {
  if (device == nullptr) return failure("the device is null");
  if (const auto checked = check(attr); !checked) return std::unexpected(checked.error());
  const auto* const key = static_cast<const uint8_t*>(attr.key);
  MemberWishes wishes{.device = device,
                      .rank = attr.rank,
                      .payload_bytes = attr.payload_bytes,
                      .addresses = {},
                      .sites = {},
                      .key = {key, key + attr.key_bytes},
                      .rate_bps = attr.rate_bps,
                      .deadline_ns = attr.deadline_ns,
                      .seed = attr.seed};
  for (uint32_t rank = 0; rank < attr.members; ++rank) {
    const char* const given = attr.addresses == nullptr ? "" : attr.addresses[rank];
    if (given == nullptr) return failure("the address of rank " + number(rank) + " is null");
    wishes.addresses.push_back(attr.addresses == nullptr ? number(rank) : given);
  }
  if (attr.sites != nullptr) wishes.sites.assign(attr.sites, attr.sites + attr.members);
  return wishes;
}

Result<void> OpenMember::open() {
  const auto rank = static_cast<uint16_t>(wishes_.rank);
  auto opened = open_device(wishes_.device, {.rank = rank, .members = wishes_.addresses});
  if (!opened) return std::unexpected(opened.error());
  device_ = std::move(*opened);
  const uint32_t wanted = wishes_.payload_bytes;
  const uint32_t most = group::slot_bytes_max(device_->port().facts());
  const bool can_be = wanted >= limits::group_payload_bytes_min && wanted <= most;
  if (wanted == 0 || (can_be && wanted % 4 == 0)) return {};
  return failure("payload_bytes is " + number(wanted) + " and must be a multiple of 4 from " +
                 number(limits::group_payload_bytes_min) + " to " + number(most) +
                 " on this device");
}

group::MemberOptions OpenMember::options() {
  group::MemberOptions options;
  options.rank = static_cast<uint16_t>(wishes_.rank);
  options.addresses = wishes_.addresses;
  for (uint32_t each = 0; each < wishes_.addresses.size(); ++each) {
    options.peers.push_back(device_->peer_of(static_cast<uint16_t>(each)));
  }
  options.sites = wishes_.sites;
  options.group_peer = device_->group_peer();
  options.key = wishes_.key;
  options.random = {this, fresh_bits};
  options.rate = wishes_.rate_bps == 0 ? device_->rate() : Rate::from_bps(wishes_.rate_bps);
  options.payload_bytes = wishes_.payload_bytes;
  return options;
}

uint64_t OpenMember::fresh_bits(void* member) {
  auto* const self = static_cast<OpenMember*>(member);
  return self->wishes_.seed != 0 ? self->prng_.next() : self->device_->fresh_bits();
}

MemberWishes OpenMember::without(uint32_t left_out) {
  MemberWishes wishes = wishes_;
  wishes.addresses.erase(wishes.addresses.begin() + left_out);
  if (!wishes.sites.empty()) wishes.sites.erase(wishes.sites.begin() + left_out);
  wishes.rank -= wishes.rank > left_out;
  if (wishes.seed != 0) wishes.seed = prng_.next() | 1;
  return wishes;
}

int64_t OpenMember::idle_ns(Worker& worker) {
  if (worker.is_behind()) return 0;
  const Instant wake = worker.next_wakeup();
  worker.sleeps_until(wake);
  if (wake == Instant::never()) return INT64_MAX;
  return std::max<int64_t>((wake - device_->now()).ns(), 0);
}

std::string_view why_not_up(const group::Membership& membership, const std::string& failure) {
  if (!failure.empty()) return failure;
  if (!membership.obstacle().empty()) return membership.obstacle();
  return membership.is_in_force() ? "" : "not all members have joined yet";
}

}  // namespace cw::sdk
