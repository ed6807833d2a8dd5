// The port over AF_XDP beside others, in rounds of which each measures all contenders:
//
//   port     one veth, frames of one process to another, each on a core of its own: ours, and
//            dpdk-testpmd (txonly, rxonly) over net_af_xdp
//   gateways a pair of gateways that only carry, hosts at both ends: sockets and TUN, or AF_XDP on
//            both sides; processor time of both and their system calls, per gigabyte of the hosts'
//   program  nanoseconds of our program for a frame that it takes or drops, by BPF_TEST_RUN
//   flood    what a gateway's worker and its good traffic notice of a stranger's flood of its port,
//            beside a flood of the same rate that is none of its business
//   forward  frames that come through a pair of gateways, beside two testpmds at their places
//   table    pairs over each kind of ports at full load: what comes through, and what it costs
//
// Exit codes: 0 done, 2 arguments, 3 it cannot be measured here.
#include <arpa/inet.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/e2e/lab_program.h"
#include "bench/e2e/xdp/parts.h"
#include "bench/e2e/xdp/udp_frame.h"
#include "bench/machine.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "dataplane/base/limits.h"
#include "dataplane/port/xdp/xdp_device.h"
#include "tests/lab/program.h"
#include "tests/lab/space.h"

namespace {

using namespace cw;
using namespace cw::bench;
using lab::Arguments;
using lab::Program;
using lab::Space;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// ---- a frame ------------------------------------------------------------------------------------

constexpr size_t frame_bytes = 1414, headers_bytes = 42;

IpAddress address_of(const char* text) {
  IpAddress ip{};
  inet_pton(AF_INET, text, ip.data());
  return ip;
}

/// Of a peer to our UDP port; the MACs do not matter to a veth.
std::vector<uint8_t> frame_from(const char* source, uint16_t target_udp_port = 4791) {
  return UdpFrame{.target_mac = "02:00:00:00:00:01",
                  .source_mac = "02:00:00:00:00:02",
                  .source = source,
                  .target = "192.0.2.2",
                  .target_udp_port = target_udp_port,
                  .bytes = frame_bytes,
                  .payload = {}}
      .text();
}

std::unique_ptr<FrameDevice> device_at(const char* interface) {
  FrameDeviceOptions options;
  options.device = interface;
  options.packet_bytes = 1500;
  options.flows = {{.ip_version = IpVersion::V4,
                    .source = address_of("192.0.2.1"),
                    .target = address_of("192.0.2.2"),
                    .source_udp_port = 4791,
                    .target_udp_port = 4791}};
  auto made = XdpDevice::make(options);
  if (!made) throw std::runtime_error(made.error().sentence);
  return std::move(*made);
}

// ---- one end of a cable, as a process -----------------------------------------------------------

[[noreturn]] void send_for_ever() {
  bench::try_bind_to(0);
  const auto device = device_at("v0");
  const auto frame = frame_from("192.0.2.1");
  std::array<Packet*, 32> burst;
  while (true) {
    const size_t count = device->take_burst(burst);
    for (Packet* packet : std::span(burst).first(count)) {
      std::memcpy(packet->data, frame.data(), headers_bytes);
      packet->bytes = frame_bytes;
    }
    size_t sent = 0;
    while (sent < count) sent += device->tx_burst(std::span(burst).first(count).subspan(sent));
  }
}

[[noreturn]] void receive_for_ever() {
  bench::try_bind_to(1);
  const auto device = device_at("v1");
  std::array<Packet*, limits::burst_packets_max> burst;
  while (true) device->give_back(std::span(burst).first(device->rx_burst(burst)));
}

// ---- port ---------------------------------------------------------------------------------------

/// Two ends, one queue each.
struct Cable {
  Space a = Space::make(), b = Space::make();

  Cable() {
    a.must(
        "ip link add v0 numrxqueues 1 numtxqueues 1 type veth peer name v1 numrxqueues 1 "
        "numtxqueues 1 netns " +
        b.path() + "; ip link set v0 up");
    b.must("ip link set v1 up");
  }
};

/// Two processes at a cable, which run only when it is their turn.
class Contender {
 public:
  Contender(const Arguments& sender, const Arguments& receiver)
      : to_(cable_.b.fd(), receiver), from_(begin(cable_, sender)) {
    std::this_thread::sleep_for(milliseconds(2500));
    stop();
  }
  ~Contender() {
    for (Program* each : {&from_, &to_}) {
      each->signal(SIGKILL);
      (void)each->finish();
    }
  }
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  void run_for(milliseconds time) {
    const uint64_t before = come();
    const auto start = Clock::now();
    for (Program* each : {&to_, &from_}) each->signal(SIGCONT);
    std::this_thread::sleep_for(time);
    stop();
    seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
    come_ += come() - before;
  }
  double rate() const { return static_cast<double>(come_) / seconds_; }

 private:
  /// The receiver has its socket by then.
  static Program begin(const Cable& cable, const Arguments& sender) {
    std::this_thread::sleep_for(milliseconds(1500));
    return {cable.a.fd(), sender};
  }
  void stop() {
    for (Program* each : {&from_, &to_}) {
      if (each->has_ended()) throw std::runtime_error(each->finish().err);
      each->signal(SIGSTOP);
    }
  }
  uint64_t come() const { return frames_come(cable_.b, "v1"); }

