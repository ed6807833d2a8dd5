// example_transfer FILE: loads a plugin as an operator would and moves messages with it between two
// sites over the simulated network: once over a line that loses nothing, and once over one that
// loses a packet in a hundred, where it must do better than sending once. Status 0 when it does.
#include <cstdio>

#include "plugins/params.h"
#include "plugins/registry.h"
#include "policies/policies.h"
#include "tests/sim/sdr/transfer.h"

namespace cw::sim {
namespace {
using namespace literals;

constexpr uint64_t message_count = 200;

/// How many of the messages arrived whole, or none if the transfer did not come to its end.
uint64_t whole_messages(const SiteOptions& options, double loss) {
  SimNetwork network({.seed = 7, .paths = 1, .payload_max = 4096});
  SimPort& a_port = network.add_port();
  SimPort& b_port = network.add_port();
  const SimPeers peers = network.join(a_port, b_port, {.loss = loss, .delay = 5_ms});
  SiteOptions other = options;
  other.seed = 2;
  Site a(a_port, peers.of_first, options, network.now());
  Site b(b_port, peers.of_second, other, network.now());
  Transfer transfer(a, b, {.messages = message_count, .patience = 100_ms});
  Stage stage(network, 7);
  stage.add(a);
  stage.add(b);
  stage.add(transfer);
  stage.watch(transfer.exactly_once());
  stage.watch(transfer.no_wrong_byte());
  const StageEnd end =
      stage.run_until([&] { return transfer.is_done(); }, Instant::from_ns(0) + 100_s);
  if (end == StageEnd::Reached && !stage.final_complaint()) return transfer.whole_count();
  std::fprintf(stderr, "the transfer did not end well: %s\n",
               stage.final_complaint().value_or("out of time").c_str());
  return 0;
}

int run(const char* path) {
  plugins::Registry registry;
  const auto use = registry.load(path);
  if (!use) return std::fprintf(stderr, "%s\n", use.error().sentence.c_str()), 1;
  const cw_policy_ops& policy = use->table();
  const std::array settings = {plugins::Setting("delay", "3 ms")};
  const auto params = plugins::parse_params(policy, settings);
  if (!params) return std::fprintf(stderr, "%s\n", params.error().sentence.c_str()), 1;

  SiteOptions twice;
  twice.policy = &policy;
  twice.policy_params = *params;
  const SiteOptions once;
  const uint64_t lossless = whole_messages(twice, 0);
  const uint64_t lossy = whole_messages(twice, 0.01);
  const uint64_t lossy_once = whole_messages(once, 0.01);
  std::printf("%s %s: %llu of %llu whole without loss; with 1 %% loss %llu, passthrough %llu\n",
              policy.name, policy.version, static_cast<unsigned long long>(lossless),
              static_cast<unsigned long long>(message_count),
              static_cast<unsigned long long>(lossy), static_cast<unsigned long long>(lossy_once));
  return lossless == message_count && lossy > lossy_once ? 0 : 1;
}

}  // namespace
}  // namespace cw::sim

int main(int argc, char** argv) {
  if (argc == 2) return cw::sim::run(argv[1]);
  std::fprintf(stderr, "usage: example_transfer FILE.so\n");
  return 2;
}
