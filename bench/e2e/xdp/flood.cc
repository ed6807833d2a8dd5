// Floods at the WAN of the gateway that good traffic comes to, gateway B, beside others of the same
// rate that are none of its business. What comes to a veth is received on the core that sends it,
// so gateway A has core 1 with the flood: all that arrives at B is received there, as by a NIC
// whose interrupts have a core of their own. B's worker and the hosts have core 0, and should not
// notice.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "bench/e2e/xdp/frame_flood.h"
#include "bench/e2e/xdp/measured_pair.h"
#include "bench/e2e/xdp/parts.h"
#include "bench/e2e/xdp/udp_frame.h"
#include "bench/machine.h"
#include "tests/lab/datagrams.h"

namespace cw::bench {
namespace {

using lab::At;
using std::chrono::milliseconds;

constexpr unsigned own_core = 0, flood_core = 1;
constexpr size_t datagram_bytes = 1300;
constexpr uint32_t datagrams_per_second = 9'615;  // 100 Mbit/s
/// Of the most that goes: what is held all the while.
constexpr double held_share = 0.7;
constexpr auto slice_time = milliseconds(250);

enum class Beside { Nothing, Sham, Stranger, Hellos };
struct Contender {
  Beside beside;
  const char* name;
  bool is_at_full_speed = false;
};
constexpr std::array contenders{
    Contender{Beside::Nothing, "nothing"},
    Contender{Beside::Sham, "a sham: to another's MAC and address"},
    Contender{Beside::Stranger, "a stranger's, to our port"},
    Contender{Beside::Hellos, "HELLOs in the peer's name"},
    Contender{Beside::Stranger, "a stranger's, as fast as a core sends", true},
};

constexpr size_t sham_index = 1, stranger_index = 2;

/// An envelope to a receiver whose nonce is not known, sealed by nobody.
std::vector<uint8_t> hello_payload() {
  constexpr size_t envelope_at = 20, bytes = envelope_at + 24;
  std::vector<uint8_t> payload(bytes, 0);
  payload[0] = 0x64;
  payload[envelope_at] = 0xca, payload[envelope_at + 1] = 0x05;
  return payload;
}

std::vector<uint8_t> frame_of(Beside beside) {
  UdpFrame frame{.target_mac = "02:00:00:00:00:06",
                 .source_mac = "02:00:00:00:00:09",
                 .source = "192.0.2.9",
                 .target = lab::site_b.wan,
                 .payload = hello_payload()};
  if (beside == Beside::Sham) frame.target_mac = "02:00:00:00:00:99", frame.target = "192.0.2.99";
  if (beside == Beside::Hellos) frame.source = lab::site_a.wan;
  return frame.text();
}

/// What a contender's slices of a round come to.
struct Noticed {
  double seconds = 0, worker_seconds = 0, frames = 0, strangers = 0, hellos = 0;
  uint64_t good = 0, lost = 0;
};

class FloodedPair {
 public:
  FloodedPair() {
    join_by_cable(sites_);
    pair_.emplace(sites_, PairSetup{.cores = std::array{flood_core, own_core}});
  }

  /// Frames a second, as fast as it goes.
  double fastest(Beside beside) const {
    const auto flood = start(beside, 0);
    std::this_thread::sleep_for(milliseconds(300));
    const auto begin = lab::Time::now();
    const uint64_t before = flood->sent();
    std::this_thread::sleep_for(milliseconds(1500));
    const std::chrono::duration<double> time = lab::Time::now() - begin;
    return static_cast<double>(flood->sent() - before) / time.count();
  }

