// A port whose arrivals can be shut off: what comes then stays where it is, in the kernel. This is
// how a gateway stops taking packets from its hosts and goes on with those that it has, and how its
// next life leaves them there until it can send them.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "dataplane/port.h"

namespace cw::site {

/// Thread: the inner port's. Cost: one comparison per burst.
class Valve final : public Port {
 public:
  /// More than the queue of a device holds, its joined packets taken apart: however fast packets go
  /// on coming, this many are behind all that were there.
  static constexpr size_t behind_max = 32'768;

  /// `inner` outlives the valve.
  explicit Valve(Port& inner) : inner_(inner) {}

  /// Shows it every packet that is let in or taken out, from here on; null: nobody.
  void set_tap(PacketTap* tap) { tap_ = tap; }

  /// Nothing is let in until `may_open`, or until `latest`. Before the first burst.
  void open_when(std::function<bool()> may_open, Instant latest) {
    may_open_ = std::move(may_open);
    latest_ = latest;
    is_shut_ = true;
  }
  /// Shuts behind the packets that are waiting now: hosts have sent them before.
  void shut() {
    is_closing_ = true;
    may_open_ = nullptr;
  }
  bool is_shut() const { return is_shut_; }

  const PortFacts& facts() const override { return inner_.facts(); }
  PortCounters counters() const override { return inner_.counters(); }
  size_t rx_burst(std::span<Packet*> out, Instant now) override {
    // It may have more to do than to receive.
    if (is_shut_ && !try_open(now)) return inner_.rx_burst({}, now);
    const size_t count = inner_.rx_burst(out, now);
    if (tap_ != nullptr) tap_->saw(out.first(count), /*is_outward=*/false, now);
    if (is_closing_) {
      left_ -= std::min(left_, count);
      is_shut_ = count < out.size() || left_ == 0;
    }
    return count;
  }
  size_t tx_burst(std::span<Packet* const> packets, Instant now) override {
    if (tap_ != nullptr) tap_->saw(packets.subspan(refused_), /*is_outward=*/true, now);
    const size_t taken = inner_.tx_burst(packets, now);
    refused_ = packets.size() - taken;
    return taken;
  }
  size_t take_burst(std::span<Packet*> out) override { return inner_.take_burst(out); }
  void give_back(std::span<Packet* const> packets) override { inner_.give_back(packets); }
  Instant next_due() const override { return inner_.next_due(); }

 private:
  bool try_open(Instant now) {
    if (may_open_ == nullptr || (now < latest_ && !may_open_())) return false;
    may_open_ = nullptr;
    is_shut_ = false;
    return true;
  }

  Port& inner_;
  PacketTap* tap_ = nullptr;
  size_t refused_ = 0;  // of the last burst: they come again, before others
  bool is_closing_ = false, is_shut_ = false;
  size_t left_ = behind_max;
  std::function<bool()> may_open_;  // null: nobody waits for it
  Instant latest_;
};

}  // namespace cw::site
