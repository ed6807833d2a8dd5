#include "tests/demo/page/page.h"

#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "tests/demo/page/forwarder.h"
#include "tests/demo/page/line_door.h"
#include "tests/lab/enclosure.h"

namespace cw::demo {
namespace {

constexpr auto turn_time = std::chrono::milliseconds(200);
/// What `pair.rtt_max` is where a file does not say.
constexpr int64_t rtt_max_over_rtt = 4;

std::atomic<bool> is_told_to_end = false;

std::string in_folder(const char* name) { return std::string(lab::enclosure_folder) + "/" + name; }

lab::Arguments line_of(const Options& options) {
  lab::Arguments line = options.line_arguments();
  line.insert(line.end(), {"--control", in_folder("line")});
  return line;
}

void tell(uint16_t port, const Options& options) {
  std::printf("http://127.0.0.1:%u/\n", port);
  std::fflush(stdout);
  const std::string until =
      options.seconds == 0 ? "Ctrl-C ends it" : std::to_string(options.seconds) + " s";
  std::fprintf(stderr,
               "the page of site A's gateway is there; its line can be changed from it (%s)\n",
               until.c_str());
}

}  // namespace

void show_page(const Options& options, const WanderPrograms& programs) {
  for (const int number : {SIGINT, SIGTERM}) signal(number, [](int) { is_told_to_end = true; });
  const auto forwarder = Forwarder::open(options.port);
  if (!forwarder) throw std::runtime_error("--port: " + forwarder.error().sentence);
  lab::Sites sites(
      {.lan_mtu = options.mtu, .wan_mtu = options.mtu, .lan_offloads = options.lan == Lan::Tun});
  sites.join(programs.emulator, line_of(options));
  const LineDoor door(
      in_folder("page.sock"), in_folder("line"),
      {.name = "first", .rtt = options.rtt, .loss = options.loss, .burst = options.burst},
      options.rtt * rtt_max_over_rtt);
  Gateways gateways(sites, options, programs.daemon);
  Transfers transfers(sites, options);
  const Behind behind{.gateway = in_folder("api/a/control.sock"), .demo = in_folder("page.sock")};
  std::atomic<bool> is_over = false;
  const std::jthread forwards([&] { forwarder->run(behind, is_over); });
  tell(forwarder->port(), options);
  const auto end = lab::Time::now() + std::chrono::seconds(options.seconds);
  while (!is_told_to_end && (options.seconds == 0 || lab::Time::now() < end)) {
    try {
      gateways.check();
    } catch (...) {
      is_over = true;
      // Ctrl-C tells gateways as well, and may have told them first.
      std::this_thread::sleep_for(turn_time);
      if (is_told_to_end) return;
      throw;
    }
    transfers.send_for(turn_time, 0);
    transfers.forget();
  }
  is_over = true;
}

}  // namespace cw::demo
