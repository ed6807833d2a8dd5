// RDMA devices in this process's memory, in place of libibverbs and librdmacm: a program that links
// this has their functions from here. What soft-RoCE does, they do, as far as the port of RNICs
// relies on it (tests/rdma/soft_roce.md): a packet crosses within the call that posts it.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cw::stand_in {

/// A packet on its way, as the wire would show it.
struct Crossing {
  std::string from, to;  ///< addresses
  uint32_t target_qp = 0, source_qp = 0;
  uint16_t source_port = 0;
  bool is_write = false;
  ibv_send_wr request{};  ///< without its pieces
  std::vector<uint8_t> payload;
};

/// All devices and what is between them. Thread: any; hooks run within calls of the port's.
class Fabric {
 public:
  static Fabric& the();

  /// No devices, no hooks, nothing counted. Nothing of them is open any more.
  void reset();
  void add_device(const std::string& name, const std::string& address, ibv_mtu mtu);
  /// Whether a packet arrives; without, all do.
  void set_filter(std::function<bool(const Crossing&)> filter);
  /// What the filter kept back arrives after all.
  void deliver(const Crossing& crossing);

  void remove_address(const std::string& address);
  void restore_address(const std::string& address);
  void set_port(const std::string& device, bool is_up);
  /// The device says that it is lost, to whoever has it open; true: somebody has.
  bool lose_device(const std::string& device);
  /// The queue pair is in state ERR from now on; false: there is none.
  bool break_queue(const std::string& device, uint32_t number);
  /// No request that is posted to it is read any more, until it is in state ERR.
  bool stall_queue(const std::string& device, uint32_t number);
  /// Numbers of a device's queue pairs that are ready to send, or only to receive.
  std::vector<uint32_t> queues(const std::string& device, ibv_qp_type type, bool sends) const;
  /// Calls that make queue pairs fail.
  void refuse_queues(bool are_refused);
  /// Nobody answers rdma_cm.
  void silence_contacts(bool are_silent);

  /// Devices take dmabufs; at first they do not, as soft-RoCE.
  void accept_dmabufs(bool are_accepted);

  // Multicast: of soft-RoCE, at first.
  void limit_groups(int most);  ///< that a device hears
  void refuse_attachments(bool are_refused);
  void keep_own_back(bool is_kept);  ///< what a pair multicasts, where it asks for that
  size_t attachments() const;        ///< of queue pairs to groups

  size_t registrations() const;
  size_t dmabuf_registrations() const;  ///< of those
  size_t queue_count() const;
  uint64_t posts() const;    ///< calls of ibv_post_send
  uint64_t dropped() const;  ///< packets that nobody took: no queue, request, key or room
};

}  // namespace cw::stand_in
