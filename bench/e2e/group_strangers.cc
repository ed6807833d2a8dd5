#include "bench/e2e/group_strangers.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "dataplane/base/prng.h"

namespace cw::bench {
namespace {

using lab::Arguments;
using lab::Program;
using std::chrono::milliseconds;

constexpr auto settle_time = milliseconds(500);  // receivers listen by then
constexpr auto end_patience = milliseconds(5000);

bool is_installed(const std::string& program) {
  return std::filesystem::exists("/usr/bin/" + program);
}

std::string with(std::string text, const std::string& word, const std::string& value) {
  const size_t at = text.find(word);
  return at == text.npos ? text : text.replace(at, word.size(), value);
}

Arguments with(Arguments arguments, const std::string& word, const std::string& value) {
  for (std::string& each : arguments) each = with(each, word, value);
  return arguments;
}

std::vector<char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, uint64_t bytes) {
  Prng prng(bytes);
  std::vector<char> content(bytes);
  for (char& each : content) each = static_cast<char>(prng.next());
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(bytes));
}

}  // namespace

std::vector<Stranger> strangers_here() {
  std::vector<Stranger> all;
  if (is_installed("udp-sender")) {
    all.push_back({"udpcast",
                   {"udp-sender", "--file", "FILE", "--interface", "eth", "--nokbd",
                    "--no-progress", "--full-duplex", "--min-receivers", "RECEIVERS",
                    "--max-bitrate", "MBITm", "--mcast-rdv-address", "239.7.8.1",
                    "--mcast-data-address", "239.7.8.2", "--blocksize", "8160"},
                   {"udp-receiver", "--file", "TARGET", "--interface", "eth", "--nokbd",
                    "--no-progress", "--mcast-rdv-address", "239.7.8.1"}});
  }
  if (is_installed("uftp")) {
    all.push_back({"uftp",
                   {"uftp", "-I", "eth", "-M", "239.7.9.1", "-P", "239.7.9.2", "-b", "8160", "-R",
                    "MBIT000", "-H", "HOSTS", "-r", "0.05:0.01:1", "-D", "target", "FILE"},
                   {"uftpd", "-d", "-I", "eth", "-M", "239.7.9.1", "-D", "FOLDER"}});
  }
  return all;
}

StrangerRun run_stranger(const Stranger& stranger, uint32_t members, uint64_t bytes, uint32_t mbit,
                         const StartMember& start) {
  const std::string folder = "/dev/shm/causeway_strangers_" + std::to_string(getpid());
  const std::string file = folder + "/file";
  std::filesystem::create_directories(folder);
  write_file(file, bytes);
  std::vector<std::unique_ptr<Program>> receivers;
  std::string hosts;
  const auto target = [&](uint32_t rank) { return folder + "/" + std::to_string(rank); };
  for (uint32_t rank = 1; rank < members; ++rank) {
    std::filesystem::create_directories(target(rank));
    hosts += (hosts.empty() ? "" : ",") + ("10.9.0." + std::to_string(rank + 1));
    receivers.push_back(start(
        rank,
        with(with(stranger.receiver, "TARGET", target(rank) + "/target"), "FOLDER", target(rank))));
  }
  std::this_thread::sleep_for(settle_time);
  Arguments sender = with(with(stranger.sender, "FILE", file), "HOSTS", hosts);
  sender =
      with(with(sender, "RECEIVERS", std::to_string(members - 1)), "MBIT", std::to_string(mbit));
  StrangerRun run;
  const auto begun = std::chrono::steady_clock::now();
  const lab::Outcome outcome = start(0, sender)->finish();
  run.ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
  if (outcome.status != 0) run.why = outcome.err.substr(0, 200);
  const auto wanted = bytes_of(file);
  for (uint32_t rank = 1; rank < members; ++rank) {
    const auto end = std::chrono::steady_clock::now() + end_patience;
    while (bytes_of(target(rank) + "/target") != wanted && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    run.right += bytes_of(target(rank) + "/target") == wanted;
    receivers[rank - 1]->signal(SIGTERM);
  }
  std::filesystem::remove_all(folder);
  return run;
}

}  // namespace cw::bench
