// Somebody on the wire between gateways, without the key: he hears what they send, and says it
// again, at once or much later, to the letter or with something changed.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/base/prng.h"
#include "tests/sim/gateway/sites.h"
#include "tests/sim/gateway/swarm/world.h"

namespace cw::sim {

class Intruder final {
 public:
  Intruder(const IntruderOptions& options, uint64_t seed) : options_(options), prng_(seed) {}

  void hear(const WanRoute& route, uint16_t link, const Packet& packet);
  /// Says what has come to his mind since the last call.
  void speak(Sites& sites);
  void fall_silent() { options_ = {}; }

 private:
  struct Heard {
    WanRoute route;
    uint16_t link;
    std::vector<uint8_t> bytes;
  };
  void forge(std::vector<uint8_t>& bytes);

  static constexpr size_t heard_max = 500;
  IntruderOptions options_;
  Prng prng_;
  std::vector<Heard> heard_;  // any of them may be said again
  std::vector<Heard> to_say_;
};

}  // namespace cw::sim
