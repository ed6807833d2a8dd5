#include "dataplane/collective/sdk/group_end.h"

namespace cw::group {
namespace {

std::unique_ptr<RawPort> raw_of(AnyWanPort port) {
  return port.bytes() == nullptr ? nullptr : std::make_unique<RawPort>(*port.bytes());
}

cw_mac mac_of(std::span<const uint8_t> key) {
  cw_mac mac;
  cw_mac_init(&mac, key.data(), key.size());
  return mac;
}

std::string joined(const std::vector<std::string>& addresses) {
  std::string text;
  for (const std::string& each : addresses) text += text.empty() ? each : "," + each;
  return text;
}

GroupOptions options_of(const GroupEndOptions& options, const PortFacts& facts,
                        const cw_mac& secret) {
  GroupOptions group;
  MembershipOptions& member = group.datagrams.membership;
  member.rank = options.rank;
  member.peers = options.peers;
  member.sites = options.sites;
  member.secret = {.state = &secret, .compute = cw_mac_compute, .number = 0};
  member.mac.prepare = [](MacMaker::State& state, const void* key, size_t bytes) {
    static_assert(sizeof(state) == sizeof(cw_mac));
    cw_mac_init(reinterpret_cast<cw_mac*>(&state), key, bytes);
  };
  member.random = options.random;
  member.rate = options.rate;
  member.payload_bytes = options.payload_bytes == 0 ? slot_bytes_max(facts) : options.payload_bytes;
  group.address = joined(options.addresses);
  group.datagrams.group_peer = options.group_peer;
  group.datagrams.site_peer = options.site_peer;
  group.datagrams.rtt_far = options.rtt_far;
  group.recovery_worst = options.recovery_worst;
  group.datagrams.rtt = options.rtt;
  group.datagrams.horizon = options.horizon;
  group.datagrams.lag = options.lag;
  group.datagrams.overhead_bytes = options.overhead_bytes;
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
    : raw_(raw_of(port)),
      port_(raw_ == nullptr ? *port.posts() : *raw_),
      secret_(mac_of(options.key)),
      group_(port_, counters_, drops_, options_of(options, port.facts(), secret_)),
      worker_({}, {&port_, &group_.station()}) {}

}  // namespace cw::group
