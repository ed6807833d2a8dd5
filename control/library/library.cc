// What libcauseway comes with: the devices and policies that its cw_context_create() knows.
//
// "sim:0" and "sim:1" are two ends in one process, joined by a millisecond of lossless wire: enough
// to try a program without a network. Real time passes. "verbs:..." is an RNIC (rnic_device.h).
#include <array>
#include <memory>
#include <string>

#include "control/library/fresh_bits.h"
#include "control/library/rnic_device.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/port/sim/network.h"
#include "dataplane/sdr/sdk/platform.h"
#include "offload/codec/codecs.h"
#include "offload/dpa/open_dpa.h"
#include "policies/policies.h"

namespace cw::sdk {
namespace {
using namespace literals;

/// Made by the first context, and never freed: devices may live as long as the process.
struct SimPair {
  SimPair() : network({.seed = 1}), ports{&network.add_port(), &network.add_port()} {
    network.advance_to(clock.read());
    network.join(*ports[0], *ports[1], {.delay = 1_ms});
  }
  MonotonicClock clock;
  SimNetwork network;
  std::array<SimPort*, 2> ports;
};

class SimDevice final : public Device {
 public:
  SimDevice(SimPair& pair, size_t end) : pair_(pair), end_(end) {}
  AnyWanPort port() override { return *pair_.ports[end_]; }
  Rate rate() const override { return 10_Gbps; }
  Instant now() override {
    pair_.network.advance_to(pair_.clock.read());
    return pair_.network.now();
  }
  uint64_t fresh_bits() override { return fresh_bits_of_system(); }

 private:
  SimPair& pair_;
  size_t end_;
};

Result<std::unique_ptr<Device>> open_sim(std::string_view rest) {
  static SimPair& pair = *new SimPair;
  if (rest != "0" && rest != "1") {
    return failure("sim:" + std::string(rest) + ": the two ends are sim:0 and sim:1");
  }
  return std::make_unique<SimDevice>(pair, rest == "0" ? 0 : 1);
}

}  // namespace

const Platform& platform() {
#ifdef CW_HAVE_VERBS
  static constexpr DeviceKind devices[] = {{"sim", open_sim}, {"verbs", open_rnic}};
#else
  static constexpr DeviceKind devices[] = {{"sim", open_sim}};
#endif
  static const auto policies = policy::all();
  static const auto codecs = code::all();
  static const Platform table{
      .devices = devices, .policies = policies, .codecs = codecs, .open_dpa = open_emulated_dpa};
  return table;
}

}  // namespace cw::sdk
