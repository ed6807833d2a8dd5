#include "bench/e2e/hosts.h"

#include <array>
#include <thread>

namespace cw::bench {
namespace {

using lab::At;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr auto stragglers = milliseconds(200);
constexpr auto stream_step = milliseconds(1);
constexpr size_t datagram_bytes = 1358;  // frames of 1400 bytes

}  // namespace

// Frames bear checksums that are finished, since no kernel would do it on the way.
Hosts::Hosts() : sites_({.lan_offloads = false}) {
  sites_.space(At::HostA).must("ethtool -K va tx off");
  sites_.space(At::HostB).must("ethtool -K vb tx off");
}

// sites.cc numbers the interfaces' addresses: va, la, wa, vb, lb, wb.
void Hosts::aim_at_each_other() const {
  sites_.space(At::HostA).must("ip neigh replace 10.1.0.1 lladdr 02:00:00:00:00:04 dev va");
  sites_.space(At::HostB).must("ip neigh replace 10.2.0.1 lladdr 02:00:00:00:00:01 dev vb");
}

void Hosts::aim_at_gateways() const {
  sites_.space(At::HostA).must("ip neigh replace 10.1.0.1 lladdr 02:00:00:00:00:02 dev va");
  sites_.space(At::HostB).must("ip neigh replace 10.2.0.1 lladdr 02:00:00:00:00:05 dev vb");
}

Ends Hosts::ends() const {
  const auto device = [](const char* interface) {
    return "net_af_packet0,iface=" + std::string(interface) +
           ",blocksz=65536,framesz=2048,framecnt=2048,qpairs=1";
  };
  return {.space_a = sites_.namespace_of(At::GatewayA),
          .space_b = sites_.namespace_of(At::GatewayB),
          .lan_a = device("la"),
          .lan_b = device("lb")};
}

Probed Hosts::probe(microseconds interval, milliseconds time) const {
  lab::OneWay way(sites_, lab::site_a.host, lab::site_b.host);
  uint64_t sent = 0;
  const auto start = lab::Time::now();
  for (auto next = start; next < start + time; next += interval, ++sent) {
    std::this_thread::sleep_until(next);
    way.send_probe();
    way.receive();
  }
  std::this_thread::sleep_for(stragglers);
  way.receive();
  return {way.latencies(), sent};
}

uint64_t Hosts::stream(uint64_t bits_per_second, milliseconds time) const {
  const lab::OneWay way(sites_, lab::site_a.host, lab::site_b.host);
  const std::array<uint8_t, datagram_bytes> bytes{};
  uint64_t sent = 0, due = 0;
  const auto start = lab::Time::now();
  for (auto next = start; next < start + time; next += stream_step) {
    std::this_thread::sleep_until(next);
    due += bits_per_second / 8 / 1000;
    while (sent < due && way.send(bytes)) sent += bytes.size();
  }
  return sent;
}

}  // namespace cw::bench
