// Makes, connects, mends and destroys queues, which takes the device its time and may wait for a
// neighbour's address; hears what the device tells; and keeps contact with peers. So no turn does.
//
// Turn and keeper share epochs (queues/epoch.h), control queues and peers by atomics; who wants
// something of the keeper wakes it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "dataplane/base/result.h"
#include "dataplane/port/verbs/contacts.h"
#include "dataplane/port/verbs/device/device.h"
#include "dataplane/port/verbs/device/queue_pair.h"
#include "dataplane/port/verbs/groups/group_queue.h"
#include "dataplane/port/verbs/groups/multicast.h"
#include "dataplane/port/verbs/peers.h"
#include "dataplane/port/verbs/queues/control_queue.h"
#include "dataplane/port/verbs/queues/epoch.h"
#include "dataplane/port/verbs/verbs_options.h"

namespace cw::verbs {

/// What the keeper works on; all of it outlives it.
struct KeeperRooms {
  const Device& device;
  ibv_cq& sends;
  ibv_cq& receives;
  std::span<Epoch> epochs;
  std::span<ControlQueue> controls;
  GroupQueue* groups = nullptr;  ///< null: there are none, and no multicast
  Multicast* multicast = nullptr;
  Peers& peers;
  Depth epoch_room;  ///< requests that the data queues of an epoch may hold together, each way
  Depth depth_max;   ///< of each of them
  uint16_t source_port = rnic_source_port_min, paths = 1;
  std::span<const uint32_t> control_numbers;  ///< by link, and that of groups; 0: there is none
};

/// Only grow.
struct KeeperCounts {
  std::atomic<uint64_t> made{0}, mended{0};
  std::atomic<uint64_t> port_downs{0}, address_changes{0}, overruns{0}, fatal{0};
  std::atomic<uint64_t> contacts_asked{0}, contacts_answered{0};
};

/// Thread: its own; what is public here, any.
class Keeper {
 public:
  /// Errors: no descriptor, and those of Contacts.
  static Result<std::unique_ptr<Keeper>> make(const KeeperRooms& rooms);
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// There is something to do. One system call.
  void wake() const;
  const KeeperCounts& counts() const { return counts_; }
  /// Every queue has lost its way: the turn is to give all of them to be mended. True once.
  bool take_lost_ways() {
    return has_lost_ways_.load(std::memory_order_relaxed) &&
           has_lost_ways_.exchange(false, std::memory_order_acq_rel);
  }
  bool is_port_up() const { return is_port_up_.load(std::memory_order_relaxed); }
  bool has_address() const { return has_address_.load(std::memory_order_relaxed); }
  /// What failed last, for a person; empty: nothing.
  std::string trouble() const;

 private:
  explicit Keeper(const KeeperRooms& rooms) : rooms_(rooms) {}

  void run();
  void wait(bool has_failed) const;
  void take_events();
  void on_event(ibv_event_type type);
  void on_addresses();
  bool look_at(Epoch& epoch);
  Result<void> open(Epoch& epoch);
  static Result<uint32_t> depth_of(uint32_t room, size_t queues, uint32_t most);
  Result<void> connect(Epoch& epoch);
  static void close(Epoch& epoch);
  bool mend(Epoch& epoch);
  Result<void> mend(const Epoch& epoch, Receiver& receiver);
  Result<void> mend(const Epoch& epoch, Sender& sender, const SendQueue& way);
  Result<void> mend(ControlQueue& control);
  bool look_at_groups();
  Result<void> mend(GroupQueue& groups);
  /// Of a pair that receives, too, once it is begun anew.
  void end_mending(Sender& sender);
  Result<ibv_ah_attr> way_to(uint16_t peer, uint16_t path) const;
  uint16_t source_port_of(uint16_t peer, uint16_t path) const;
  ibv_mtu path_mtu() const { return path_mtu_of(rooms_.device.payload_max()); }
  Result<void> receive_at(const Epoch& epoch, Receiver& receiver);
  uint16_t next_life() { return ++life_; }
  void begin_life(uint64_t& tag);
  /// Keeps the sentence, if there is one; returns whether it went well.
  bool note(const Result<void>& done);

  KeeperRooms rooms_;
  KeeperCounts counts_;
  int bell_ = -1;
  std::unique_ptr<Contacts> contacts_;
  std::optional<uint8_t> gid_index_;  // as last seen
  ReceiveRow row_;
  uint16_t life_ = 0;
  std::atomic<bool> is_over_{false}, has_lost_ways_{false}, is_port_up_{true}, has_address_{true};
  mutable std::mutex trouble_lock_;
  std::string trouble_;
  std::thread thread_;
};

}  // namespace cw::verbs
