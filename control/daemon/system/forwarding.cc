#include "control/daemon/system/forwarding.h"

#include <fstream>

namespace cw::daemon {

bool is_forwarding() {
  std::ifstream file("/proc/sys/net/ipv4/ip_forward");
  int value = 1;
  file >> value;
  return value != 0;
}

}  // namespace cw::daemon