  /// One stream of hosts' datagrams beside all contenders in turn, a slice each, and again: a
  /// worker's time drifts over seconds by more than what is looked for.
  std::array<Noticed, contenders.size()> measure(uint64_t per_second, uint32_t seconds) {
    lab::Datagrams datagrams(sites_, {.bytes = datagram_bytes, .per_second = datagrams_per_second});
    datagrams.start();
    std::vector<Slice> slices;
    for (auto time = milliseconds(0); time < std::chrono::seconds(seconds); time += slice_time) {
      for (size_t i = 0; i < contenders.size(); ++i) slices.push_back(run_slice(i, per_second));
    }
    datagrams.stop();
    datagrams.settle(std::chrono::seconds(1));
    std::array<Noticed, contenders.size()> all;
    for (const Slice& slice : slices) {
      Noticed& sum = all[slice.contender];
      const auto counts = datagrams.counts(slice.from, slice.to);
      sum.seconds += std::chrono::duration<double>(slice.to - slice.from).count();
      sum.worker_seconds += slice.noticed.worker_seconds;
      sum.frames += slice.noticed.frames;
      sum.strangers += slice.noticed.strangers;
      sum.hellos += slice.noticed.hellos;
      sum.good += counts.sent;
      sum.lost += counts.lost();
    }
    return all;
  }

 private:
  struct Slice {
    size_t contender = 0;
    lab::Time::time_point from, to;
    Noticed noticed;
  };

  Slice run_slice(size_t contender, uint64_t per_second) {
    const auto [beside, name, is_at_full_speed] = contenders[contender];
    const auto flood =
        beside == Beside::Nothing ? nullptr : start(beside, is_at_full_speed ? 0 : per_second);
    Slice slice{.contender = contender};
    const Json refused = pair_->b().status()["wan"]["refused"];
    std::this_thread::sleep_for(milliseconds(50));
    const double worker = worker_seconds(pair_->b());
    const uint64_t sent = flood ? flood->sent() : 0;
    slice.from = lab::Time::now();
    std::this_thread::sleep_for(slice_time);
    slice.noticed.worker_seconds = worker_seconds(pair_->b()) - worker;
    slice.to = lab::Time::now();
    slice.noticed.frames = static_cast<double>(flood ? flood->sent() - sent : 0);
    const Json refused_since = pair_->b().status()["wan"]["refused"];
    const auto counted = [&](const char* reason) {
      return refused_since[reason].get<double>() - refused[reason].get<double>();
    };
    slice.noticed.strangers = counted("stranger");
    slice.noticed.hellos = counted("hello_flood");
    return slice;
  }

  std::unique_ptr<FrameFlood> start(Beside beside, uint64_t per_second) const {
    return std::make_unique<FrameFlood>(sites_.space(At::GatewayA), "wa", frame_of(beside),
                                        per_second, flood_core);
  }

  lab::Sites sites_{{.lan_offloads = false}};
  std::optional<MeasuredPair> pair_;
};

}  // namespace

void measure_flood(const Asked& asked, Report& report) {
  try_bind_to(own_core);
  FloodedPair pair;
  const double stranger = pair.fastest(Beside::Stranger), sham = pair.fastest(Beside::Sham);
  const auto common = static_cast<uint64_t>(std::min(stranger, sham) * held_share);
  report.begin("flood", {{"beside", "beside"},
                         {"flood_pps", "frames of it a second"},
                         {"worker_ms_per_s", "the gateway's worker, ms/s", 2},
                         {"good", "hosts' datagrams"},
                         {"lost", "of them lost"},
                         {"stranger", "counted as a stranger's"},
                         {"hello_flood", "counted as HELLOs too many"}});
  std::vector<double> ratios;
  for (uint32_t round = 0; round < asked.rounds; ++round) {
    const auto all = pair.measure(common, asked.seconds);
    for (size_t i = 0; i < contenders.size(); ++i) {
      const Noticed& it = all[i];
      report.add({{"beside", contenders[i].name},
                  {"flood_pps", it.frames / it.seconds},
                  {"worker_ms_per_s", it.worker_seconds * 1000 / it.seconds},
                  {"good", it.good},
                  {"lost", it.lost},
                  {"stranger", it.strangers},
                  {"hello_flood", it.hellos}});
    }
    ratios.push_back(all[stranger_index].worker_seconds / all[stranger_index].seconds /
                     (all[sham_index].worker_seconds / all[sham_index].seconds));
  }
  report.conclude("worker's time beside a stranger's flood, of that beside the sham, median",
                  median(ratios));
}

}  // namespace cw::bench
