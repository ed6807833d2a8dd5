// Seals over a port that posts, as RawPort does over one that moves bytes (SPEC.md 19).
//
//   Send    -> a sealed copy in a packet of the port's, which is posted in its place
//   Arrival <- a datagram is opened where it lies
//              a write has landed in a window of ours before anybody could check it, and whoever
//              can may write there again: it is read from there once, and opened where nobody else
//              writes (try_open_landed()); from there it goes to whom it is for
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/pass/copied.h"
#include "dataplane/seal/sealer.h"
#include "dataplane/wan.h"

namespace cw {

/// Thread: one.
class SealedPort final : public WanPort {
 public:
  /// Both outlive it.
  SealedPort(WanPort& device, seal::Sealer& sealer);
  /// Gives back what the device has not taken; nobody hears of what that held.
  ~SealedPort() override;
  SealedPort(const SealedPort&) = delete;
  SealedPort& operator=(const SealedPort&) = delete;

  const PortFacts& facts() const override { return facts_; }
  PortCounters counters() const override { return device_.counters(); }
  size_t take_burst(std::span<Packet*> out) override { return device_.take_burst(out); }
  void give_back(std::span<Packet* const> packets) override { device_.give_back(packets); }
  void share(std::span<Packet* const> packets) override { device_.share(packets); }
  bool is_shared(const Packet& packet) const override { return device_.is_shared(packet); }
  Instant next_due() const override;

  size_t receive(std::span<Arrival> out, Instant now) override;
  void end_arrivals() override { device_.end_arrivals(); }
  /// Stops where packets for copies run out. What the device has no room for waits here, and
  /// nothing is taken behind it.
  size_t send(std::span<const Send> sends, Instant now) override;
  size_t take_done(std::span<uint64_t> out) override;
  bool try_open_landed(Arrival& arrival) override;

  Window open_window(std::span<uint8_t> memory) override { return device_.open_window(memory); }
  void close_window(uint32_t key) override { device_.close_window(key); }
  Result<void> register_memory(std::span<uint8_t> memory) override {
    return device_.register_memory(memory);
  }
  Result<void> register_dmabuf(std::span<uint8_t> memory, const Dmabuf& where) override {
    return device_.register_dmabuf(memory, where);
  }
  void forget_memory(std::span<uint8_t> memory) override { device_.forget_memory(memory); }
  bool try_open_queues(uint16_t peer, uint32_t first, std::span<uint32_t> numbers) override {
    return device_.try_open_queues(peer, first, numbers);
  }
  bool try_connect_queues(uint16_t peer, uint32_t first,
                          std::span<const SendQueue> queues) override {
    return device_.try_connect_queues(peer, first, queues);
  }
  void close_queues(uint16_t peer, uint32_t first) override { device_.close_queues(peer, first); }
  uint32_t control_queue(uint32_t ours) const override { return device_.control_queue(ours); }

 private:
  bool try_flush(Instant now);
  bool try_make(const Send& send);
  bool try_seal(const Send& send, Packet* packet);
  Send& put(const Send& send, Packet* packet);
  void say_own(Instant now);

  WanPort& device_;
  seal::Sealer& sealer_;
  PortFacts facts_;
  std::array<Send, limits::burst_packets_max> made_{};  // not yet taken by the device
  size_t made_first_ = 0, made_count_ = 0;
  pass::Copied copied_;
  std::unique_ptr<uint8_t[]> opening_;  // what has landed, while it is opened
};

}  // namespace cw
