// Ports in memory, for what cores do by themselves: hosts that never end, a wire, and hosts that
// take everything. A packet is copied once by whoever sends it and once by whoever receives it, as
// drivers of wires in software do.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"
#include "dataplane/port.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace cw::bench {

/// Thread: that of the shard it is of.
class MemoryPort : public Port {
 public:
  static constexpr size_t room_bytes = 2048;

  MemoryPort(const char* name, size_t packets, uint32_t payload_max)
      : packets_(packets), bytes_(new uint8_t[packets * room_bytes]()) {
    facts_.name = name;
    facts_.payload_max = payload_max;
    facts_.packets = packets;
    facts_.icrc = IcrcMode::None;
    for (size_t i = packets; i-- > 0;) free_.push_back(&packets_[i]);
  }

  const PortFacts& facts() const override { return facts_; }
  PortCounters counters() const override { return counters_; }
  size_t take_burst(std::span<Packet*> out) override {
    const size_t count = std::min(out.size(), free_.size());
    for (Packet*& packet : out.first(count)) {
      packet = free_.back();
      free_.pop_back();
      const size_t place = static_cast<size_t>(packet - packets_.data());
      *packet = {};
      packet->data = &bytes_[place * room_bytes + limits::headers_bytes_max];
      packet->bytes_max = room_bytes - limits::headers_bytes_max - limits::trailer_bytes_max;
    }
    return count;
  }
  void give_back(std::span<Packet* const> packets) override {
    for (Packet* packet : packets) {
      if (!try_leave(*packet)) free_.push_back(packet);
    }
  }
  size_t rx_burst(std::span<Packet*>, Instant) override { return 0; }
  size_t tx_burst(std::span<Packet* const> packets, Instant) override {
    sent(packets);
    return packets.size();
  }

 protected:
  void sent(std::span<Packet* const> packets) {
    for (const Packet* packet : packets) counters_.tx_bytes += packet->bytes;
    counters_.tx_packets += packets.size();
    give_back(packets);
  }

  PortFacts facts_;
  PortCounters counters_;

 private:
  std::vector<Packet> packets_;
  std::unique_ptr<uint8_t[]> bytes_;
  std::vector<Packet*> free_;
};

/// Hosts 10.1.0.0/16 that send frames of one length to 10.2.0.0/16, in 64 flows, as fast as they
/// are taken; what comes for them is thrown away.
class EndlessHosts final : public MemoryPort {
 public:
  EndlessHosts(uint32_t frame_bytes, uint8_t number)
      : MemoryPort("memory", 4096, 1500), frame_(frame_bytes) {
    using namespace ip_layout;
    frame_[0] = 0x45;
    store16(&frame_[v4::total_length], frame_bytes);
    frame_[v4::ttl] = 64;
    frame_[v4::protocol] = protocol_udp;
    const uint8_t ends[] = {10, 1, number, 2, 10, 2, number, 2};
    std::ranges::copy(ends, &frame_[v4::addresses]);
    store16(&frame_[v4::bytes + udp::length], frame_bytes - v4::bytes);
  }

  size_t rx_burst(std::span<Packet*> out, Instant now) override {
    using namespace ip_layout;
    const size_t count = take_burst(out);
    for (Packet* packet : out.first(count)) {
      store16(&frame_[v4::bytes], 1024 + ++flow_ % 64);  // source port
      finish_header();
      std::memcpy(packet->data, frame_.data(), frame_.size());
      packet->bytes = static_cast<uint32_t>(frame_.size());
      packet->at = now;
    }
    counters_.rx_packets += count;
    counters_.rx_bytes += count * frame_.size();
    return count;
  }

 private:
  void finish_header() {
    using namespace ip_layout;
    store16(&frame_[v4::checksum], 0);
    uint32_t sum = 0;
    for (size_t i = 0; i < v4::bytes; i += 2) sum += load<be16>(&frame_[i]);
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    store16(&frame_[v4::checksum], static_cast<uint16_t>(~sum));
  }

  std::vector<uint8_t> frame_;
  unsigned flow_ = 0;
};

/// Both ends of a wire between two shards that one thread turns: what is sent is there at once, in
/// rings of so many packets each way.
class MemoryWire {
 public:
  class End final : public MemoryPort {
   public:
    using MemoryPort::MemoryPort;
    size_t rx_burst(std::span<Packet*> out, Instant now) override {
      const size_t count = take_burst(out.first(std::min(out.size(), in_->count())));
      for (Packet* packet : out.first(count)) {
        const auto bytes = in_->front();
        std::memcpy(packet->data, bytes.data(), bytes.size());
        packet->bytes = static_cast<uint32_t>(bytes.size());
        packet->at = now;
        counters_.rx_bytes += bytes.size();
        in_->drop_front();
      }
      counters_.rx_packets += count;
      return count;
    }
    size_t tx_burst(std::span<Packet* const> packets, Instant) override {
      const size_t count = std::min(packets.size(), out_->room());
      for (const Packet* packet : packets.first(count)) {
        CW_ASSERT(packet->payload == nullptr);
        out_->push({packet->data, packet->bytes});
      }
      sent(packets.first(count));
      counters_.tx_refused += packets.size() - count;
      return count;
    }

   private:
    friend class MemoryWire;
    class Way {
     public:
      static constexpr size_t packets_max = 256;
      size_t count() const { return tail_ - head_; }
      size_t room() const { return packets_max - count(); }
      void push(std::span<const uint8_t> bytes) {
        Slot& slot = slots_[tail_++ % packets_max];
        slot.bytes = bytes.size();
        std::memcpy(slot.data.data(), bytes.data(), bytes.size());
      }
      std::span<const uint8_t> front() const {
        const Slot& slot = slots_[head_ % packets_max];
        return {slot.data.data(), slot.bytes};
      }
      void drop_front() { ++head_; }

     private:
      struct Slot {
        size_t bytes = 0;
        std::array<uint8_t, room_bytes> data;
      };
      size_t head_ = 0, tail_ = 0;
      std::vector<Slot> slots_{packets_max};
    };

    std::shared_ptr<Way> in_, out_;
  };

  /// Ports of `packets` each that carry payloads of so many bytes.
  MemoryWire(size_t packets, uint32_t payload_max)
      : a(std::make_unique<End>("memory", packets, payload_max)),
        b(std::make_unique<End>("memory", packets, payload_max)) {
    a->out_ = b->in_ = std::make_shared<End::Way>();
    b->out_ = a->in_ = std::make_shared<End::Way>();
  }

  std::unique_ptr<End> a, b;  ///< for the shards to take
};

}  // namespace cw::bench
