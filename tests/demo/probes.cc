#include "tests/demo/probes.h"

#include <thread>

namespace cw::demo {
namespace {

constexpr auto interval = std::chrono::microseconds(1000);  // between datagrams, in turn
constexpr auto stragglers = std::chrono::milliseconds(500);

}  // namespace

Probes probe(const lab::Sites& sites, std::chrono::milliseconds time) {
  lab::OneWay through(sites, lab::site_a.host, lab::site_b.host);
  lab::OneWay beside(sites, lab::site_a.beside, lab::site_b.beside);
  uint64_t sent = 0;
  const auto start = lab::Time::now();
  for (auto next = start; next < start + time; next += interval, ++sent) {
    std::this_thread::sleep_until(next);
    through.send_probe();
    std::this_thread::sleep_until(next + interval / 2);
    beside.send_probe();
    through.receive();
    beside.receive();
  }
  std::this_thread::sleep_for(stragglers);
  through.receive();
  beside.receive();
  return {through.latencies(), beside.latencies(), sent};
}

}  // namespace cw::demo
