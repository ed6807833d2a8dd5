#include "tests/unit/port/polling.h"

#include <unistd.h>

#include <array>

#include "dataplane/base/limits.h"
#include "dataplane/core/turn/clock.h"

namespace cw::test {
namespace {

void read_into(std::vector<Packet*>& all, Port& port, const std::function<bool()>& is_over) {
  constexpr Duration patience = Duration::from_s(20);
  std::array<Packet*, limits::burst_packets_max> burst;
  const Instant start = clock_now();
  while (!is_over() && clock_now() - start < patience) {
    const size_t got = port.rx_burst(burst, clock_now());
    all.insert(all.end(), burst.begin(), burst.begin() + static_cast<ptrdiff_t>(got));
    if (got == 0) usleep(100);
  }
}

}  // namespace

Instant clock_now() {
  static const MonotonicClock clock;
  return clock.read();
}

std::vector<Packet*> receive(Port& port, size_t count) {
  std::vector<Packet*> all;
  read_into(all, port, [&] { return all.size() >= count; });
  return all;
}

std::vector<Packet*> receive_until(Port& port, const std::function<bool()>& is_over) {
  std::vector<Packet*> all;
  read_into(all, port, is_over);
  return all;
}

}  // namespace cw::test
