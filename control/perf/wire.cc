#include "control/perf/wire.h"

#include <iterator>
#include <sstream>

#include "dataplane/port/dpdk/dpdk_driver.h"
#include "dataplane/port/dpdk/eal/eal.h"
#include "dataplane/port/frame/frame_wan_port.h"
#include "dataplane/port/udp/udp_port.h"
#ifdef CW_HAVE_VERBS
#include "dataplane/port/verbs/verbs_port.h"
#endif
#ifdef CW_HAVE_XDP
#include "dataplane/port/xdp/xdp_driver.h"
#endif
#include "offload/crc32.h"

namespace cw::perf {
namespace {

Result<Wire> make_udp_wire(uint16_t own_udp_port, const OtherEnd& other) {
  UdpPortOptions options;
  options.udp_port = own_udp_port;
  options.peers = {{.address = other.address, .udp_port = other.udp_port}};
  options.crc32 = cw_crc32;
  auto made = UdpPort::make(options);
  if (!made) return std::unexpected(std::move(made.error()));
  const UdpPort* const port = made->get();
  const auto counts = [port] {
    return WireCounts{.lost = {{"port.tx_lost", port->status().tx_lost},
                               {"port.tx_too_big", port->status().tx_too_big}},
                      .work = {}};
  };
  return Wire{std::move(*made), nullptr, counts, other.is_v6};
}

[[maybe_unused]] Result<Wire> make_frame_wire(const FrameDriver& driver, const Line& line) {
  FrameWanOptions options;
  options.device = line.device;
  options.address = line.address;
  options.peers = {{.address = line.peer, .next_hop = line.next_hop}};
  options.crc32 = cw_crc32;
  auto made = FrameWanPort::make(driver, options);
  if (!made) return std::unexpected(std::move(made.error()));
  const FrameWanPort* const port = made->get();
  const auto counts = [port] {
    const FrameWanStatus status = port->status();
    return WireCounts{.lost = {{"port.tx_link_down", status.tx_link_down},
                               {"port.tx_unresolved", status.tx_unresolved},
                               {"port.tx_errors", status.device.counters.tx_errors},
                               {"port.rx_missed", status.device.counters.rx_missed},
                               {"port.rx_no_buffer", status.device.counters.rx_no_buffer}},
                      .work = {}};
  };
  return Wire{std::move(*made), nullptr, counts, line.address.find(':') != std::string::npos};
}

#ifdef CW_HAVE_DPDK
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

Result<Wire> make_dpdk_wire(const Line& line) {
  const auto eal = start_eal({.devices = {line.device}, .arguments = words_of(line.eal)});
  if (!eal) return std::unexpected(eal.error());
  return make_frame_wire(dpdk_driver(), line);
}
#else
Result<Wire> make_dpdk_wire(const Line&) {
  return failure("--port dpdk: this program was built without DPDK");
}
#endif

#ifdef CW_HAVE_XDP
Result<Wire> make_xdp_wire(const Line& line) { return make_frame_wire(xdp_driver(), line); }
#else
Result<Wire> make_xdp_wire(const Line&) {
  return failure("--port xdp: this program was built without libxdp");
}
#endif

#ifdef CW_HAVE_VERBS
Result<Wire> make_rnic_wire(const Line& line) {
  VerbsPortOptions options;
  options.device = line.device;
  options.address = line.address;
  options.peers = {{.address = line.peer}};
  auto made = VerbsPort::make(options);
  if (!made) return std::unexpected(std::move(made.error()));
  const VerbsPort* const port = made->get();
  const auto counts = [port] {
    const VerbsPortStatus status = port->status();
    return WireCounts{.lost = {{"port.tx_lost", status.tx_lost},
                               {"port.tx_unresolved", status.tx_unresolved},
                               {"port.rx_starved", status.rx_starved},
                               {"port.queues_broken", status.queues_broken}},
                      .work = {{"copies", status.tx_copied},
                               {"posts", status.send_posts},
                               {"completions", status.completions}}};
  };
  return Wire{nullptr, std::move(*made), counts, line.address.find(':') != std::string::npos};
}
#else
Result<Wire> make_rnic_wire(const Line&) {
  return failure("--port verbs: this program was built without libibverbs");
}
#endif

}  // namespace

Result<Wire> make_wire(const Options& options, uint16_t own_udp_port, const OtherEnd& other) {
  if (options.line_kind == LineKind::Dpdk) return make_dpdk_wire(options.line);
  if (options.line_kind == LineKind::Xdp) return make_xdp_wire(options.line);
  if (options.line_kind == LineKind::Verbs) return make_rnic_wire(options.line);
  return make_udp_wire(own_udp_port, other);
}

}  // namespace cw::perf
