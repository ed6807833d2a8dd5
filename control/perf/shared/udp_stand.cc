#include "control/perf/shared/udp_stand.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "dataplane/base/assert.h"
#include "offload/crc32.h"

namespace cw::perf {
namespace {

/// Several members may share a processor: who waits leaves it to others, and packets gather.
constexpr Duration spin = Duration::from_us(10), pause = Duration::from_us(100);

uint64_t fresh_bits(void*) {
  uint64_t bits = 0;
  // Up to 256 bytes come whole once the pool is filled, which waiting ensures.
  CW_ASSERT(getrandom(&bits, sizeof(bits), 0) == sizeof(bits));
  return bits;
}

}  // namespace

Result<void> UdpStand::open(const Place& place, const std::vector<std::string>& groups,
                            uint64_t seed) {
  UdpGroupPortOptions port;
  port.rank = place.rank;
  port.members = place.members;
  port.groups = {place.group};
  port.groups.insert(port.groups.end(), groups.begin(), groups.end());
  port.interface = place.interface;
  port.udp_port = place.udp_port;
  port.hops = place.hops;
  port.crc32 = cw_crc32;
  auto made = UdpGroupPort::make(port);
  if (!made) return std::unexpected(made.error());
  port_ = std::move(*made);
  wire_.emplace(*port_, ImpairedPortOptions{.seed = seed + place.rank});
  PortBase* const ports[] = {&*wire_};
  idle_.emplace(IdleOptions{.spin = spin, .pause = pause}, ports);
  return {};
}

void UdpStand::describe(const Place& place, uint32_t payload_bytes,
                        group::MemberOptions& member) const {
  member.rank = place.rank;
  member.addresses = place.members;
  member.peers.resize(place.members.size());
  std::iota(member.peers.begin(), member.peers.end(), uint16_t{0});
  member.key = {reinterpret_cast<const uint8_t*>(place.key.data()), place.key.size()};
  member.random = {nullptr, fresh_bits};
  member.payload_bytes = std::min(payload_bytes, group::slot_bytes_max(port_->facts()));
}

std::string why_apart(const group::Membership& membership) {
  const std::string& why = membership.obstacle();
  return "the members did not come together: " +
         (why.empty() ? "not all have begun, or multicast does not reach them" : why);
}

}  // namespace cw::perf
