// The command line of a swarm: a program that lives through one drawn world after the other until
// so many packets have crossed, and tells what went wrong as sentences.
//
//     int main(int argc, char** argv) {
//       return cw::sim::swarm_main(argc, argv, {.name = "sdr_swarm", .about = "...",
//                                               .run = run_one, .describe = describe_one});
//     }
//
// The i-th run has the seed `--seed` + i, so `--seed S --runs 1` is the run that a violation names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace cw::sim {

/// What became of one world.
struct SwarmOutcome {
  std::string violation;  ///< "checker: sentence"; empty: nothing went wrong
  uint64_t packets = 0;   ///< that crossed the network
};

struct SwarmProgram {
  std::string name;
  std::string about;  ///< what is drawn and what is watched: the body of --help
  std::function<SwarmOutcome(uint64_t seed)> run;
  /// The world of a seed in one line, without living through it.
  std::function<std::string(uint64_t seed)> describe;
};

/// 0: no violation; 1: some; 2: a mistake in the arguments. A run that stops the program (an
/// assertion, a bad access) is a violation too, and the last.
int swarm_main(int argc, char** argv, const SwarmProgram& program);

}  // namespace cw::sim
