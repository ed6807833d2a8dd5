#include "bench/e2e/group_mpi.h"

#include <filesystem>

#include "control/json/json.h"
#include "tests/lab/gateway.h"

namespace cw::bench {
namespace {

/// What mpirun starts a rank's daemon with: it hands over an address and a command. Daemons of one
/// machine must not share a folder.
std::string agent_of(const Bridge& bridge) {
  std::string text = "#!/bin/sh\nhost=$1\nshift\ncase $host in\n";
  for (uint32_t rank = 0; rank < bridge.members(); ++rank) {
    text += bridge.address_of(rank) + ") space=" + bridge.path_of(rank) + " ;;\n";
  }
  text += "esac\nexport TMPDIR=\"$(dirname \"$0\")/$host\"\nmkdir -p \"$TMPDIR\"\n";
  return text + "exec nsenter --net=\"$space\" sh -c \"$*\"\n";
}

lab::Arguments command(const Bridge& bridge, const std::string& agent, uint64_t bytes,
                       uint32_t rounds) {
  lab::Arguments words{"mpirun", "--allow-run-as-root", "--oversubscribe", "--map-by", "node"};
  // Its own daemons' words, and nothing but TCP: the ranks are of one machine that plays several.
  for (const char* each : {"pml ob1", "btl tcp,self", "btl_tcp_if_include eth",
                           "oob_tcp_if_include eth", "mpi_yield_when_idle 1"}) {
    const std::string text(each);
    const size_t space = text.find(' ');
    words.insert(words.end(), {"--mca", text.substr(0, space), text.substr(space + 1)});
  }
  words.insert(words.end(), {"--mca", "plm_rsh_agent", agent, "--host", bridge.addresses(), "-np",
                             std::to_string(bridge.members()), CW_MPI_PROGRAM,
                             std::to_string(bytes), std::to_string(rounds)});
  return words;
}

}  // namespace

std::string mpi_obstacle() {
  if (std::string(CW_MPI_PROGRAM).empty()) return "built without mpicc (libopenmpi-dev)";
  if (!std::filesystem::exists("/usr/bin/mpirun")) return "no mpirun (openmpi-bin)";
  return {};
}

Result<MpiRun> run_mpi(const Bridge& bridge, uint64_t bytes, uint32_t rounds) {
  const lab::Folder folder;
  const std::string agent = folder.path("agent");
  folder.write("agent", agent_of(bridge));
  std::filesystem::permissions(agent, std::filesystem::perms::owner_all);
  const lab::Outcome outcome = bridge.start(0, command(bridge, agent, bytes, rounds))->finish();
  if (outcome.status != 0) return failure("mpirun: " + outcome.err.substr(0, 500));
  const Json told = Json::parse(outcome.out);
  return MpiRun{.mean_us = told.at("mean_us").get<double>(),
                .max_us = told.at("max_us").get<double>(),
                .bytes_wrong = told.at("bytes_wrong").get<uint64_t>()};
}

}  // namespace cw::bench
