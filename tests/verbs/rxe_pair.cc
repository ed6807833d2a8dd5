// The pair that programs of the SDK are tested with (tests/unit/sdk/sim_pair.h), of two addresses
// of one real RDMA device: CW_RNIC, CW_RNIC_A and CW_RNIC_B name them. What one of them sends to
// the other does not leave the device, so nothing is lost and nothing late, whatever a test asks
// for.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "dataplane/core/turn/clock.h"
#include "dataplane/port/verbs/verbs_port.h"
#include "dataplane/sdr/sdk/context.h"
#include "offload/codec/codecs.h"
#include "policies/policies.h"
#include "tests/unit/sdk/sim_pair.h"

namespace cw::sdk {
namespace {
using namespace literals;

const MonotonicClock real_time;

class RnicDevice final : public Device {
 public:
  explicit RnicDevice(std::unique_ptr<VerbsPort> port) : port_(std::move(port)) {}
  AnyWanPort port() override { return *port_; }
  Rate rate() const override { return 200_Mbps; }
  Instant now() override { return real_time.read(); }
  uint64_t fresh_bits() override {
    bits_ = bits_ * 6364136223846793005u + static_cast<uint64_t>(now().ns());
    return bits_ | 1;
  }

 private:
  std::unique_ptr<VerbsPort> port_;
  static inline uint64_t bits_ = 1;
};

std::string named(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

Result<std::unique_ptr<Device>> open_rnic(std::string_view rest) {
  if (rest != "0" && rest != "1") {
    return failure("sim:" + std::string(rest) + ": the ends are sim:0 and sim:1");
  }
  VerbsPortOptions options;
  options.device = named("CW_RNIC");
  options.address = named(rest == "0" ? "CW_RNIC_A" : "CW_RNIC_B");
  options.peers = {{.address = named(rest == "0" ? "CW_RNIC_B" : "CW_RNIC_A")}};
  auto port = VerbsPort::make(options);
  if (!port) return std::unexpected(port.error());
  return std::make_unique<RnicDevice>(std::move(*port));
}

}  // namespace

const Platform& platform() {
  static constexpr DeviceKind devices[] = {{"sim", open_rnic}};
  static const auto policies = policy::all();
  static const auto codecs = code::all();
  static const Platform table{.devices = devices, .policies = policies, .codecs = codecs};
  return table;
}

}  // namespace cw::sdk

using namespace cw;
using namespace cw::literals;

void sim_begin(uint64_t, double, int64_t) {}
void sim_end(void) {}
void sim_set_wire(double, int64_t) {}

/// So long, and on as long as messages move: an emulated processor takes its time.
void sim_run(cw_context* first, cw_context* second, int64_t ns) {
  constexpr Duration calm = 60_ms;
  constexpr int64_t patience = 50;
  const auto moved = [&] {
    uint64_t packets = 0;
    for (cw_context* context : {first, second}) {
      if (context == nullptr) continue;
      for (const Counter each : {Counter::data_sent, Counter::resends_sent, Counter::clears_sent,
                                 Counter::chunks_completed, Counter::messages_received}) {
        packets += context->sdr.counters().read_any_thread(each);
      }
    }
    return packets;
  };
  const Instant begin = sdk::real_time.read();
  const Duration time = Duration::from_ns(ns);
  uint64_t before = moved();
  for (Instant now = begin, busy = begin; now < begin + time * patience;
       now = sdk::real_time.read()) {
    if (const uint64_t after = moved(); after != before) busy = now, before = after;
    if (now >= begin + time && now - busy >= calm) return;
    bool has_worked = false;
    for (cw_context* context : {first, second}) {
      if (context != nullptr) has_worked |= cw_context_turn(context) > 0;
    }
    if (!has_worked) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

uint64_t sim_late_packets(const cw_context*) { return 0; }
