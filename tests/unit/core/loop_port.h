// An in-memory port whose transmit side is its receive side: what a worker sends comes back to it.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "dataplane/base/memory/pool.h"
#include "dataplane/base/memory/ring.h"
#include "dataplane/port.h"

namespace cw {

class LoopPort final : public Port {
 public:
  static constexpr uint32_t buffer_bytes = 256;

  explicit LoopPort(size_t packets = 256, int wait_fd = -1, bool gathers = false)
      : pool_(packets), wire_(packets), buffers_(new uint8_t[packets * buffer_bytes]()) {
    facts_.name = "loop";
    facts_.wait_fd = wait_fd;
    facts_.external_payload = gathers;
  }

  /// How many packets one tx_burst() takes at most.
  size_t tx_packets_max = SIZE_MAX;
  size_t lent_count() const { return pool_.lent_count(); }

  const PortFacts& facts() const override { return facts_; }
  PortCounters counters() const override { return {}; }
  size_t rx_burst(std::span<Packet*> out, Instant now) override {
    size_t count = 0;
    while (count < out.size() && !wire_.is_empty()) {
      out[count] = wire_.pop();
      out[count]->is_icrc_due = leaves_icrcs_;
      out[count++]->at = now;
    }
    return count;
  }
  size_t tx_burst(std::span<Packet* const> packets, Instant) override {
    const size_t taken = std::min(packets.size(), tx_packets_max);
    for (size_t i = 0; i < taken; ++i) CW_ASSERT(wire_.try_push(packets[i]));
    return taken;
  }
  size_t take_burst(std::span<Packet*> out) override {
    size_t count = 0;
    for (; count < out.size(); ++count) {
      Packet* packet = pool_.try_take();
      if (packet == nullptr) break;
      packet->data = &buffers_[pool_.index_of(packet) * buffer_bytes];
      packet->bytes_max = buffer_bytes;
      packet->bytes = 0;
      out[count] = packet;
    }
    return count;
  }
  void leave_icrcs() override { leaves_icrcs_ = true; }
  bool is_icrc_right(const Packet&) override {
    ++icrcs_asked;
    return are_icrcs_right;
  }
  bool are_icrcs_right = true;
  size_t icrcs_asked = 0;
  size_t take_done(std::span<uint64_t> out) override {
    const size_t count = std::min(out.size(), done.size());
    std::copy_n(done.begin(), count, out.begin());
    done.erase(done.begin(), done.begin() + static_cast<ptrdiff_t>(count));
    return count;
  }
  std::vector<uint64_t> done;  ///< to be told
  Instant next_due() const override { return due; }
  Instant due = Instant::never();
  void give_back(std::span<Packet* const> packets) override {
    for (Packet* packet : packets) {
      if (!try_leave(*packet)) pool_.give_back(packet);
    }
  }

 private:
  PortFacts facts_;
  bool leaves_icrcs_ = false;
  Pool<Packet> pool_;
  Ring<Packet*> wire_;
  std::unique_ptr<uint8_t[]> buffers_;
};

}  // namespace cw
