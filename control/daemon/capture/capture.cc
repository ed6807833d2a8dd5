#include "control/daemon/capture/capture.h"

#include <time.h>

#include <algorithm>
#include <array>

#include "control/gateway/site/site.h"
#include "dataplane/neighbour/address.h"
#include "dataplane/wire/outer/frame.h"

namespace cw::daemon {
namespace {

using site::CapturedPacket;

constexpr size_t burst_packets = 256;

uint64_t wall_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

/// All zeros where it is none.
HostAddress address_of(const std::string& text) {
  return parse_host_address(text, "").value_or(HostAddress());
}

}  // namespace

std::string outer_headers(const OuterInfo& info) {
  const HostAddress to = address_of(info.to);
  FrameAddress address;
  address.ip_version = to.version;
  address.source_ip = address_of(info.from).ip;
  address.target_ip = to.ip;
  address.dscp = info.dscp;
  address.ecn = info.ecn;
  address.source_udp_port = info.from_port;
  address.target_udp_port = info.to_port;
  std::array<uint8_t, outer_headers_bytes_max> bytes;
  const size_t count = encode_outer_headers(address, FrameStart::Ip, info.bytes, bytes);
  return {bytes.begin(), bytes.begin() + count};
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
  info.from_port = static_cast<uint16_t>(peer.first_source() + packet.path);
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
