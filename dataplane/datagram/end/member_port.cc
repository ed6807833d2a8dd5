#include "dataplane/datagram/end/member_port.h"

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

}  // namespace

std::string joined(const std::vector<std::string>& addresses) {
  std::string text;
  for (const std::string& each : addresses) text += text.empty() ? each : "," + each;
  return text;
}

MemberPort::MemberPort(AnyWanPort port, std::span<const uint8_t> key)
    : raw_(raw_of(port)), port_(raw_ == nullptr ? *port.posts() : *raw_), secret_(mac_of(key)) {}

DatagramOptions MemberPort::datagrams(const MemberOptions& options) const {
  DatagramOptions datagrams;
  MembershipOptions& member = datagrams.membership;
  member.rank = options.rank;
  member.peers = options.peers;
  member.sites = options.sites;
  member.secret = {.state = &secret_, .compute = cw_mac_compute, .number = 0};
  member.mac.prepare = [](MacMaker::State& state, const void* key, size_t bytes) {
    static_assert(sizeof(state) == sizeof(cw_mac));
    cw_mac_init(reinterpret_cast<cw_mac*>(&state), key, bytes);
  };
  member.random = options.random;
  member.rate = options.rate;
  member.payload_bytes =
      options.payload_bytes == 0 ? slot_bytes_max(port_.facts()) : options.payload_bytes;
  datagrams.group_peer = options.group_peer;
  datagrams.site_peer = options.site_peer;
  datagrams.rtt = options.rtt;
  datagrams.rtt_far = options.rtt_far;
  datagrams.horizon = options.horizon;
  datagrams.lag = options.lag;
  datagrams.overhead_bytes = options.overhead_bytes;
  return datagrams;
}

}  // namespace cw::group
