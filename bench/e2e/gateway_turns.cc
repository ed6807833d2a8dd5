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

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/e2e/capture.h"
#include "bench/e2e/gateway_file.h"
#include "bench/e2e/turns.h"
#include "bench/machine.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "control/key/secret_file.h"
#include "offload/aead/aead.h"

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
  bool is_json = false, seals = false;
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

/// `number`: of the pair, whose devices and files are its own.
std::unique_ptr<site::Site> make_site(Side side, const GatewaySetup& setup, unsigned wan_mtu,
                                      unsigned number, const Folder& folder) {
  const bool is_a = side == Side::A;
  const std::string of_pair = std::to_string(number), device = std::to_string(2 * number + is_a),
                    memif = "net_memif" + device + ",role=" + (is_a ? "client" : "server") +
                            ",socket-abstract=no,socket=" + (folder / ("memif" + of_pair)) +
                            memif_room(wan_mtu),
                    lan = "net_pcap" + device + (is_a ? ",infinite_rx=1" : "") +
                          ",rx_pcap=" + (folder / ((is_a ? "frames" : "host") + of_pair));
  auto plan = site::read_plan(folder / "gateway.toml",
                              gateway_file(side, setup, {lan, memif, wan_mtu}, folder.string()));
  if (!plan) throw std::runtime_error(plan.error().sentence);
  plan->eal.memory_mib *= 4;  // DPDK takes what the first of all asks for
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

GatewaySetup setup_of(const std::string& policy, const Arguments& arguments, bool is_sealed) {
  GatewaySetup setup{.policy = policy,
                     .rate = arguments.rate,
                     .coding_threads = arguments.coding_threads,
                     .is_sealed = is_sealed};
  if (policy == "erasure") setup.params = "[class.params]\nk = 32\nm = 4\n";
  return setup;
}

/// net_pcap's addresses count on over the life of the process.
void write_captures(unsigned frame_bytes, unsigned number, const Folder& folder) {
  static char captures = 0;
  const std::string of_pair = std::to_string(number);
  write_capture(folder / ("host" + of_pair), {.from = 2, .target = captures++});
  write_capture(folder / ("frames" + of_pair),
                {.flows = 64, .bytes = frame_bytes, .target = captures++});
}

/// Of a site that seals, as causewayd has it; until it ends.
class KeysThread {
 public:
  explicit KeysThread(site::Site& site) {
    if (site.keys().has_begun()) thread_ = std::thread([this, &site] { site.run_keys(stop_); });
  }
  ~KeysThread() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  KeysThread(const KeysThread&) = delete;
  KeysThread& operator=(const KeysThread&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

/// What the library's own two calls take for the payload of such a frame's slot, in nanoseconds: of
/// one that is in the first-level cache.
double library_ns(unsigned bytes) {
  const cw_aead& aead = *cw_aead_fastest();
  const auto kind = cw_aead_has_fast_aes() != 0 ? CW_AEAD_AES_128_GCM : CW_AEAD_CHACHA20_POLY1305;
  const std::array<uint8_t, CW_AEAD_KEY_BYTES_MAX> key{1};
  const std::array<uint8_t, CW_AEAD_NONCE_BYTES> nonce{};
  const std::array<uint8_t, 32> associated{};
  std::array<uint8_t, CW_AEAD_TAG_BYTES> tag{};
  std::vector<uint8_t> plain(bytes), sealed(bytes);
  const std::unique_ptr<void, void (*)(void*)> made(aead.make(kind, key.data()), aead.drop);
  const cw_aead_text out{nonce.data(), associated.data(), associated.size(),
                         plain.data(), sealed.data(),     bytes};
  const cw_aead_text back{nonce.data(),  associated.data(), associated.size(),
                          sealed.data(), plain.data(),      bytes};
  std::vector<double> rounds;
  for (int round = 0; round < 51; ++round) {
    constexpr int calls = 200;
    const double start = cpu_seconds();
    for (int i = 0; i < calls; ++i) {
      aead.seal(made.get(), &out, tag.data());
      if (aead.open(made.get(), &back, tag.data()) == 0)
        throw std::runtime_error("it did not open");
    }
    rounds.push_back((cpu_seconds() - start) * 1e9 / calls);
  }
  std::ranges::nth_element(rounds, rounds.begin() + 25);
  return rounds[25];
}

/// Two that face each other, with what turns them where keys are theirs.
struct GatewayPair {
  // Within a process memif wants its server first.
  std::unique_ptr<site::Site> b, a;
  KeysThread keys_of_a{*a}, keys_of_b{*b};
};

std::unique_ptr<GatewayPair> make_pair(const std::string& policy, const Arguments& arguments,
                                       unsigned number, const Folder& folder) {
  write_captures(arguments.frame_bytes, number, folder);
  const GatewaySetup setup = setup_of(policy, arguments, /*is_sealed=*/number > 0);
  auto b = make_site(Side::B, setup, arguments.wan_mtu, number, folder);
  auto a = make_site(Side::A, setup, arguments.wan_mtu, number, folder);
  return std::make_unique<GatewayPair>(std::move(b), std::move(a));
}

/// What a frame costs both ends, of each row.
std::vector<double> both_ns(const RowsNs& rows, double frames_per_turn) {
  std::vector<double> both;
  for (size_t i = 0; i < rows[0].size(); ++i) {
    both.push_back((rows[0][i] + rows[1][i]) / frames_per_turn);
  }
  return both;
}

/// How much longer the sealed frame takes than the plain one of the same time.
Json beside_library(const std::vector<double>& plain, const std::vector<double>& sealed,
                    double library) {
  std::vector<double> more;
  for (size_t i = 0; i < plain.size(); ++i) more.push_back(sealed[i] - plain[i]);
  const double more_ns = median(std::move(more));
  return {{"more_ns", more_ns}, {"library_ns", library}, {"ratio", more_ns / library}};
}

/// Frames that it has carried, and turns that it took to.
struct Carried {
  double frames, turns;
  static Carried by(GatewayPair& pair, const Turns& turns, size_t number) {
    return {frames_out(*pair.b), static_cast<double>(turns.turns_of(number))};
  }
  double per_turn_since(const Carried& before) const {
    return (frames - before.frames) / (turns - before.turns);
  }
};

/// The plain pair, and behind it the sealed one, if that is asked for.
std::vector<Json> measure(const std::string& policy, const Arguments& arguments,
                          const Folder& folder) {
  constexpr unsigned link_bytes = 14;
  // While nothing else runs.
  const double library = arguments.seals ? library_ns(arguments.frame_bytes - link_bytes) : 0;
  std::vector<std::unique_ptr<GatewayPair>> pairs;
  std::vector<SitePair> sites;
  for (unsigned number = 0; number < (arguments.seals ? 2u : 1u); ++number) {
    pairs.push_back(make_pair(policy, arguments, number, folder));
    sites.push_back({pairs.back()->a.get(), pairs.back()->b.get()});
  }
  const unsigned second = arguments.coding_threads > 0 ? 0 : 1;  // else coding has no core
  Turns turns(sites, {.cores = {0, second}, .counted = arguments.counted == "sender" ? 0u : 1u});
  for (const auto& pair : pairs) wait_until_up(*pair->a, *pair->b);
  const size_t rows = arguments.turns / Turns::row_turns;
  (void)turns.measure(std::max<size_t>(rows / 4, 1));
  std::vector<Carried> before;
  for (size_t i = 0; i < pairs.size(); ++i) before.push_back(Carried::by(*pairs[i], turns, i));
  const std::vector<RowsNs> measured = turns.measure(rows);
  std::vector<Json> figures;
  std::vector<std::vector<double>> both;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const double frames = Carried::by(*pairs[i], turns, i).per_turn_since(before[i]);
    if (frames < 1) throw std::runtime_error(policy + ": nothing comes through");
    figures.push_back(Json{{"policy", policy},
                           {"is_sealed", i > 0},
                           {"frames_per_turn", frames},
                           {"sender_ns", median(measured[i][0]) / frames},
                           {"receiver_ns", median(measured[i][1]) / frames}});
    both.push_back(both_ns(measured[i], frames));
  }
  if (arguments.seals) figures.back().update(beside_library(both[0], both[1], library));
  return figures;
}

void print(const Json& row) {
  std::printf("%-18s %s %8.1f frames a turn, ns each: %8.1f sender, %8.1f receiver\n",
              row.at("policy").get<std::string>().c_str(),
              row.at("is_sealed").get<bool>() ? "sealed" : "plain ",
              row.at("frames_per_turn").get<double>(), row.at("sender_ns").get<double>(),
              row.at("receiver_ns").get<double>());
  if (row.contains("ratio")) {
    std::printf(
        "%-18s a sealed frame takes %.0f ns more, both ends together: %.2f of the library's two "
        "calls (%.0f ns)\n",
        "", row.at("more_ns").get<double>(), row.at("ratio").get<double>(),
        row.at("library_ns").get<double>());
  }
  std::fflush(stdout);
}

void run(const Arguments& arguments) {
  const Folder folder;
  std::ofstream(folder / "pair.key") << "the secret of a pair that is measured\n";
  fs::permissions(folder / "pair.key", fs::perms::owner_read);
  for (const Side side : {Side::A, Side::B}) {
    const auto written = key::write_secret_file(folder / (side == Side::A ? "a.key" : "b.key"),
                                                identity_of(side).private_key);
    if (!written) throw std::runtime_error(written.error().sentence);
  }
  Json all = Json::array();
  for (unsigned round = 0; round < arguments.rounds; ++round) {
    for (const std::string& policy : arguments.policies) {
      for (const Json& row : measure(policy, arguments, folder)) {
        if (!arguments.is_json) print(row);
        all.push_back(row);
      }
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
  app.add_flag("--seal", arguments.seals,
               "each beside a sealed pair, and that beside the library's calls");
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
