#include <algorithm>
#include <cstring>
#include <optional>

#include "control/perf/message/loads.h"

namespace cw::perf {
namespace {

using group::MessageWorld;
using group::Step;

constexpr Duration patience = Duration::from_s(20);
constexpr uint64_t background_bytes = 64 << 10;
constexpr uint64_t ring_tag = uint64_t{1} << 63;

/// Sums of whole numbers, which are exact in whatever order.
float value_at(uint32_t host, uint64_t index) { return static_cast<float>((host + index) % 7); }

/// One all-reduce along the ring of hosts: P - 1 steps in which chunks are added up, and as many in
/// which sums go around. A host begins its next step when what it waits for has come.
class Ring {
 public:
  Ring(Traffic& traffic, const MessageOptions& options)
      : traffic_(traffic),
        hosts_(options.hosts),
        chunk_floats_(options.size.count() / sizeof(float) / options.hosts),
        values_(hosts_, std::vector<float>(chunk_floats_ * hosts_)),
        staging_(hosts_, std::vector<float>(chunk_floats_ * hosts_)) {}

  void begin(uint32_t round) {
    round_ = round;
    done_ = 0;
    for (uint32_t host = 0; host < hosts_; ++host) {
      for (uint64_t i = 0; i < values_[host].size(); ++i) values_[host][i] = value_at(host, i);
    }
    for (uint32_t host = 0; host < hosts_; ++host) send(host, 0);
  }
  bool is_done() const { return done_ == hosts_; }

  void on_arrival(const Order& order) {
    const uint32_t step = static_cast<uint32_t>(order.tag & ~ring_tag), host = order.to;
    if (step < hosts_ - 1) {
      float* const sums = chunk(host, came_in(host, step));
      const float* const more = reinterpret_cast<const float*>(order.target);
      for (uint64_t i = 0; i < chunk_floats_; ++i) sums[i] += more[i];
    }
    if (step + 1 < steps()) {
      send(host, step + 1);
    } else {
      ++done_;
    }
  }
  uint64_t wrong() const {
    uint64_t count = 0;
    for (uint64_t i = 0; i < chunk_floats_ * hosts_; ++i) {
      float expected = 0;
      for (uint32_t host = 0; host < hosts_; ++host) expected += value_at(host, i);
      for (uint32_t host = 0; host < hosts_; ++host) count += values_[host][i] != expected;
    }
    return count * sizeof(float);
  }

 private:
  uint32_t steps() const { return 2 * (hosts_ - 1); }
  float* chunk(uint32_t host, uint32_t number) { return &values_[host][number * chunk_floats_]; }
  /// Which chunk leaves a host in a step; and which comes.
  uint32_t leaves(uint32_t host, uint32_t step) const {
    return (host + 2 * hosts_ - (step < hosts_ - 1 ? step : step - (hosts_ - 1) + hosts_ - 1)) %
           hosts_;
  }
  uint32_t came_in(uint32_t host, uint32_t step) const {
    return leaves((host + hosts_ - 1) % hosts_, step);
  }
  void send(uint32_t host, uint32_t step) {
    const uint32_t next = (host + 1) % hosts_, number = leaves(host, step);
    const bool is_sum = step < hosts_ - 1;
    float* const target =
        is_sum ? &staging_[next][uint64_t{step} * chunk_floats_] : chunk(next, number);
    traffic_.begin({.from = static_cast<uint16_t>(host),
                    .to = static_cast<uint16_t>(next),
                    .step_bytes = chunk_floats_ * sizeof(float),
                    .step = Step(round_ * steps() + step),
                    .source = reinterpret_cast<const uint8_t*>(chunk(host, number)),
                    .target = reinterpret_cast<uint8_t*>(target),
                    .bytes = chunk_floats_ * sizeof(float),
                    .tag = ring_tag | step});
  }

  Traffic& traffic_;
  uint32_t hosts_, round_ = 0, done_ = 0;
  uint64_t chunk_floats_;
  std::vector<std::vector<float>> values_, staging_;
};

/// Reductions one after the other, and messages by chance beside them until all are over.
class ReductionLoad {
 public:
  ReductionLoad(MessageWorld& world, const MessageOptions& options)
      : world_(world), options_(options), traffic_(world), ring_(traffic_, options) {
    traffic_.on_arrival([this](const Order& order) {
      if ((order.tag & ring_tag) != 0) ring_.on_arrival(order);
    });
    if (options.background > 0) {
      chance_.emplace(world, options, options.background, background_bytes, UINT64_MAX);
    }
  }

  LoadTally run(const StopFlag& stop) {
    for (uint32_t round = 0; round < options_.rounds && !stop && tally_.why.empty(); ++round) {
      const Instant begin = world_.now();
      ring_.begin(round);
      advance([&] { return ring_.is_done(); });
      tally_.step_us.push_back((world_.now() - begin).us());
      tally_.bytes_wrong += ring_.wrong();
      wait([&] { return chance_.has_value() || traffic_.open_count() == 0; });
    }
    wait([&] { return traffic_.open_count() == 0; });
    return std::move(tally_);
  }

 private:
  void gather() {
    traffic_.gather([this](const Ended& each) {
      if (!each.is_whole && tally_.why.empty()) tally_.why = each.why;
      if ((each.order.tag & ring_tag) != 0) return;
      tally_.bytes_wrong += chance_->take_back(each.order);
      tally_.message_us.push_back((each.arrived - each.begun).us());
    });
  }
  template <class IsOver>
  void wait(const IsOver& is_over) {
    const bool is_done = world_.run(patience, [&] { return gather(), is_over(); });
    if (!is_done && tally_.why.empty()) tally_.why = "a reduction did not end";
  }
  template <class IsOver>
  void advance(const IsOver& is_over) {
    if (!chance_) return wait(is_over);
    const Instant end = world_.now() + patience;
    while (!is_over() && world_.now() < end && tally_.why.empty()) {
      if (world_.run(chance_->next() - world_.now(), [&] { return gather(), is_over(); })) return;
      traffic_.begin(chance_->draw());
    }
    if (!is_over() && tally_.why.empty()) tally_.why = "a reduction did not end";
  }

  MessageWorld& world_;
  const MessageOptions& options_;
  Traffic traffic_;
  Ring ring_;
  std::optional<Chance> chance_;
  LoadTally tally_;
};

}  // namespace

LoadTally run_allreduce(MessageWorld& world, const MessageOptions& options, const StopFlag& stop) {
  return ReductionLoad(world, options).run(stop);
}

}  // namespace cw::perf