  Cable cable_;
  Program to_, from_;
  uint64_t come_ = 0;
  double seconds_ = 0;
};

/// A machine's speed drifts by half within seconds, so that they take turns of a quarter of one.
void measure_port(const Asked& asked, Report& report) {
  constexpr milliseconds slice(250);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  report.begin("port", {{"round", "round"},
                        {"testpmd_pps", "testpmd over net_af_xdp, frames/s"},
                        {"pps", "ours"},
                        {"ratio", "of it", 2}});
  std::vector<double> ratios;
  for (uint32_t round = 1; round <= asked.rounds; ++round) {
    Contender theirs(testpmd({"v0"}, "txonly", 0), testpmd({"v1"}, "rxonly", 1));
    Contender ours({self, "--end", "send"}, {self, "--end", "receive"});
    for (uint32_t i = 0; i < asked.seconds * 4; ++i) {
      theirs.run_for(slice);
      ours.run_for(slice);
    }
    ratios.push_back(ours.rate() / theirs.rate());
    report.add({{"round", round},
                {"testpmd_pps", theirs.rate()},
                {"pps", ours.rate()},
                {"ratio", ratios.back()}});
  }
  report.conclude("of testpmd's, median", bench::median(ratios));
}

// ---- the program --------------------------------------------------------------------------------

void measure_program(Report& report) {
  const Cable cable;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const lab::Outcome outcome = cable.b.run({self, "--end", "try"});
  if (outcome.status != 0) throw std::runtime_error(outcome.err);
  report.begin("program",
               {{"frame", "a frame of 1,414 bytes"}, {"verdict", "verdict"}, {"ns", "ns"}});
  const Json rows = Json::parse(outcome.out);
  for (const Json& row : rows) report.add(row);
}

void try_program() {
  constexpr uint32_t repeat = 1'000'000;
  const auto device = device_at("v1");
  const SteeringProgram& program = static_cast<const XdpDevice&>(*device).program();
  Json rows = Json::array();
  for (const auto& [what, frame] : {std::pair("of a peer", frame_from("192.0.2.1")),
                                    std::pair("of a stranger to our port", frame_from("192.0.2.9")),
                                    std::pair("the kernel's", frame_from("192.0.2.1", 22))}) {
    const auto trial = program.try_frame(frame, repeat);
    rows.push_back({{"frame", what}, {"verdict", trial.verdict}, {"ns", trial.ns}});
  }
  std::printf("%s\n", rows.dump().c_str());
}

void run(const Asked& asked) {
  if (asked.end == "send") send_for_ever();
  if (asked.end == "receive") receive_for_ever();
  if (asked.end == "try") return try_program();
  const auto wants = [&](const char* part) {
    return std::ranges::find(asked.parts, part) != asked.parts.end();
  };
  Report report(asked.is_json);
  if (wants("port")) measure_port(asked, report);
  if (wants("gateways")) measure_gateways(asked, report);
  if (wants("program")) measure_program(report);
  if (wants("flood")) measure_flood(asked, report);
  if (wants("forward")) measure_forward(asked, report);
  if (wants("table")) measure_table(asked, report);
  report.end();
}

}  // namespace

uint64_t bench::frames_come(const lab::Space& space, const std::string& interface) {
  const lab::Outcome told = space.run({"ip", "-j", "-s", "link", "show", "dev", interface});
  return Json::parse(told.out)[0].at("stats64").at("rx").at("packets").get<uint64_t>();
}

Arguments bench::testpmd(const std::vector<std::string>& interfaces, const char* mode,
                         unsigned core) {
  Arguments words = {"dpdk-testpmd",
                     "-l",
                     "0,1",
                     "--main-lcore",
                     std::to_string(1 - core),
                     "--no-huge",
                     "-m",
                     "256",
                     "--no-pci",
                     "--file-prefix",
                     "xdp-beside-" + interfaces.front()};
  for (size_t i = 0; i < interfaces.size(); ++i) {
    words.push_back("--vdev");
    words.push_back("net_af_xdp" + std::to_string(i) + ",iface=" + interfaces[i]);
  }
  const Arguments rest = {"--",
                          std::string("--forward-mode=") + mode,
                          "--txpkts=" + std::to_string(frame_bytes),
                          "--stats-period=1",
                          "--total-num-mbufs=16384",
                          "--no-mlockall"};
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

int main(int count, char** words) {
  Asked asked;
  CommandLine app("The port over AF_XDP beside others.", "xdp_beside");
  app.add_option("--part", asked.parts,
                 "port, gateways, program, flood, forward, table; all when not given")
      .one_of({"port", "gateways", "program", "flood", "forward", "table"})
      .delimiter(',');
  app.add_option("--rounds", asked.rounds, "of each").between(1, 100).shows_default();
  app.add_option("--seconds", asked.seconds, "of each measurement").between(2, 60).shows_default();
  app.add_option("--per-second", asked.per_second, "datagrams of 1,300 bytes between hosts")
      .between(100, 1'000'000)
      .shows_default();
  app.add_option("--offered", asked.offered, "frames a second, one after another: forward, table")
      .between(1'000, 10'000'000)
      .delimiter(',');
  app.add_flag("--json", asked.is_json, "the report on one line; else it is Markdown");
  app.add_option("--end", asked.end, "runs as one end of the cable: send, receive or try");
  return bench::run_in_lab(app, "xdp_beside", {words, static_cast<size_t>(count)},
                           [&] { run(asked); });
}
