// A LAN port of a few packets, some of which may be under way for a while.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/gateway/order/release.h"
#include "dataplane/port.h"
#include "tests/unit/gateway/slots.h"

namespace cw::gateway::test {

class LanPort final : public Port {
 public:
  LanPort(size_t packets, uint32_t mtu) : memory_(packets, ByteRow(mtu)), packets_(packets) {
    facts_.name = "test";
    facts_.payload_max = mtu;
    for (size_t i = 0; i < packets; ++i) {
      packets_[i].data = memory_[i].data();
      packets_[i].bytes_max = mtu;
      free_.push_back(&packets_[i]);
    }
  }
  /// So many packets are not to be had.
  void lock(size_t count) { locked_ = count; }
  size_t free_count() const { return free_.size(); }

  /// Everything that leaves now.
  std::vector<ByteRow> drain(Release& release, Instant now) {
    std::vector<ByteRow> out;
    std::array<Packet*, 4> burst;
    while (const size_t count = release.collect(burst, now)) {
      for (size_t i = 0; i < count; ++i) {
        out.emplace_back(burst[i]->data, burst[i]->data + burst[i]->bytes);
      }
      give_back({burst.data(), count});
    }
    return out;
  }

  const PortFacts& facts() const override { return facts_; }
  PortCounters counters() const override { return {}; }
  size_t rx_burst(std::span<Packet*>, Instant) override { return 0; }
  size_t tx_burst(std::span<Packet* const> packets, Instant) override {
    give_back(packets);
    return packets.size();
  }
  size_t take_burst(std::span<Packet*> out) override {
    size_t count = 0;
    while (count < out.size() && free_.size() > locked_) {
      out[count++] = free_.back();
      free_.pop_back();
    }
    return count;
  }
  void give_back(std::span<Packet* const> packets) override {
    for (Packet* packet : packets) free_.push_back(packet);
    CW_ASSERT(free_.size() <= packets_.size());
  }

 private:
  PortFacts facts_;
  std::vector<ByteRow> memory_;
  std::vector<Packet> packets_;
  std::vector<Packet*> free_;
  size_t locked_ = 0;
};

}  // namespace cw::gateway::test
