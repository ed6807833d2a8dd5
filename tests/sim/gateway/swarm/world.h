// A world of the swarm: sites, hosts, wires and everything that goes wrong with them, all of it
// drawn from one seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/gateway/sites.h"
#include "tests/sim/gateway/swarm/talkers.h"

namespace cw::sim {

enum class FaultKind : uint8_t {
  Pause,     ///< a gateway stands still for `length`
  Crash,     ///< it dies, and another is there after `length`
  Blackout,  ///< nothing passes between two sites, on one path or on all
  Longer,    ///< the way between two sites is another from here on
  Swap,      ///< a gateway wants another policy for what a class sends
  Reload,    ///< live keys of a gateway are others
  Relink,    ///< all gateways, one by one within `length`, put links in the place of theirs
};

struct Fault {
  FaultKind kind = FaultKind::Pause;
  Instant at;
  Duration length;
  WanRoute route;  ///< `from` is also the site of the first two
  bool is_all_paths = false;
  Impairment wan;            ///< Longer
  uint16_t class_index = 0;  ///< Swap, as is the next
  std::string policy;
  SiteText text;  ///< Reload, Relink
};

/// Somebody on the wire, for as long as the faults last.
struct IntruderOptions {
  double replays = 0;  ///< of what he hears, again and much later
  double forges = 0;   ///< the same with something changed
};

struct ClassWorld {
  std::string name, policy;
  /// Whether it resends, and only what it takes for lost.
  bool mends_by_need() const {
    return policy == "selective_repeat" || policy == "hybrid" || policy == "erasure";
  }
};

struct SwarmWorld {
  uint64_t seed = 1;
  int sites = 2;
  SiteText text;
  std::vector<ClassWorld> classes;
  Rate rate;
  Duration one_way;             ///< of the longest way
  bool ways_only_grow = false;  ///< else another way may be shorter than the one before
  uint16_t paths = 1, links = 1;
  std::vector<size_t> cores;  ///< of each site
  Impairment wan;             ///< while the faults last
  std::vector<Fault> faults;
  IntruderOptions intruder;
  bool delivers_damage = false;
  std::vector<Talk> talks;
  Duration faults_time, hold_max, pause_max, delay_max;

  bool has(FaultKind kind) const;
  /// The sites' files.
  std::vector<std::string> files() const { return files(text); }
  std::vector<std::string> files(const SiteText& said) const;
  /// Nobody forges, and what is damaged on its way is found out, or all is sealed: then every frame
  /// is exactly what its host sent.
  bool is_exact() const { return text.is_sealed || (!delivers_damage && intruder.forges == 0); }
  /// Jitter, pauses and ways are such that resends are bounded.
  bool promises_few_resends() const;
  /// How old a frame may become.
  Duration age_max() const;
  /// After the faults: so long until everything flows as if nothing had been.
  Duration recovery_max() const;
};

/// What a seed stands for. The same on every machine.
SwarmWorld draw_world(uint64_t seed);
/// In one line, for whoever has to find out why it failed.
std::string describe(const SwarmWorld& world);

}  // namespace cw::sim
