// What a packet costs in our code at the port of an RNIC, without the device: rows of writes posted
// and completed at devices in memory. Instructions of the port's own files, by callgrind:
//
//   valgrind --tool=callgrind --callgrind-out-file=/tmp/cost build/bin/verbs_cost
//   callgrind_annotate --threshold=100 /tmp/cost | grep dataplane/
//
// `verbs_cost groups`: the same of slots of groups, multicast. Prints how many packets that was,
// each sent and each received once.
#include <cstdio>
#include <cstring>
#include <thread>

#include "tests/verbs/end.h"
#include "tests/verbs/group_end.h"

namespace cw::stand_in {
namespace {

constexpr size_t row = 32, rounds = 2000, slot_bytes = 256;

/// Both ends, and a way from one to the other.
struct Pair {
  Pair() : a("rnic0", "10.9.0.1", "10.9.0.2"), b("rnic1", "10.9.0.2", "10.9.0.1") {
    std::array<uint32_t, End::queue_count> own{}, numbers{};
    until([&] { return a.try_open(own); });
    until([&] { return b.try_open(numbers); });
    way = {numbers[0], 0};
    until([&] { return a.port->try_connect_queues(0, End::first, {&way, 1}); });
  }
  template <class Done>
  void until(const Done& is_done) {
    while (!is_done()) {
      a.turn();
      b.turn();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  End a, b;
  SendQueue way;
};

size_t run() {
  Fabric::the().reset();
  Fabric::the().add_device("rnic0", "10.9.0.1", IBV_MTU_1024);
  Fabric::the().add_device("rnic1", "10.9.0.2", IBV_MTU_1024);
  Pair pair;
  std::vector<uint8_t> from(slot_bytes), to(slot_bytes);
  if (!pair.a.port->register_memory(from)) return 0;
  const Window window = pair.b.port->open_window(to);
  std::array<Send, row> sends;
  for (size_t i = 0; i < row; ++i) sends[i] = pair.a.write(pair.way, window, from, i + 1);
  std::array<Arrival, limits::burst_packets_max> arrivals;
  std::array<uint64_t, limits::burst_packets_max> cookies;
  size_t received = 0;
  for (size_t i = 0; i < rounds; ++i) {
    const Instant now = Instant() + Duration::from_us(static_cast<int64_t>(i));
    (void)pair.a.port->send(sends, now);
    (void)pair.a.port->take_done(cookies);
    received += pair.b.port->receive(arrivals, now);
    pair.b.port->end_arrivals();
  }
  return received;
}

size_t run_groups() {
  const std::vector<std::string> members = {"10.9.0.1", "10.9.0.2"};
  Fabric::the().reset();
  // The sender does not hear itself: what that costs is the device's or the receiver's.
  Fabric::the().keep_own_back(true);
  Fabric::the().add_device("rnic0", members[0], IBV_MTU_1024);
  Fabric::the().add_device("rnic1", members[1], IBV_MTU_1024);
  GroupEnd a("rnic0", members[0], members), b("rnic1", members[1], members);
  std::array<uint8_t, limits::group_header_bytes> prefix{};
  std::vector<uint8_t> payload(slot_bytes);
  if (!a.port->register_memory(payload)) return 0;
  std::array<Send, row> sends;
  for (size_t i = 0; i < row; ++i) {
    sends[i] = GroupEnd::slot(group_peer, group::multicast_qp, prefix.data(), payload, i + 1);
  }
  std::array<Arrival, limits::burst_packets_max> arrivals;
  std::array<uint64_t, limits::burst_packets_max> cookies;
  size_t received = 0;
  for (size_t i = 0; i < rounds; ++i) {
    const Instant now = Instant() + Duration::from_us(static_cast<int64_t>(i));
    (void)a.port->send(sends, now);
    (void)a.port->take_done(cookies);
    received += b.port->receive(arrivals, now);
    b.port->end_arrivals();
  }
  return received;
}

}  // namespace
}  // namespace cw::stand_in

int main(int count, char** arguments) {
  const bool has_groups = count > 1 && std::strcmp(arguments[1], "groups") == 0;
  const size_t packets = has_groups ? cw::stand_in::run_groups() : cw::stand_in::run();
  std::printf("%zu packets\n", packets);
  return packets == cw::stand_in::row * cw::stand_in::rounds ? 0 : 1;
}
