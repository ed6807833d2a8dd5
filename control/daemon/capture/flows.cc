#include "control/daemon/capture/flows.h"

#include <netinet/in.h>

#include <algorithm>

#include "control/gateway/site/site.h"
#include "dataplane/base/limits.h"
#include "dataplane/gateway/ingress/ip_packet.h"
#include "dataplane/neighbour/address.h"

namespace cw::daemon {
namespace {

constexpr size_t burst_packets = 256;
std::string address_text(const IpAddress& ip, bool is_v6) {
  return text_of(HostAddress{.ip = ip, .version = is_v6 ? IpVersion::V6 : IpVersion::V4});
}

std::string protocol_text(uint8_t protocol) {
  switch (protocol) {
    case IPPROTO_TCP:
      return "tcp";
    case IPPROTO_UDP:
      return "udp";
    case IPPROTO_ICMP:
      return "icmp";
    case IPPROTO_ICMPV6:
      return "icmpv6";
    default:
      return std::to_string(protocol);
  }
}

}  // namespace

bool try_read_flow(std::span<const uint8_t> head, uint32_t bytes, FlowKey& key) {
  if (head.size() > bytes || bytes > limits::frame_bytes_max) return false;
  // Behind what was kept nothing is read but what a header says is there: zeros will do.
  std::vector<uint8_t> whole(head.begin(), head.end());
  whole.resize(bytes);
  const auto packet = gateway::parse_ip_packet(whole);
  if (!packet) return false;
  key.from = address_text(packet->source, packet->is_v6);
  key.to = address_text(packet->target, packet->is_v6);
  key.protocol = packet->protocol;
  key.from_port = packet->source_port;
  key.to_port = packet->target_port;
  return true;
}

Flows::Flows(site::Site& site, Duration time, Instant now, Duration patience)
    : site_(site),
      time_(time),
      patience_(patience),
      begun_(now),
      shards_(site.begin_capture({.has_wan = false, .one_in = one_in}, patience)),
      burst_(burst_packets) {}

Flows::~Flows() { site_.end_capture(patience_); }

bool Flows::look(Instant now) {
  for (const auto& shard : shards_) {
    size_t count = burst_.size();
    while (count == burst_.size()) {
      count = shard->take(burst_);
      for (size_t i = 0; i < count; ++i) add(burst_[i]);
    }
  }
  return now - begun_ >= time_;
}

void Flows::add(const site::CapturedPacket& packet) {
  FlowKey key;
  key.is_outward = packet.is_outward;
  const bool is_flow = try_read_flow(packet.head(), packet.bytes, key);
  // Who is new takes the place of the smallest, so that a row of small ones keeps out no large one.
  if (is_flow && flows_.size() == flows_max && !flows_.contains(key)) {
    const auto least =
        std::ranges::min_element(flows_, {}, [](const auto& flow) { return flow.second.packets; });
    others_.packets += least->second.packets;
    others_.bytes += least->second.bytes;
    flows_.erase(least);
  }
  Count& count = is_flow ? flows_[key] : others_;
  count.packets += one_in;
  count.bytes += uint64_t{one_in} * packet.bytes;
}

api::Response Flows::finish() {
  std::vector<std::pair<FlowKey, Count>> rows(flows_.begin(), flows_.end());
  std::ranges::sort(rows, std::greater(), [](const auto& row) { return row.second.bytes; });
  Json json = {{"seconds", time_.seconds()}, {"one_in", one_in}, {"flows", Json::array()}};
  for (const auto& [key, count] : rows) {
    json["flows"].push_back({{"from", key.from},
                             {"to", key.to},
                             {"protocol", protocol_text(key.protocol)},
                             {"from_port", key.from_port},
                             {"to_port", key.to_port},
                             {"direction", key.is_outward ? "in" : "out"},
                             {"packets", count.packets},
                             {"bytes", count.bytes}});
  }
  json["others"] = {{"packets", others_.packets}, {"bytes", others_.bytes}};
  return api::json_response(json);
}

}  // namespace cw::daemon
