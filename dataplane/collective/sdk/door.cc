#include "dataplane/collective/sdk/door.h"

#include <memory>
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

constexpr uint32_t chains_max = 8;
constexpr uint64_t bytes_limit = uint64_t{1} << 40;  // far above what slots can be
constexpr Duration deadline_default = Duration::from_s(30);

Result<void> check(const cw_group_attr& attr) {
  const auto number = [](uint64_t value) { return std::to_string(value); };
  if (attr.bytes_max == 0 || attr.bytes_max > bytes_limit) {
    return failure("bytes_max is " + number(attr.bytes_max) + " and must be 1 to " +
                   number(bytes_limit));
  }
  if (attr.chains > chains_max) {
    return failure("chains is " + number(attr.chains) + " and may be " + number(chains_max));
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

cw_group* open_group(MemberWishes wishes, const cw_group_attr& attr) {
  auto group = std::make_unique<cw_group>(std::move(wishes), attr);
  if (const auto opened = group->open(); !opened) return misuse(opened.error()), nullptr;
  return group.release();
}

}  // namespace

Result<void> cw_group::open() {
  if (const auto opened = member.open(); !opened) return std::unexpected(opened.error());
  group::GroupEndOptions options{member.options()};
  options.bytes_max = attr.bytes_max;
  options.sum_bytes_max = attr.sum_bytes_max;
  options.algorithm = static_cast<group::Algorithm>(attr.algorithm);
  options.chains = attr.chains;
  options.deadline = duration_or(attr.deadline_ns, deadline_default);
  end.emplace(member.port(), options);
  return {};
}

cw_group* cw_group_create(const char* device, const cw_group_attr* given) {
  const auto attr = copy_attributes(given, sizeof(cw_group_attr), "cw_group_attr");
  if (!attr) return nullptr;
  auto wishes = MemberWishes::of(device, MemberAttributes::of(*attr));
  if (!wishes) return misuse(wishes.error()), nullptr;
  if (const auto checked = check(*attr); !checked) return misuse(checked.error()), nullptr;
  return open_group(std::move(*wishes), *attr);
}

void cw_group_destroy(cw_group* group) { delete group; }

cw_group* cw_group_shrink(cw_group* group, uint32_t rank) {
  if (group == nullptr) return misuse("the group is null"), nullptr;
  const MemberWishes& had = group->member.wishes();
  const auto members = static_cast<uint32_t>(had.addresses.size());
  if (rank >= members || rank == had.rank) {
    misuse("rank %u cannot be left out: it must be another one below members, %u", rank, members);
    return nullptr;
  }
  MemberWishes wishes = group->member.without(rank);
  const cw_group_attr attr = group->attr;
  cw_group_destroy(group);
  return open_group(std::move(wishes), attr);
}

int cw_group_turn(cw_group* group) {
  if (group == nullptr) return misuse("the group is null"), -1;
  return group->end->turn(group->member.now());
}

int64_t cw_group_idle_ns(cw_group* group) {
  if (group == nullptr) return misuse("the group is null"), 0;
  return group->member.idle_ns(group->end->worker());
}

int cw_group_fd(const cw_group* group) {
  if (group == nullptr) return misuse("the group is null"), -1;
  return group->end->port().facts().wait_fd;
}

int cw_group_is_up(const cw_group* group) {
  if (group == nullptr) return misuse("the group is null"), 0;
  return group->end->group().is_up() && group->end->group().failure().empty();
}

const char* cw_group_why(cw_group* group) {
  if (group == nullptr) return "the group is null";
  const group::Group& engine = group->end->group();
  group->why = why_not_up(engine.membership(), engine.failure());
  if (group->why.empty()) group->why = engine.trouble();
  return group->why.c_str();
}

uint32_t cw_group_payload_bytes(const cw_group* group) {
  if (group == nullptr) return misuse("the group is null"), 0;
  const group::Membership& membership = group->end->group().membership();
  return membership.is_in_force() ? membership.epoch().payload_bytes : 0;
}
