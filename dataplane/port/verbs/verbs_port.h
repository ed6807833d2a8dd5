// The WAN port of an RNIC: work requests in place of bytes, over libibverbs.
//
//   data      UC queue pairs, one way each: of a link's epoch those at which its peer's writes
//             arrive, and those by which ours leave, one for each of the peer's numbers and path
//   control   a UD queue pair for each number of a link, for all peers
//   groups    one UD queue pair, for all members and multicast addresses (groups/)
//   windows   a registration for each message, whose end is the fence before late packets
//
//   out   queues/outgoing.h    rows of requests, and what the device holds
//   in    queues/incoming.h    completions of all receive queues
//   both  queues/epochs.h      which queues there are: what the turn hands to the keeper
//         keeper.h             a thread, for what takes the device its time
//
// The device chooses queue numbers, PSNs and, where it must, the UDP source port of control
// packets; it does not show path, ECN or DSCP of writes that arrive, and sends none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/result.h"
#include "dataplane/port/verbs/device/memory.h"
#include "dataplane/port/verbs/groups/group_queue.h"
#include "dataplane/port/verbs/groups/multicast.h"
#include "dataplane/port/verbs/keeper.h"
#include "dataplane/port/verbs/packet_store.h"
#include "dataplane/port/verbs/queues/epochs.h"
#include "dataplane/port/verbs/queues/incoming.h"
#include "dataplane/port/verbs/queues/outgoing.h"
#include "dataplane/port/verbs/verbs_options.h"
#include "dataplane/wan.h"

namespace cw {

/// Thread: one.
class VerbsPort final : public WanPort {
 public:
  /// Errors name the option and the value to change.
  static Result<std::unique_ptr<VerbsPort>> make(const VerbsPortOptions& options);
  ~VerbsPort() override;
  VerbsPort(const VerbsPort&) = delete;
  VerbsPort& operator=(const VerbsPort&) = delete;

  const PortFacts& facts() const override { return facts_; }
  PortCounters counters() const override;
  VerbsPortStatus status() const;

  size_t take_burst(std::span<Packet*> out) override;
  void give_back(std::span<Packet* const> packets) override;
  /// While the device has packets to read.
  Instant next_due() const override;

  size_t receive(std::span<Arrival> out, Instant now) override;
  void end_arrivals() override { incoming_->end_arrivals(); }
  size_t send(std::span<const Send> sends, Instant now) override;
  size_t take_done(std::span<uint64_t> out) override { return outgoing_->take_done(out); }

  Window open_window(std::span<uint8_t> memory) override { return windows_.open(memory); }
  void close_window(uint32_t key) override { windows_.close(key); }
  Result<void> register_memory(std::span<uint8_t> memory) override {
    return register_dmabuf(memory, {});
  }
  Result<void> register_dmabuf(std::span<uint8_t> memory, const Dmabuf& where) override;
  void forget_memory(std::span<uint8_t> memory) override { memory_.remove(memory); }
  bool try_open_queues(uint16_t peer, uint32_t first, std::span<uint32_t> numbers) override {
    return epochs_of_turn_->try_open(peer, first, numbers);
  }
  bool try_connect_queues(uint16_t peer, uint32_t first,
                          std::span<const SendQueue> queues) override {
    return epochs_of_turn_->try_connect(peer, first, queues);
  }
  void close_queues(uint16_t peer, uint32_t first) override { epochs_of_turn_->close(peer, first); }
  uint32_t control_queue(uint32_t ours) const override;

 private:
  VerbsPort(const VerbsPortOptions& options, std::unique_ptr<verbs::Device> device,
            verbs::Peers peers);
  void note_facts(const VerbsPortOptions& options);
  void choose_depth(const VerbsPortOptions& options);
  Result<void> make_completions();
  Result<void> register_packets();
  Result<void> make_controls();
  Result<void> make_groups(const VerbsPortOptions& options);
  uint32_t longest_frame() const;
  verbs::GroupCounts group_counts() const;
  std::string trouble() const;
  Result<void> begin(const VerbsPortOptions& options);

  PortFacts facts_;
  std::unique_ptr<verbs::Device> device_;
  verbs::Memory memory_;
  verbs::Windows windows_;
  verbs::PacketStore packets_;
  verbs::Peers peers_;
  verbs::Depth epoch_room_, depth_max_, group_depth_;
  size_t completions_max_ = 0;  // of each completion queue
  verbs::Channel channel_;
  verbs::CompletionQueue receives_, sends_;
  std::vector<verbs::ControlQueue> controls_;  // by the link's number, up to the highest
  std::array<uint32_t, limits::links_max + 1> control_numbers_{};
  std::optional<verbs::GroupQueue> groups_;
  std::unique_ptr<verbs::Multicast> multicast_;
  std::vector<verbs::Epoch> epochs_;
  verbs::SenderIndex index_;
  std::unique_ptr<verbs::Outgoing> outgoing_;
  std::unique_ptr<verbs::Incoming> incoming_;
  std::unique_ptr<verbs::Keeper> keeper_;  // ends before what it works on
  std::unique_ptr<verbs::Epochs> epochs_of_turn_;
  bool has_broken_ = false;
  Instant polled_;
};

}  // namespace cw
