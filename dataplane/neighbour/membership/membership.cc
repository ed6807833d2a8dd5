#include "dataplane/neighbour/membership/membership.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

constexpr uint8_t robustness = 2;  // a frame may be lost
constexpr Duration unasked_interval = Duration::from_s(1);

}  // namespace

Membership::Membership(const std::vector<HostAddress>& groups, const NeighbourSelf& v4,
                       const NeighbourSelf& v6, uint64_t seed)
    : v4_(v4), v6_(v6), prng_(seed) {
  CW_ASSERT(groups.size() <= limits::groups_max);
  for (const HostAddress& each : groups) members_.push_back({.group = each});
}

bool Membership::has(const HostAddress& group) const {
  return std::ranges::find(members_, group, &Member::group) != members_.end();
}

void Membership::begin(Instant now) {
  for (Member& each : members_) {
    each.unasked = robustness;
    each.due = now;
  }
}

void Membership::hear(const GroupQuery& query, Instant now) {
  const bool is_v4 = query.group.is_v4();
  if (!query.is_newest) older_until_[is_v4 ? 0 : 1] = now + older_for;
  const bool is_about_all = is_unspecified(query.group.ip);
  const auto most = static_cast<uint64_t>(query.within.ns()) + 1;
  const Instant together = now + Duration::from_ns(static_cast<int64_t>(prng_.below(most)));
  for (Member& each : members_) {
    if (each.group.is_v4() != is_v4 || !(is_about_all || each.group == query.group)) continue;
    each.due = std::min(each.due, together);
  }
}

GroupRecord Membership::take(Member& member, Instant now) {
  const bool is_unasked = member.unasked > 0;
  if (is_unasked) --member.unasked;
  member.due = Instant::never();
  if (member.unasked > 0) {
    const auto most = static_cast<uint64_t>(unasked_interval.ns());
    member.due = now + Duration::from_ns(static_cast<int64_t>(prng_.below(most)) + 1);
  }
  return {is_unasked ? GroupWord::Joins : GroupWord::IsMember, member.group};
}

/// Of the first that is wanted, and in the newest way of all of its IP version.
template <class IsWanted, class Take>
size_t Membership::write(IsWanted is_wanted, Take take_one, Instant now, std::span<uint8_t> out) {
  const auto first = std::ranges::find_if(members_, is_wanted);
  if (first == members_.end()) return 0;
  const IpVersion version = first->group.version;
  if (is_older(version, now))
    return encode_older_group_report(self(version), take_one(*first), out);
  std::array<GroupRecord, limits::groups_max> records;
  size_t count = 0;
  for (Member& each : members_) {
    if (each.group.version == version && is_wanted(each)) records[count++] = take_one(each);
  }
  return encode_group_report(self(version), std::span(records).first(count), out);
}

size_t Membership::next_report(Instant now, std::span<uint8_t> out) {
  if (now < free_at_) return 0;
  const size_t bytes = write([now](const Member& each) { return each.due <= now; },
                             [&](Member& each) { return take(each, now); }, now, out);
  if (bytes > 0) free_at_ = now + pace;
  return bytes;
}

size_t Membership::next_leave(Instant now, std::span<uint8_t> out) {
  const auto leave = [](Member& each) {
    each.has_left = true;
    return GroupRecord{GroupWord::Leaves, each.group};
  };
  return write([](const Member& each) { return !each.has_left; }, leave, now, out);
}

}  // namespace cw
