#include "control/perf/message/loads.h"

#include <algorithm>
#include <cstring>

#include "dataplane/wire/group/datagram_inline.h"

namespace cw::perf {
namespace {

using group::MessageWorld;
using group::Step;

constexpr Duration patience = Duration::from_s(20);
constexpr uint64_t shifts = 1 << 16;  // of a message's bytes in the pattern
// Of a message by chance, which is a step of its own: numbered from here on.
constexpr uint32_t chance_step_first = 1u << 30;

double us_between(Instant from, Instant to) { return (to - from).us(); }

/// Bytes on the wire of a message.
double wire_bytes_of(uint64_t bytes, const MessageOptions& options, uint32_t overhead_bytes) {
  const uint64_t slots = (bytes + options.payload_bytes - 1) / options.payload_bytes;
  const auto headers = group::datagram_header_bytes + group::header_bytes + overhead_bytes;
  return static_cast<double>(bytes + slots * headers);
}

}  // namespace

// ---- memory ----

MessageMemory::MessageMemory(uint64_t bytes, uint64_t seed)
    : bytes_(bytes), pattern_(bytes + shifts) {
  Prng prng(seed);
  for (size_t i = 0; i + 8 <= pattern_.size(); i += 8) {
    const uint64_t word = prng.next();
    std::memcpy(&pattern_[i], &word, sizeof(word));
  }
}

void MessageMemory::lend(uint64_t number, Order& order) {
  if (free_.empty()) {
    targets_.push_back(std::make_unique<uint8_t[]>(bytes_));
    free_.push_back(targets_.back().get());
  }
  order.source = &pattern_[number * 61 % shifts];
  order.target = free_.back();
  order.bytes = bytes_;
  free_.pop_back();
}

uint64_t MessageMemory::take_back(const Order& order) {
  uint64_t wrong = 0;
  if (std::memcmp(order.source, order.target, bytes_) != 0) {
    for (uint64_t i = 0; i < bytes_; ++i) wrong += order.source[i] != order.target[i];
  }
  free_.push_back(order.target);
  return wrong;
}

// ---- by chance ----

Chance::Chance(MessageWorld& world, const MessageOptions& options, double load, uint64_t bytes,
               uint64_t messages)
    : prng_(options.seed + 77),
      memory_(bytes, options.seed),
      hosts_(static_cast<uint16_t>(options.hosts)),
      bytes_(bytes) {
  const double wire = wire_bytes_of(bytes, options, group::MemberOptions().overhead_bytes);
  mean_ns_ = wire * 8e9 / (static_cast<double>(options.rate.bps()) * load);
  for (uint16_t host = 0; host < hosts_; ++host) {
    arrivals_.push_back({.at = world.now() + gap(), .host = host, .left = messages});
  }
  std::ranges::make_heap(arrivals_, std::greater<>());
}

Duration Chance::gap() {
  return Duration::from_ns(static_cast<int64_t>(prng_.exponential(mean_ns_)));
}

Order Chance::draw() {
  std::ranges::pop_heap(arrivals_, std::greater<>());
  Arrival& arrival = arrivals_.back();
  Order order{
      .from = arrival.host, .step_bytes = bytes_, .step = Step(chance_step_first + number_)};
  order.to = static_cast<uint16_t>(prng_.below(hosts_ - 1));
  order.to += order.to >= order.from ? 1 : 0;
  memory_.lend(number_++, order);
  arrival.at += gap();
  if (--arrival.left == 0) {
    arrivals_.pop_back();
  } else {
    std::ranges::push_heap(arrivals_, std::greater<>());
  }
  return order;
}

LoadTally run_by_chance(MessageWorld& world, const MessageOptions& options, const StopFlag& stop) {
  LoadTally tally;
  Traffic traffic(world);
  Chance chance(world, options, options.load, options.size.count(), options.messages);
  // What begins while queues are still filling is not counted.
  const uint64_t all = uint64_t{options.messages} * options.hosts, warm = all / 10;
  uint64_t begun = 0, ended = 0;
  const auto on_ended = [&](const Ended& each) {
    ++ended;
    tally.bytes_wrong += chance.take_back(each.order);
    if (!each.is_whole && tally.why.empty()) tally.why = each.why;
    if (each.order.tag < warm) return;
    tally.message_us.push_back(us_between(each.begun, each.arrived));
  };
  while (begun < all && !stop) {
    world.run(chance.next() - world.now(), [] { return false; });
    Order order = chance.draw();
    order.tag = begun++;
    traffic.begin(order);
    traffic.gather(on_ended);
  }
  const bool is_over = world.run(patience, [&] {
    traffic.gather(on_ended);
    return ended == begun;
  });
  if (!is_over && tally.why.empty()) tally.why = "not all messages came to an end";
  return tally;
}

// ---- in steps ----

LoadTally run_in_steps(MessageWorld& world, const MessageOptions& options, const StopFlag& stop) {
  LoadTally tally;
  Traffic traffic(world);
  MessageMemory memory(options.size.count(), options.seed);
  uint64_t number = 0;
  const auto on_ended = [&](const Ended& each) {
    tally.bytes_wrong += memory.take_back(each.order);
    if (!each.is_whole && tally.why.empty()) tally.why = each.why;
    tally.message_us.push_back(us_between(each.begun, each.arrived));
  };
  for (uint32_t round = 0; round < options.rounds && !stop && tally.why.empty(); ++round) {
    const Instant begin = world.now();
    // In an order in which no two have the same target at a time.
    for (uint32_t apart = 1; apart < options.hosts; ++apart) {
      for (uint32_t from = 0; from < options.hosts; ++from) {
        Order order{.from = static_cast<uint16_t>(from),
                    .to = static_cast<uint16_t>((from + apart) % options.hosts),
                    .step_bytes = options.size.count(),
                    .step = Step(round)};
        memory.lend(number++, order);
        traffic.begin(order);
      }
    }
    const bool is_over = world.run(patience, [&] {
      traffic.gather(on_ended);
      return traffic.open_count() == 0;
    });
    if (!is_over && tally.why.empty()) tally.why = "a step did not end";
    tally.step_us.push_back(us_between(begin, world.now()));
  }
  return tally;
}

}  // namespace cw::perf
