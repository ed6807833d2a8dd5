// Two sites of two shards each carry some frames, all in one thread, for valgrind's lackey to look
// at (shard_lines_test.cc): once both are up, the number of a shard is written to a place of its
// own before each of its turns, and 0 after it. The addresses of the places are told first:
//
//   place 1 0x5c3a40        site 1, shard 0
//   place 2 0x5c3a80        site 1, shard 1
//   place 5 0x5c3ac0        what grants, at site 1
//   place 0 0x5c3b00        nobody's turn
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "tests/sim/gateway/hosted_site.h"

namespace cw::sim {
namespace {

using namespace literals;

constexpr int actors = 7;
/// Cache lines of their own, so that marks are nobody's writes.
struct alignas(64) Place {
  volatile uint64_t mark = 0;
};
std::array<Place, actors> places;

/// What begins an epoch allocates, and makes policies in the only thread there is.
bool is_up = false;

void mark(size_t actor) {
  if (is_up) places[actor].mark = 1;
}

/// A wire for each link, by which the shards of the two sites that have it meet, and no others.
struct Wire {
  SimNetwork network{{.port_packets = 2048, .wire_packets = 512, .payload_max = 1500}};
  SimPort &one = network.add_port(), &two = network.add_port();
  Wire() { network.join(one, two, {.delay = 1_ms}); }
};

struct Scene {
  SiteText text{.rate = "20 Mbit/s", .rtt = "2 ms"};
  std::array<Wire, HostedSite::cores> wires;
  Instant now = Instant() + 1_s;
  HostedSite one{1, text, now, [this](const site::Plan&, size_t shard) {
                   return std::make_unique<PortAround>(wires[shard].one);
                 }};
  HostedSite two{2, text, now, [this](const site::Plan&, size_t shard) {
                   return std::make_unique<PortAround>(wires[shard].two);
                 }};

  Scene() {
    for (HostedSite* each : {&one, &two}) {
      for (const auto& lan : each->lans) lan->is_apart = true;
    }
  }

  void turn() {
    now = std::max(now + 20_us, next());
    for (Wire& wire : wires) wire.network.advance_to(now);
    for (HostedSite* each : {&one, &two}) {
      for (const auto& lan : each->lans) lan->turn(now);
    }
    size_t actor = 1;
    for (HostedSite* each : {&one, &two}) {
      each->site->sleeps_until(now);
      for (size_t shard = 0; shard < HostedSite::cores; ++shard) {
        mark(actor++);
        each->site->turn_shard(shard, now);
        mark(0);
      }
    }
    for (HostedSite* each : {&one, &two}) {
      mark(actor++);
      each->site->turn_grants(now);
      mark(0);
    }
  }
  Instant next() {
    Instant next = now + 1_ms;  // grants
    for (Wire& wire : wires) next = std::min(next, wire.network.next_event());
    for (HostedSite* each : {&one, &two}) {
      for (const auto& lan : each->lans) next = std::min(next, lan->host.next_deadline());
    }
    return next;
  }
  bool are_up() {
    bool are_up = true;
    for (HostedSite* each : {&one, &two}) {
      const site::SiteState state = each->site->state(now);
      are_up &= std::ranges::all_of(state.peers, &site::PeerView::is_up);
    }
    return are_up;
  }
  void add_flows() {
    uint16_t number = 0;
    for (const auto& [site, from] : {std::pair(&one, 1), {&two, 2}}) {
      for (const auto& lan : site->lans) {
        FlowOptions flow;
        flow.kind = gateway::PacketKind::Tcp;
        flow.number = ++number;
        flow.packets = 12;
        flow.rate = 1_Mbps;
        flow.bytes = 600;
        flow.begin = now;
        flow.from = static_cast<uint8_t>(from), flow.to = static_cast<uint8_t>(3 - from);
        lan->host.add_flow(flow);
      }
    }
  }
};

/// So that who reads addresses can say where they are.
void tell_maps() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) std::printf("map %s\n", line.c_str());
  std::fflush(stdout);
}

/// 0: every shard has carried frames; 3: they did not come.
int run() {
  for (int i = 0; i < actors; ++i)
    std::printf("place %d %p\n", i, static_cast<void*>(&places[static_cast<size_t>(i)]));
  std::fflush(stdout);
  Scene scene;
  const Instant patience = scene.now + 1_s;
  for (int turns = 0; turns % 64 != 0 || !scene.are_up(); ++turns) {
    scene.turn();
    if (scene.now > patience) return 3;
  }
  // What is made when all is up has been.
  for (const Instant end = scene.now + 20_ms; scene.now < end;) scene.turn();
  is_up = true;
  tell_maps();
  scene.add_flows();
  const auto arrived = [&] {
    uint64_t frames = 0;
    for (HostedSite* each : {&scene.one, &scene.two}) {
      for (const auto& lan : each->lans) frames += lan->host.received_count();
    }
    return frames;
  };
  while (arrived() < 48) {
    scene.turn();
    if (scene.now > patience + 1_s) return 3;
  }
  return 0;
}

}  // namespace
}  // namespace cw::sim

int main() { return cw::sim::run(); }
