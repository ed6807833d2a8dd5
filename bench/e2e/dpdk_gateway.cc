// A gateway as causewayd makes it, on one thread, whose LAN is a DPDK device too.
//   dpdk_gateway CONFIG LAN_DEVICE
// Prints a line of JSON each second until SIGTERM.
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "bench/e2e/plain_lan.h"
#include "control/config/read.h"
#include "control/gateway/plan.h"
#include "control/gateway/wan_port.h"
#include "dataplane/base/assert.h"
#include "dataplane/core/clock.h"
#include "dataplane/core/idle.h"
#include "dataplane/core/worker.h"
#include "dataplane/gateway/gateway.h"
#include "dataplane/sdr/endpoint.h"

namespace {

using namespace cw;

std::atomic<bool> is_over = false;

uint64_t random_bits(void*) {
  uint64_t bits = 0;
  CW_ASSERT(getentropy(&bits, sizeof(bits)) == 0);
  return bits;
}

struct Gateway {
  site::Plan plan;
  MachineClock clock;
  Counters counters;
  Drops drops;
  site::WanPort wan;
  std::unique_ptr<bench::PlainLan> lan;
  std::optional<sdr::Endpoint> endpoint;
  std::unique_ptr<gateway::Gateway> rooms;
  std::optional<Worker> worker;
  std::optional<IdleWait> idle;
};

Result<void> open(Gateway& it, const std::string& lan_device) {
  it.plan.eal.devices.push_back(lan_device);
  it.plan.eal.memory_mib += 64;
  auto wan = site::make_wan_port(it.plan);
  if (!wan) return std::unexpected(wan.error());
  it.wan = std::move(*wan);
  auto lan = bench::PlainLan::make(lan_device, it.plan.lan.device.mtu);
  if (!lan) return std::unexpected(lan.error());
  it.lan = std::move(*lan);
  it.endpoint.emplace(*it.wan.port, it.counters, it.drops, it.plan.coding);
  for (sdr::PeerOptions& options : it.plan.peers) {
    options.link.random = {nullptr, random_bits};
    if (auto added = it.endpoint->add_peer(options, it.clock.read()); !added) {
      return std::unexpected(added.error());
    }
  }
  auto rooms = gateway::Gateway::make(it.plan.gateway, *it.lan, *it.endpoint, it.counters, it.drops,
                                      it.clock.read());
  if (!rooms) return std::unexpected(rooms.error());
  it.rooms = std::move(*rooms);
  const std::array sides = {Worker::Side{it.lan.get(), it.rooms.get()},
                            Worker::Side{it.wan.port.get(), &*it.endpoint}};
  it.worker.emplace(sides);
  const std::array<Port*, 2> ports = {it.wan.port.get(), it.lan.get()};
  it.idle.emplace(
      IdleOptions{
          .policy = it.plan.idle, .spin = Duration::from_us(20), .pause = Duration::from_us(50)},
      ports);
  return {};
}

void tell(Gateway& it, double seconds) {
  const auto rooms = it.counters.snapshot_any_thread();
  const auto worker = it.worker->counters().snapshot_any_thread();
  const auto drops = it.drops.snapshot_any_thread();
  nlohmann::json line = {{"seconds", seconds}, {"is_up", rooms[Counter::epochs] > 0}};
  line["counters"] = nlohmann::json::object();
  for (size_t i = 0; i < counter_count; ++i) {
    const auto counter = static_cast<Counter>(i);
    if (rooms[counter] + worker[counter] == 0) continue;
    line["counters"][std::string(name_of(counter))] = rooms[counter] + worker[counter];
  }
  for (size_t i = 0; i < drop_reason_count; ++i) {
    const auto reason = static_cast<DropReason>(i);
    if (drops[reason] != 0) line["drops"][std::string(name_of(reason))] = drops[reason];
  }
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

int run(const char* file, const char* lan_device) {
  auto plan = site::read_plan(file, config::text_of_file(file).value_or(""));
  if (!plan) return std::fprintf(stderr, "%s\n", plan.error().sentence.c_str()), 2;
  Gateway it{.plan = std::move(*plan)};
  if (const auto opened = open(it, lan_device); !opened) {
    return std::fprintf(stderr, "%s\n", opened.error().sentence.c_str()), 1;
  }
  std::signal(SIGTERM, [](int) { is_over = true; });
  std::fprintf(stderr, "ready\n");
  std::thread teller([&] {
    MonotonicClock clock;
    const Instant start = clock.read();
    while (!is_over) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      tell(it, (clock.read() - start).seconds());
    }
  });
  prctl(PR_SET_TIMERSLACK, 1);
  if (it.plan.core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(*it.plan.core, &set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
  }
  cw::run(*it.worker, it.clock, *it.idle, is_over);
  teller.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: dpdk_gateway CONFIG LAN_DEVICE\n"), 2;
  return run(argv[1], argv[2]);
}
