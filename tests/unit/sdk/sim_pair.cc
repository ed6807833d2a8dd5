#include "tests/unit/sdk/sim_pair.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "dataplane/port/sim/network.h"
#include "dataplane/sdr/sdk/context.h"
#include "offload/codec/codecs.h"
#include "policies/policies.h"

namespace cw::sdk {
namespace {
using namespace literals;

constexpr Duration step_min = Duration::from_ns(100);

struct Pair {
  explicit Pair(uint64_t seed, const Impairment& wire)
      : network({.seed = seed}), ports{&network.add_port(), &network.add_port()} {
    network.join(*ports[0], *ports[1], wire);
  }
  SimNetwork network;
  std::array<SimPort*, 2> ports;
};

std::unique_ptr<Pair> pair;

class SimDevice final : public Device {
 public:
  explicit SimDevice(size_t end) : end_(end) {}
  AnyWanPort port() override { return *pair->ports[end_]; }
  Rate rate() const override { return 1_Gbps; }
  Instant now() override { return pair->network.now(); }
  uint64_t fresh_bits() override { return ++bits_ * 0x9e3779b97f4a7c15 + end_; }

 private:
  size_t end_;
  static inline uint64_t bits_ = 0;
};

Result<std::unique_ptr<Device>> open_sim(std::string_view rest) {
  if (pair == nullptr || (rest != "0" && rest != "1")) {
    return failure("sim:" + std::string(rest) + ": the ends are sim:0 and sim:1");
  }
  return std::make_unique<SimDevice>(rest == "0" ? 0 : 1);
}

Impairment wire_of(double loss, int64_t delay_ns) {
  return {.loss = loss, .delay = Duration::from_ns(delay_ns)};
}

Instant wake_of(cw_context* context, Instant now) {
  if (context == nullptr) return Instant::never();
  const int64_t idle = cw_context_idle_ns(context);
  return idle == INT64_MAX ? Instant::never() : now + Duration::from_ns(idle);
}

}  // namespace

const Platform& platform() {
  static constexpr DeviceKind devices[] = {{"sim", open_sim}};
  static const auto policies = policy::all();
  static const auto codecs = code::all();
  static const Platform table{.devices = devices, .policies = policies, .codecs = codecs};
  return table;
}

}  // namespace cw::sdk

using namespace cw;
using cw::sdk::pair;

void sim_begin(uint64_t seed, double loss, int64_t delay_ns) {
  pair = std::make_unique<sdk::Pair>(seed, sdk::wire_of(loss, delay_ns));
}

void sim_end(void) { pair.reset(); }

void sim_set_wire(double loss, int64_t delay_ns) {
  pair->network.set_all_impairments(sdk::wire_of(loss, delay_ns));
}

void sim_run(cw_context* first, cw_context* second, int64_t ns) {
  SimNetwork& network = pair->network;
  const Instant end = network.now() + Duration::from_ns(ns);
  while (true) {
    for (cw_context* context : {first, second}) {
      if (context != nullptr) cw_context_turn(context);
    }
    const Instant now = network.now();
    if (now >= end) return;
    const Instant next =
        std::min({network.next_event(), sdk::wake_of(first, now), sdk::wake_of(second, now)});
    network.advance_to(std::min(end, std::max(next, now + sdk::step_min)));
  }
}

uint64_t sim_late_packets(const cw_context* context) {
  return context->sdr.drops().read_any_thread(DropReason::generation_late) +
         context->sdr.drops().read_any_thread(DropReason::message_not_open);
}
