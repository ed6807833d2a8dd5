#include "dataplane/pass/copied.h"

#include <algorithm>

namespace cw::pass {

void Copied::release(const Send& send, PortBase& port) {
  if (send.packet != nullptr) {
    port.give_back({&send.packet, 1});
  } else {
    cookies_[count_++] = send.cookie;
  }
}

size_t Copied::take(std::span<uint64_t> out) {
  const size_t count = std::min(out.size(), count_);
  std::copy_n(cookies_.begin(), count, out.begin());
  std::copy(cookies_.begin() + count, cookies_.begin() + count_, cookies_.begin());
  count_ -= count;
  return count;
}

}  // namespace cw::pass
