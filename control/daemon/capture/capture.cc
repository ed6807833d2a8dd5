#include "control/daemon/capture/capture.h"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "control/gateway/site/site.h"

namespace cw::daemon {
namespace {

using site::CapturedPacket;

constexpr size_t burst_packets = 256;
constexpr uint32_t icrc_bytes = 4;
constexpr uint8_t hops = 64;

uint64_t wall_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

template <class T>
std::string text_of(const T& header) {
  return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

uint16_t checksum_of(const ip& header) {
  const std::string text = text_of(header);
  uint32_t sum = 0;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    sum += static_cast<uint32_t>(static_cast<uint8_t>(text[i]) << 8 |
                                 static_cast<uint8_t>(text[i + 1]));
  }
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return htons(static_cast<uint16_t>(~sum));
}

std::string ip_of(const OuterInfo& info, uint16_t inside_bytes) {
  const auto traffic_class = static_cast<uint8_t>(info.dscp << 2 | info.ecn);
  ip6_hdr v6{};
  if (inet_pton(AF_INET6, info.to.c_str(), &v6.ip6_dst) == 1) {
    (void)inet_pton(AF_INET6, info.from.c_str(), &v6.ip6_src);
    v6.ip6_flow = htonl(6u << 28 | static_cast<uint32_t>(traffic_class) << 20);
    v6.ip6_plen = htons(inside_bytes);
    v6.ip6_nxt = IPPROTO_UDP;
    v6.ip6_hlim = hops;
    return text_of(v6);
  }
  ip v4{};
  (void)inet_pton(AF_INET, info.from.c_str(), &v4.ip_src);
  (void)inet_pton(AF_INET, info.to.c_str(), &v4.ip_dst);
  v4.ip_v = 4;
  v4.ip_hl = sizeof(v4) / 4;
  v4.ip_tos = traffic_class;
  v4.ip_len = htons(static_cast<uint16_t>(sizeof(v4) + inside_bytes));
  v4.ip_ttl = hops;
  v4.ip_p = IPPROTO_UDP;
  v4.ip_sum = checksum_of(v4);
  return text_of(v4);
}

}  // namespace

std::string outer_headers(const OuterInfo& info) {
  const auto udp_bytes = static_cast<uint16_t>(sizeof(udphdr) + info.bytes + icrc_bytes);
  udphdr udp{};
  udp.uh_sport = htons(info.from_port);
  udp.uh_dport = htons(info.to_port);
  udp.uh_ulen = htons(udp_bytes);
  return ip_of(info, udp_bytes) + text_of(udp);
}

Capture::Capture(site::Site& site, const CaptureOrder& order, Instant now, Duration patience)
    : site_(site),
      order_(order),
      patience_(patience),
      begun_(now),
      shards_(site.begin_capture(order.filter, patience)),
      file_("causewayd, site " + site.plan().site),
      burst_(burst_packets) {
  lan_ = file_.add_interface("lan", "between this site's hosts and the gateway");
  wan_ = file_.add_interface("wan",
                             "between the gateways; IP, UDP and ICRC are made from the plan, since "
                             "the port writes its own");
}

Capture::~Capture() { site_.end_capture(patience_); }

bool Capture::look(Instant now) {
  const auto is_full = [&] {
    return packets_ >= order_.packets_max || file_.text().size() >= CaptureOrder::bytes_max;
  };
  for (const auto& shard : shards_) {
    while (!is_full()) {
      const size_t count = shard->take(burst_);
      for (size_t i = 0; i < count && !is_full(); ++i) {
        add(burst_[i], shard->wall_ns(burst_[i].at));
      }
      if (count < burst_.size()) break;
    }
  }
  return is_full() || now - begun_ >= order_.time;
}

std::string Capture::outer_of(const CapturedPacket& packet) const {
  const UdpPortOptions& wan = site_.plan().wan;
  const UdpPeerOptions& peer = wan.peers[packet.peer];
  OuterInfo info{.from = wan.address,
                 .to = peer.address,
                 .from_port = static_cast<uint16_t>(wan.udp_port + packet.path),
                 .to_port = peer.udp_port,
                 .ecn = packet.ecn,
                 .dscp = packet.dscp,
                 .bytes = packet.bytes};
  if (packet.is_outward) return outer_headers(info);
  // Of the same family as the peer's, whatever of ours is known.
  info.from_port = static_cast<uint16_t>(peer.udp_port + packet.path);
  info.to_port = wan.udp_port;
  std::swap(info.from, info.to);
  if (info.to.empty()) info.to = info.from.find(':') == std::string::npos ? "0.0.0.0" : "::";
  return outer_headers(info);
}

void Capture::add(const CapturedPacket& packet, uint64_t wall_ns) {
  ++packets_;
  const Pcapng::PacketInfo info = {.interface = packet.is_lan ? lan_ : wan_,
                                   .at_ns = wall_ns,
                                   .bytes = packet.bytes,
                                   .is_outward = packet.is_outward};
  if (packet.is_lan) return file_.add_packet(info, packet.head());
  std::string whole = outer_of(packet);
  const auto outer_bytes = static_cast<uint32_t>(whole.size());
  whole.append(packet.head().begin(), packet.head().end());
  if (packet.kept == packet.bytes) whole.append(icrc_bytes, '\0');
  Pcapng::PacketInfo outer = info;
  outer.bytes = outer_bytes + packet.bytes + icrc_bytes;
  file_.add_packet(outer, std::span(reinterpret_cast<const uint8_t*>(whole.data()), whole.size()));
}

api::Response Capture::finish() {
  uint64_t missed = 0;
  for (const auto& shard : shards_) missed += shard->missed();
  // Of both together, since the ring is.
  file_.add_missed(lan_, wall_now_ns(), missed);
  return {.body = file_.take(), .type = "application/vnd.tcpdump.pcap"};
}

}  // namespace cw::daemon
