// A member of a group over the RNIC of its machine: joins, has operations done, compares every byte
// and says in lines of name=value how it went. Ends with 0 where all were right.
//
//   rdma-group DEVICE RANK ADDRESSES GROUP RATE_MBPS OPERATION BYTES ROUNDS
//
// ADDRESSES are those of all members, by rank, separated by commas; OPERATION is `broadcast`, of
// rank 0, or `allgather`.
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/collective/sdk/group_end.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/port/verbs/verbs_port.h"

namespace cw::group {
namespace {
using namespace literals;

struct Order {
  std::string device, group, operation;
  uint16_t rank = 0;
  std::vector<std::string> addresses;
  Rate rate;
  uint64_t bytes = 0;
  int rounds = 0;
};

Order order_of(char** arguments) {
  Order order{.device = arguments[1], .group = arguments[4], .operation = arguments[6]};
  order.rank = static_cast<uint16_t>(std::atoi(arguments[2]));
  std::istringstream all(arguments[3]);
  for (std::string each; std::getline(all, each, ',');) order.addresses.push_back(each);
  order.rate = Rate::from_mbps(static_cast<uint64_t>(std::atoi(arguments[5])));
  order.bytes = static_cast<uint64_t>(std::atoll(arguments[7]));
  order.rounds = std::atoi(arguments[8]);
  return order;
}

uint64_t random_bits(void*) {
  uint64_t bits = 0;
  return getentropy(&bits, sizeof bits) == 0 ? bits : 1;
}

GroupEndOptions options_of(const Order& order) {
  static constexpr uint8_t key[] = "a secret that all members share";
  GroupEndOptions options;
  options.rank = order.rank;
  options.addresses = order.addresses;
  for (uint16_t i = 0; i < order.addresses.size(); ++i) options.peers.push_back(i);
  options.key = key;
  options.random = {nullptr, random_bits};
  options.rate = order.rate;
  options.bytes_max = order.bytes * order.addresses.size();
  options.rtt = 20_ms;
  options.reorder = 10_ms;
  options.horizon = 1_ms;
  options.lag = {};
  options.overhead_bytes = 14 + 20 + 8 + 4;
  options.deadline = 60_s;
  return options;
}

/// What a rank sends in a round.
void fill(std::span<uint8_t> part, uint16_t rank, int round) {
  Prng prng(uint64_t{rank} << 32 | static_cast<uint32_t>(round));
  for (uint8_t& each : part) each = static_cast<uint8_t>(prng.next());
}

class Member {
 public:
  Member(const Order& order, VerbsPort& port)
      : order_(order),
        port_(port),
        end_(port, options_of(order)),
        group_(end_.group()),
        memory_(order.bytes * (is_allgather() ? order.addresses.size() : 1)) {}

