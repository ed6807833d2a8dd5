#include "dataplane/pass/copied.h"

#include <algorithm>

namespace cw::pass {

void Copied::release(const Send& send) {
  if (send.packet != nullptr) {
    packets_[packets_count_++] = send.packet;
  } else {
    cookies_[count_++] = send.cookie;
  }
}

void Copied::give_back(PortBase& port) {
  if (packets_count_ == 0) return;
  port.give_back({packets_.data(), packets_count_});
  packets_count_ = 0;
}

size_t Copied::take(std::span<uint64_t> out) {
  const size_t count = std::min(out.size(), count_);
  std::copy_n(cookies_.begin(), count, out.begin());
  std::copy(cookies_.begin() + count, cookies_.begin() + count_, cookies_.begin());
  count_ -= count;
  return count;
}

}  // namespace cw::pass
