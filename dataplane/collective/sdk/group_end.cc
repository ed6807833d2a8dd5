#include "dataplane/collective/sdk/group_end.h"

namespace cw::group {
namespace {

GroupOptions options_of(const GroupEndOptions& options, const MemberPort& member) {
  GroupOptions group;
  group.datagrams = member.datagrams(options);
  group.address = joined(options.addresses);
  group.recovery_worst = options.recovery_worst;
  group.bytes_max = options.bytes_max;
  group.sum_bytes_max = options.sum_bytes_max;
  group.algorithm = options.algorithm;
  group.chains = options.chains;
  group.reorder = options.reorder;
  group.deadline = options.deadline;
  return group;
}

}  // namespace

GroupEnd::GroupEnd(AnyWanPort port, const GroupEndOptions& options)
    : member_(port, options.key),
      group_(member_.port(), member_.counters(), member_.drops(), options_of(options, member_)),
      worker_({}, {&member_.port(), &group_.station()}) {}

}  // namespace cw::group
