// The WAN door over any port that moves bytes: sockets, DPDK, the simulator's wire.
//
//   Send    -> in place, where its payload lies in a packet that nobody else sends
//           -> by reference, where it lies outside and the port below gathers
//           -> a copy in a packet of its own otherwise
//   Arrival <- read from the packets below
//
// With a sealer every packet that is sealed is a copy: the plain one may be sent again. What comes
// is opened where it lies, before anybody sees it: that proves more than an ICRC, which only other
// packets are asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/pass/copied.h"
#include "dataplane/port.h"
#include "dataplane/seal/sealer.h"
#include "dataplane/wan.h"

namespace cw {

/// Thread: one.
class RawPort final : public WanPort {
 public:
  /// `wire` outlives it, as does the sealer; null: packets are as they are.
  explicit RawPort(Port& wire, seal::Sealer* sealer = nullptr);
  /// Gives back what the port below has not taken; nobody hears of what that holds.
  ~RawPort() override;
  RawPort(const RawPort&) = delete;
  RawPort& operator=(const RawPort&) = delete;

  const PortFacts& facts() const override { return facts_; }
  PortCounters counters() const override { return wire_.counters(); }
  size_t take_burst(std::span<Packet*> out) override { return wire_.take_burst(out); }
  void give_back(std::span<Packet* const> packets) override { wire_.give_back(packets); }
  void share(std::span<Packet* const> packets) override { wire_.share(packets); }
  bool is_shared(const Packet& packet) const override { return wire_.is_shared(packet); }
  Instant next_due() const override;

  /// Shows it every packet, once, from here on; null: nobody. It outlives its being set.
  void set_tap(PacketTap* tap) { tap_ = tap; }

  size_t receive(std::span<Arrival> out, Instant now) override;
  void end_arrivals() override;
  /// Stops where packets for copies run out. What the port below has no room for waits here, and
  /// nothing is taken behind it.
  size_t send(std::span<const Send> sends, Instant now) override;
  size_t take_done(std::span<uint64_t> out) override;

 private:
  bool try_open(const Packet& packet, Arrival& arrival);
  bool try_flush(Instant now);
  void take_empty(std::span<const Send> sends);
  bool is_sealed(const Send& send) const { return sealer_ != nullptr && sealer_->seals(send.form); }
  bool needs_packet(const Send& send) const;
  bool try_make(const Send& send);
  bool try_make_sealed(const Send& send);
  void say_own(Instant now);
  void make_own(const Send& send, bool is_sealed);

  Port& wire_;
  seal::Sealer* const sealer_;
  const PortFacts facts_;
  PacketTap* tap_ = nullptr;
  std::array<Packet*, limits::burst_packets_max> arrived_{};
  size_t arrived_count_ = 0;
  std::array<Packet*, limits::burst_packets_max> empty_{};  // to be written, while in send()
  size_t empty_count_ = 0;
  std::array<Packet*, limits::burst_packets_max> made_{};  // and not yet taken below
  size_t made_first_ = 0, made_count_ = 0;
  pass::Copied copied_;
};

}  // namespace cw
