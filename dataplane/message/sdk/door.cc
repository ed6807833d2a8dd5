#include "dataplane/message/sdk/door.h"

#include <algorithm>
#include <string_view>

#include "dataplane/policy.h"
#include "dataplane/sdr/sdk/attributes.h"
#include "dataplane/sdr/sdk/misuse.h"

using namespace cw;
using namespace cw::sdk;

static_assert(CW_MESH_PAIR_OPEN == group::numbers_open_max);

namespace {

constexpr std::string_view policy_default = "csa_ud";
constexpr uint32_t open_default = 256, open_max = 65'534;
constexpr uint64_t reorder_ns_max = 1'000'000'000;
constexpr Duration reorder_default = Duration::from_us(100);
constexpr Duration deadline_default = Duration::from_s(10);

Result<void> check(const cw_mesh_attr& attr) {
  const auto number = [](uint64_t value) { return std::to_string(value); };
  if (attr.pool_bytes > attr.bytes_max) {
    return failure("pool_bytes is " + number(attr.pool_bytes) + " and may be bytes_max, " +
                   number(attr.bytes_max));
  }
  if (attr.sends_max > open_max) {
    return failure("sends_max is " + number(attr.sends_max) + " and may be " + number(open_max));
  }
  if (attr.receives_max > open_max) {
    return failure("receives_max is " + number(attr.receives_max) + " and may be " +
                   number(open_max));
  }
  if (attr.reorder_ns > reorder_ns_max) {
    return failure("reorder_ns is " + number(attr.reorder_ns) + " and may be " +
                   number(reorder_ns_max));
  }
  return {};
}

/// Of the longest message: as many slots of this device's as a message may have.
Result<void> check_bytes(uint64_t bytes_max, uint32_t payload_bytes) {
  const uint64_t most = limits::slots_per_message_max * uint64_t{payload_bytes};
  if (bytes_max >= 1 && bytes_max <= most) return {};
  return failure("bytes_max is " + std::to_string(bytes_max) + " and must be 1 to " +
                 std::to_string(most) + " in slots of " + std::to_string(payload_bytes) + " bytes");
}

const cw_policy_ops& chosen(const cw_policy_ops* wanted) {
  if (wanted != nullptr) return *wanted;
  const auto policies = platform().policies;
  const auto usual = std::ranges::find(policies, policy_default,
                                       [](const cw_policy_ops* each) { return each->name; });
  return usual == policies.end() ? *policies.front() : **usual;
}

}  // namespace

Result<void> cw_mesh::open(const cw_mesh_attr& attr) {
  if (const auto opened = member.open(); !opened) return std::unexpected(opened.error());
  group::MessageEndOptions options{member.options()};
  const PortFacts& facts = member.port().facts();
  const uint32_t payload =
      options.payload_bytes == 0 ? group::slot_bytes_max(facts) : options.payload_bytes;
  if (const auto checked = check_bytes(attr.bytes_max, payload); !checked) return checked;
  const cw_policy_ops& policy = chosen(attr.policy);
  auto own = params_of(policy, {attr.policy_params, attr.policy_param_count});
  if (!own) return std::unexpected(own.error());
  auto of_fallback = params_of(*platform().policies.front(), {});
  if (!of_fallback) return std::unexpected(of_fallback.error());
  params = std::move(*own);
  fallback_params = std::move(*of_fallback);
  sends_max = attr.sends_max == 0 ? open_default : attr.sends_max;
  receives_max = attr.receives_max == 0 ? open_default : attr.receives_max;
  has_pool = attr.pool_bytes != 0;
  const uint32_t paths = std::min<uint32_t>(facts.paths, group::Spray::paths_max);
  options.bytes_max = attr.bytes_max;
  options.pool_bytes = attr.pool_bytes;
  options.sends_max = sends_max;
  options.receives_max = receives_max;
  options.paths = attr.paths == 0 ? paths : std::min(attr.paths, paths);
  options.policy = {&policy, params};
  options.fallback = {platform().policies.front(), fallback_params};
  options.reorder = duration_or(attr.reorder_ns, reorder_default);
  options.deadline = duration_or(attr.deadline_ns, deadline_default);
  auto made = group::MessageEnd::make(member.port(), options);
  if (!made) return std::unexpected(made.error());
  end = std::move(*made);
  return {};
}

cw_mesh* cw_mesh_create(const char* device, const cw_mesh_attr* given) {
  const auto attr = copy_attributes(given, sizeof(cw_mesh_attr), "cw_mesh_attr");
  if (!attr) return nullptr;
  auto wishes = MemberWishes::of(device, MemberAttributes::of(*attr));
  if (!wishes) return misuse(wishes.error()), nullptr;
  if (const auto checked = check(*attr); !checked) return misuse(checked.error()), nullptr;
  auto mesh = std::make_unique<cw_mesh>(std::move(*wishes));
  if (const auto opened = mesh->open(*attr); !opened) return misuse(opened.error()), nullptr;
  return mesh.release();
}

void cw_mesh_destroy(cw_mesh* mesh) { delete mesh; }

int cw_mesh_turn(cw_mesh* mesh) {
  if (mesh == nullptr) return misuse("the mesh is null"), -1;
  return mesh->end->turn(mesh->member.now());
}

int64_t cw_mesh_idle_ns(cw_mesh* mesh) {
  if (mesh == nullptr) return misuse("the mesh is null"), 0;
  return mesh->member.idle_ns(mesh->end->worker());
}

int cw_mesh_fd(const cw_mesh* mesh) {
  if (mesh == nullptr) return misuse("the mesh is null"), -1;
  return mesh->end->port().facts().wait_fd;
}

int cw_mesh_is_up(const cw_mesh* mesh) {
  if (mesh == nullptr) return misuse("the mesh is null"), 0;
  return mesh->messages().is_up();
}

const char* cw_mesh_why(cw_mesh* mesh) {
  if (mesh == nullptr) return "the mesh is null";
  mesh->why = why_not_up(mesh->messages().membership(), mesh->messages().failure());
  return mesh->why.c_str();
}

uint32_t cw_mesh_payload_bytes(const cw_mesh* mesh) {
  if (mesh == nullptr) return misuse("the mesh is null"), 0;
  const group::Membership& membership = mesh->messages().membership();
  return membership.is_in_force() ? membership.epoch().payload_bytes : 0;
}
