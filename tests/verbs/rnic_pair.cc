// The pair that programs of the SDK are tested with (tests/unit/sdk/sim_pair.h), of RNICs at
// devices in memory instead of simulated ports; so real time passes.
#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "dataplane/base/prng.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/port/verbs/verbs_port.h"
#include "dataplane/sdr/sdk/context.h"
#include "offload/codec/codecs.h"
#include "policies/policies.h"
#include "tests/unit/sdk/sim_pair.h"
#include "tests/verbs/stand_in.h"

namespace cw::sdk {
namespace {
using namespace literals;
using stand_in::Crossing;
using stand_in::Fabric;

/// What is between the devices: loss by chance, and delay.
class Wire {
 public:
  void begin(uint64_t seed, double loss, int64_t delay_ns) {
    set(loss, delay_ns);
    const std::lock_guard lock(lock_);
    prng_ = Prng(seed);
  }
  void set(double loss, int64_t delay_ns) {
    const std::lock_guard lock(lock_);
    loss_ = loss;
    delay_ = Duration::from_ns(delay_ns);
  }
  bool take(const Crossing& crossing) {
    const std::lock_guard lock(lock_);
    const bool is_lost = prng_.chance(loss_);
    if (!is_lost) under_way_.push_back({clock_.read() + delay_, crossing});
    return false;
  }
  void deliver() {
    while (true) {
      Crossing next;
      {
        const std::lock_guard lock(lock_);
        if (under_way_.empty() || under_way_.front().due > clock_.read()) return;
        next = std::move(under_way_.front().crossing);
        under_way_.pop_front();
      }
      Fabric::the().deliver(next);
    }
  }
  void clear() {
    const std::lock_guard lock(lock_);
    under_way_.clear();
  }
  MonotonicClock& clock() { return clock_; }

 private:
  struct UnderWay {
    Instant due;
    Crossing crossing;
  };
  std::mutex lock_;
  MonotonicClock clock_;
  Prng prng_{1};
  double loss_ = 0;
  Duration delay_;
  std::deque<UnderWay> under_way_;
};

Wire& wire() {
  static Wire it;
  return it;
}

class RnicDevice final : public Device {
 public:
  explicit RnicDevice(std::unique_ptr<VerbsPort> port) : port_(std::move(port)) {}
  AnyWanPort port() override { return *port_; }
  Rate rate() const override { return 1_Gbps; }
  Instant now() override { return wire().clock().read(); }
  uint64_t fresh_bits() override { return ++bits_ * 0x9e3779b97f4a7c15; }

 private:
  std::unique_ptr<VerbsPort> port_;
  static inline uint64_t bits_ = 0;
};

Result<std::unique_ptr<Device>> open_rnic(std::string_view rest) {
  if (rest != "0" && rest != "1") {
    return failure("sim:" + std::string(rest) + ": the ends are sim:0 and sim:1");
  }
  VerbsPortOptions options;
  options.device = "rnic" + std::string(rest);
  options.address = rest == "0" ? "10.9.0.1" : "10.9.0.2";
  options.peers = {{.address = rest == "0" ? "10.9.0.2" : "10.9.0.1"}};
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
using cw::sdk::wire;
using cw::stand_in::Fabric;

void sim_begin(uint64_t seed, double loss, int64_t delay_ns) {
  Fabric::the().reset();
  Fabric::the().add_device("rnic0", "10.9.0.1", IBV_MTU_1024);
  Fabric::the().add_device("rnic1", "10.9.0.2", IBV_MTU_1024);
  wire().begin(seed, loss, delay_ns);
  Fabric::the().set_filter([](const stand_in::Crossing& each) { return wire().take(each); });
}

void sim_end(void) {
  wire().clear();
  Fabric::the().reset();
}

void sim_set_wire(double loss, int64_t delay_ns) { wire().set(loss, delay_ns); }

void sim_run(cw_context* first, cw_context* second, int64_t ns) {
  const Instant end = wire().clock().read() + Duration::from_ns(ns);
  while (wire().clock().read() < end) {
    wire().deliver();
    bool has_worked = false;
    for (cw_context* context : {first, second}) {
      if (context != nullptr) has_worked |= cw_context_turn(context) > 0;
    }
    if (!has_worked) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

/// What comes for a message that is over finds no window: no context hears of it.
uint64_t sim_late_packets(const cw_context*) { return Fabric::the().dropped(); }
