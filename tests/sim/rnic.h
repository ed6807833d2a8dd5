// The twin of an RNIC, over any port that moves bytes: it takes work requests and reads their
// payload a turn later, numbers queues and what it sends by them itself, has no queue at the first
// asking, places what comes where its packet says, and shows of that no more than a completion
// does. What connection managers tell each other it knows: control packets for a well-known number
// are for the queue that has its place.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/prng.h"
#include "dataplane/wan.h"

namespace cw::sim {

/// Thread: one. `wire` outlives it.
class Rnic final : public WanPort {
 public:
  /// Keys of windows are drawn from `seed`.
  Rnic(Port& wire, uint64_t seed);
  ~Rnic() override;
  Rnic(const Rnic&) = delete;
  Rnic& operator=(const Rnic&) = delete;

  const PortFacts& facts() const override { return facts_; }
  PortCounters counters() const override { return wire_.counters(); }
  size_t take_burst(std::span<Packet*> out) override { return wire_.take_burst(out); }
  void give_back(std::span<Packet* const> packets) override { wire_.give_back(packets); }
  void share(std::span<Packet* const> packets) override { wire_.share(packets); }
  bool is_shared(const Packet& packet) const override { return wire_.is_shared(packet); }
  Instant next_due() const override { return posted_.empty() ? wire_.next_due() : Instant(); }

  size_t receive(std::span<Arrival> out, Instant now) override;
  void end_arrivals() override;
  size_t send(std::span<const Send> sends, Instant now) override;
  size_t take_done(std::span<uint64_t> out) override;
  Window open_window(std::span<uint8_t> memory) override;
  void close_window(uint32_t key) override { windows_.erase(key); }
  bool try_open_queues(uint16_t peer, uint32_t first, std::span<uint32_t> numbers) override;
  bool try_connect_queues(uint16_t peer, uint32_t first,
                          std::span<const SendQueue> queues) override;
  void close_queues(uint16_t peer, uint32_t first) override;
  uint32_t control_queue(uint32_t ours) const override;

  /// Places what a packet brings; false where nobody hears of that.
  bool try_take(const Packet& packet, Arrival& arrival);

  /// From now on as a device that nobody has asked: control packets come at its own numbers only.
  void be_unasked() { hears_usual_ = false; }

  size_t window_count() const { return windows_.size(); }
  size_t queue_count() const { return queues_.size() + psns_.size(); }
  /// Writes that no window was open for.
  uint64_t refused_count() const { return refused_; }
  /// Packets for queues that there are not, of others than ours too, and by such.
  uint64_t stray_count() const { return strays_; }

 private:
  /// A queue pair's other end and the path that it takes.
  using Route = std::tuple<uint16_t, uint32_t, uint16_t>;
  /// Queues of an epoch, by peer and the first of our numbers.
  using Name = std::pair<uint16_t, uint32_t>;
  struct Queue {
    Name name;
    uint32_t ours = 0;
  };

  bool is_first_asking(Name name, size_t what);
  void transmit(Instant now);
  bool try_transmit(Send send, Instant now);
  bool try_place(Arrival& arrival);

  Port& wire_;
  PortFacts facts_;
  std::deque<Send> posted_;
  std::map<Route, Psn> psns_;  // of what is connected
  std::map<Name, std::vector<Route>> routes_;
  std::map<uint32_t, Queue> queues_;         // by their numbers on the wire
  std::set<std::pair<Name, size_t>> asked_;  // 0: to open, 1: to connect
  uint32_t number_next_;
  std::deque<uint64_t> done_;
  std::map<uint32_t, std::span<uint8_t>> windows_;  // by key
  Prng prng_;
  uint64_t refused_ = 0, strays_ = 0;
  bool hears_usual_ = true;
  std::array<Packet*, limits::burst_packets_max> arrived_{};  // datagrams, shown where they lie
  size_t arrived_count_ = 0;
};

}  // namespace cw::sim