  bool join() {
    if (!port_.register_memory(memory_)) return false;
    return turn_until([&] { return group_.is_up(); }, 60_s);
  }
  /// One operation; false: it failed, or brought wrong bytes.
  bool run(int round) {
    const auto size = static_cast<ptrdiff_t>(order_.bytes);
    std::ranges::fill(memory_, uint8_t{0});
    const bool is_source = is_allgather() || order_.rank == 0;
    const size_t place = is_allgather() ? order_.rank : 0;
    if (is_source) fill(part(place), order_.rank, round);
    const Posting posting{.operation = is_allgather() ? Operation::Allgather : Operation::Broadcast,
                          .bytes = order_.bytes,
                          .memory = memory_.data()};
    const Instant begin = clock_.read();
    const auto step = group_.post(posting, begin);
    if (!step) return std::printf("why=%s\n", step.error().why.c_str()), false;
    const auto is_over = [&] { return group_.stage(*step) >= Stage::Done; };
    const bool has_ended = turn_until(is_over, 90_s);
    const OperationView view = group_.view(*step);
    const Duration time = clock_.read() - begin;
    turn_until([&] { return group_.try_release(*step); }, 10_s);
    if (!has_ended || view.stage == Stage::Failed) {
      return std::printf("why=%s\n", view.failure.c_str()), false;
    }
    size_t wrong = 0;
    std::vector<uint8_t> right(order_.bytes);
    for (uint16_t rank = 0; rank < memory_.size() / order_.bytes; ++rank) {
      fill(right, rank, round);
      wrong += !std::equal(right.begin(), right.end(), memory_.begin() + rank * size);
    }
    std::printf("round=%d us=%" PRId64 " slots=%u fetched=%u parts_wrong=%zu\n", round,
                time.ns() / 1000, view.slots, view.fetched, wrong);
    return wrong == 0;
  }
  /// Others may not have heard yet that all is over.
  void linger() {
    const Instant end = clock_.read() + 2_s;
    turn_until([&] { return clock_.read() >= end; }, 3_s);
  }
  void tell() const {
    const VerbsPortStatus status = port_.status();
    const PortCounters port = port_.counters();
    std::printf("tx_packets=%" PRIu64 " rx_packets=%" PRIu64 " tx_bytes=%" PRIu64 "\n",
                port.tx_packets, port.rx_packets, port.tx_bytes);
    std::printf("rx_own=%" PRIu64 " rx_unknown=%" PRIu64 " rx_starved=%" PRIu64
                " slots_copied=%" PRIu64 " tx_lost=%" PRIu64 " tx_unresolved=%" PRIu64
                " queues_broken=%" PRIu64 " path_mtu=%u keeps_own=%d\n",
                status.rx_own, status.rx_unknown, status.rx_starved, status.slots_copied,
                status.tx_lost, status.tx_unresolved, status.queues_broken, status.path_mtu,
                status.keeps_own_multicast_back);
    std::printf("trouble=%s\n", status.trouble.c_str());
    const auto drops = end_.drops().snapshot_any_thread();
    for (size_t i = 0; i < drop_reason_count; ++i) {
      if (drops.values[i] == 0) continue;
      std::printf("drop_%s=%" PRIu64 "\n", std::string(name_of(static_cast<DropReason>(i))).c_str(),
                  drops.values[i]);
    }
  }

 private:
  bool is_allgather() const { return order_.operation == "allgather"; }
  std::span<uint8_t> part(size_t place) {
    return std::span(memory_).subspan(place * order_.bytes, order_.bytes);
  }
  template <class IsOver>
  bool turn_until(const IsOver& is_over, Duration limit) {
    const Instant end = clock_.read() + limit;
    while (!is_over()) {
      const Instant now = clock_.read();
      if (now >= end) return false;
      const bool has_worked = end_.turn(now);
      // An emulated machine oversleeps by far: not where a packet is due soon.
      if (!has_worked && end_.worker().next_wakeup() > now + 2_ms) usleep(50);
    }
    return true;
  }

  const Order& order_;
  VerbsPort& port_;
  MonotonicClock clock_;
  GroupEnd end_;
  Group& group_;
  std::vector<uint8_t> memory_;
};

int run(const Order& order) {
  VerbsPortOptions options;
  options.device = order.device;
  options.address = order.addresses[order.rank];
  options.groups = {.members = order.addresses, .addresses = {order.group}};
  auto port = VerbsPort::make(options);
  if (!port) return std::printf("why=%s\n", port.error().sentence.c_str()), 1;
  Member member(order, **port);
  bool is_right = member.join();
  std::printf("joined=%d\n", is_right);
  for (int round = 0; is_right && round < order.rounds; ++round) is_right = member.run(round);
  member.linger();
  member.tell();
  return is_right ? 0 : 1;
}

}  // namespace
}  // namespace cw::group

int main(int count, char** arguments) {
  if (count != 9) {
    std::fprintf(stderr,
                 "usage: rdma-group DEVICE RANK ADDRESSES GROUP RATE_MBPS OPERATION BYTES "
                 "ROUNDS\n");
    return 2;
  }
  return cw::group::run(cw::group::order_of(arguments));
}
