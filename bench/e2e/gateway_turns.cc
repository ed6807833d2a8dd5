// gateway_turns: what a gateway's turn costs by itself, nanoseconds per frame, sending and
// receiving, over DPDK: A's hosts are a file that never ends, B's take everything, a memif is
// between (turns.h says how). A million divided by that is how many frames per millisecond it could
// send or receive if the other end were as fast as it.
//
// Instructions instead, whole and room by room:
//
//   valgrind --tool=callgrind --fair-sched=yes --toggle-collect='*counted_turn*'
//            gateway_turns passthrough --rounds 1 --turns 1500 --count receiver
//
// Exit codes: 0 done, 2 arguments, 3 it cannot be measured here.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "bench/e2e/capture.h"
#include "bench/e2e/gateway_file.h"
#include "bench/e2e/turns.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"

namespace {

using namespace cw;
using namespace cw::bench;
namespace fs = std::filesystem;

constexpr int exit_refused = 2, exit_failed = 3;

struct Arguments {
  std::vector<std::string> policies = {"passthrough", "selective_repeat", "erasure"};
  unsigned rounds = 5, frame_bytes = 1400, coding_threads = 0, wan_mtu = 1500;
  size_t turns = 10'000;
  std::string counted = "receiver", rate = "40 Gbit/s";
  bool is_json = false;
};

/// Files that are gone when it ends.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("gateway_turns-" + std::to_string(getpid()))) {
    fs::create_directory(path_);
    fs::permissions(path_, fs::perms::owner_all);
  }
  ~Folder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ / name; }
  std::string string() const { return path_; }

 private:
  fs::path path_;
};

std::unique_ptr<site::Site> make_site(Side side, const GatewaySetup& setup, unsigned wan_mtu,
                                      const Folder& folder) {
  const std::string memif =
      ",socket-abstract=no,socket=" + (folder / "memif") + memif_room(wan_mtu);
  const Devices devices =
      side == Side::A ? Devices{"net_pcap1,infinite_rx=1,rx_pcap=" + (folder / "frames.pcap"),
                                "net_memif1,role=client" + memif, wan_mtu}
                      : Devices{"net_pcap0,rx_pcap=" + (folder / "host.pcap"),
                                "net_memif0,role=server" + memif, wan_mtu};
  auto plan =
      site::read_plan(folder / "gateway.toml", gateway_file(side, setup, devices, folder.string()));
  if (!plan) throw std::runtime_error(plan.error().sentence);
  plan->eal.memory_mib *= 2;  // DPDK takes what the first of both asks for
  auto made = site::Site::make(std::move(*plan));
  if (!made) throw std::runtime_error(made.error().sentence);
  return std::move(*made);
}

site::SiteState state_of(site::Site& site) {
  auto state = site.state(Duration::from_s(10));
  if (!state) throw std::runtime_error("a gateway does not turn");
  return std::move(*state);
}

bool is_up(site::Site& site) { return state_of(site).peers.at(0).is_up; }

double frames_out(site::Site& site) {
  return static_cast<double>(state_of(site).rooms.values[static_cast<size_t>(Counter::frames_out)]);
}

void wait_until_up(site::Site& a, site::Site& b) {
  constexpr auto patience = std::chrono::seconds(60);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!is_up(a) || !is_up(b)) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("no link comes up");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

GatewaySetup setup_of(const std::string& policy, const Arguments& arguments) {
  GatewaySetup setup{
      .policy = policy, .rate = arguments.rate, .coding_threads = arguments.coding_threads};
  if (policy == "erasure") setup.params = "[class.params]\nk = 32\nm = 4\n";
  return setup;
}

/// net_pcap's addresses count on over the life of the process.
void write_captures(unsigned frame_bytes, const Folder& folder) {
  static char captures = 0;
  write_capture(folder / "host.pcap", {.from = 2, .target = captures++});
  write_capture(folder / "frames.pcap", {.flows = 64, .bytes = frame_bytes, .target = captures++});
}

Json measure(const std::string& policy, const Arguments& arguments, const Folder& folder) {
  write_captures(arguments.frame_bytes, folder);
  const GatewaySetup setup = setup_of(policy, arguments);
  // Within a process memif wants its server first.
  const auto b = make_site(Side::B, setup, arguments.wan_mtu, folder);
  const auto a = make_site(Side::A, setup, arguments.wan_mtu, folder);
  const unsigned second = arguments.coding_threads > 0 ? 0 : 1;  // else coding has no core
  Turns turns({a.get(), b.get()},
              {.cores = {0, second}, .counted = arguments.counted == "sender" ? 0u : 1u});
  wait_until_up(*a, *b);
  (void)turns.measure(std::max<size_t>(arguments.turns / 4, 64));
  const double before = frames_out(*b);
  const std::array<double, 2> ns = turns.measure(arguments.turns);
  const double frames = (frames_out(*b) - before) / static_cast<double>(arguments.turns);
  if (frames < 1) throw std::runtime_error(policy + ": nothing comes through");
  return {{"policy", policy},
          {"frames_per_turn", frames},
          {"sender_ns", ns[0] / frames},
          {"receiver_ns", ns[1] / frames}};
}

void print(const Json& row) {
  std::printf("%-18s %8.1f frames a turn, ns each: %8.1f sender, %8.1f receiver\n",
              row.at("policy").get<std::string>().c_str(), row.at("frames_per_turn").get<double>(),
              row.at("sender_ns").get<double>(), row.at("receiver_ns").get<double>());
  std::fflush(stdout);
}

void run(const Arguments& arguments) {
  const Folder folder;
  std::ofstream(folder / "pair.key") << "the secret of a pair that is measured\n";
  fs::permissions(folder / "pair.key", fs::perms::owner_read);
  Json all = Json::array();
  for (unsigned round = 0; round < arguments.rounds; ++round) {
    for (const std::string& policy : arguments.policies) {
      all.push_back(measure(policy, arguments, folder));
      if (!arguments.is_json) print(all.back());
    }
  }
  if (arguments.is_json) std::printf("%s\n", all.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CommandLine app("What a gateway's turn costs by itself, sending and receiving.", "gateway_turns");
  app.add_option("POLICY", arguments.policies, "which, by turns; all three when none is given");
  app.add_option("--rounds", arguments.rounds, "of all policies").between(1, 100);
  app.add_option("--turns", arguments.turns, "of each gateway, in a round").between(64, 10'000'000);
  app.add_option("--frame", arguments.frame_bytes, "bytes, Ethernet header included")
      .between(60, 1514);
  app.add_option("--coding-threads", arguments.coding_threads,
                 "of each gateway; both then share a core, and coding has the other")
      .between(0, 1);
  app.add_option("--wan-mtu", arguments.wan_mtu, "of the memif between them").between(1280, 9000);
  app.add_option("--rate", arguments.rate, "of the line, such as \"2 Gbit/s\"");
  app.add_option("--count", arguments.counted, "whose turns are counted_turn()")
      .one_of({"sender", "receiver"});
  app.add_flag("--json", arguments.is_json, "all of it on one line");
  if (const auto status = app.parse_or_end(argc, argv, exit_refused)) return *status;
  try {
    run(arguments);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gateway_turns: %s\n", error.what());
    return exit_failed;
  }
}
