#include "control/daemon/capture/flows.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>

#include "control/gateway/site/site.h"

namespace cw::daemon {
namespace {

constexpr size_t burst_packets = 256;
constexpr size_t v4_bytes_min = 20, v6_bytes = 40, ports_bytes = 4;

uint16_t read16(std::span<const uint8_t> bytes, size_t at) {
  return static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

std::string address_text(int family, const uint8_t* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(family, bytes, text.data(), text.size());
  return text.data();
}

bool has_ports(uint8_t protocol) {
  return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP;
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

bool try_read_flow(std::span<const uint8_t> head, FlowKey& key) {
  if (head.empty()) return false;
  const unsigned version = head[0] >> 4;
  size_t inside = 0;
  bool is_piece = false;
  if (version == 4 && head.size() >= v4_bytes_min) {
    constexpr uint16_t offset_mask = 0x1FFF;
    inside = size_t{head[0] & 0xFu} * 4;
    is_piece = (read16(head, 6) & offset_mask) != 0;
    key.protocol = head[9];
    key.from = address_text(AF_INET, &head[12]);
    key.to = address_text(AF_INET, &head[16]);
    if (inside < v4_bytes_min) return false;
  } else if (version == 6 && head.size() >= v6_bytes) {
    inside = v6_bytes;
    key.protocol = head[6];
    key.from = address_text(AF_INET6, &head[8]);
    key.to = address_text(AF_INET6, &head[24]);
  } else {
    return false;
  }
  if (is_piece || !has_ports(key.protocol) || head.size() < inside + ports_bytes) return true;
  key.from_port = read16(head, inside);
  key.to_port = read16(head, inside + 2);
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
  const bool is_flow = try_read_flow(packet.head(), key);
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
