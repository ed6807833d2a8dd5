// Packets that cross a gateway, as a file for tcpdump or Wireshark.
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "control/ctl/commands.h"
#include "control/ctl/exits.h"

namespace cw::ctl {

int capture(Client& client, const Options& options) {
  const Options::Capture& wanted = options.capture;
  Json order = {{"seconds", wanted.seconds}, {"side", wanted.side}};
  if (wanted.packets) order["packets"] = *wanted.packets;
  if (!wanted.peer.empty()) order["peer"] = wanted.peer;
  if (options.file.empty() && isatty(STDOUT_FILENO) == 1) {
    std::fprintf(stderr, "causewayctl: --output FILE is missing; a terminal shows no packets\n");
    return exit_usage;
  }
  if (isatty(STDERR_FILENO) == 1) {
    std::fprintf(stderr, "captures for %u s at most\n", wanted.seconds);
  }
  const Answer answer =
      client.post("/v1/capture", order, std::chrono::seconds(wanted.seconds + 150));
  if (!answer.is_good()) return tell_failure(answer, options);
  if (options.file.empty()) {
    const size_t written = std::fwrite(answer.body.data(), 1, answer.body.size(), stdout);
    return written == answer.body.size() ? exit_done : exit_failed;
  }
  return try_write(options.file, answer.body) ? exit_done : exit_failed;
}

bool try_write(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) std::fprintf(stderr, "causewayctl: %s cannot be written\n", file.c_str());
  return bool(out);
}

}  // namespace cw::ctl
