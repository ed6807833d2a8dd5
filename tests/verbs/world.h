// What the stand-ins of both libraries share: objects as the port sees them, with what is behind.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/verbs/stand_in.h"

namespace cw::stand_in {

inline constexpr int cqe_max = 32767;

struct Device : ibv_device {
  std::string label, address;
  ibv_gid gid{};
  ibv_mtu mtu = IBV_MTU_1024;
  bool is_up = true, has_address = true;
  uint32_t qp_next = 17;
};

struct Context : verbs_context {
  Device* of = nullptr;
  std::deque<ibv_event_type> events;
};
/// That of these devices which programs know as `context`.
Context& context_of(ibv_context* context);

struct Channel : ibv_comp_channel {
  std::deque<ibv_cq*> told;
};

struct Cq : ibv_cq {
  std::deque<ibv_wc> entries;
  size_t most = 0;
  bool is_armed = false;
};

struct Mr : ibv_mr {
  int access = 0;
  bool is_dmabuf = false;
};

struct Ah : ibv_ah {
  ibv_ah_attr way{};
};

/// A receive request.
struct Request {
  uint64_t id = 0;
  std::array<ibv_sge, 2> pieces{};
  size_t piece_count = 0;
};

struct Qp : ibv_qp {
  Context* at = nullptr;
  ibv_qp_attr attributes{};
  ibv_qp_cap room{};
  std::deque<Request> receives;
  std::deque<ibv_send_wr> unread;  // of a stalled one
  bool is_stalled = false, keeps_own_back = false;
};

/// A queue pair hears a multicast address.
struct Attachment {
  ibv_gid gid{};
  Qp* queue = nullptr;
};

struct World {
  std::recursive_mutex lock;
  std::vector<std::unique_ptr<Device>> devices;
  std::set<Context*> contexts;
  std::map<uint32_t, Mr*> registrations;  // by key
  std::set<Qp*> queues;
  std::vector<Attachment> attachments;
  int groups_max = 8192;  // that a device hears
  std::function<bool(const Crossing&)> filter;
  uint32_t key_next = 0x100;
  uint64_t posts = 0, dropped = 0;
  bool refuses_queues = false, is_silent = false, takes_dmabufs = false;
  bool refuses_attachments = false, keeps_own_back = false;
};

/// All there is; whoever looks holds its lock.
World& world();
using Lock = std::lock_guard<std::recursive_mutex>;

ibv_gid gid_of(const std::string& address);
bool are_same(const ibv_gid& a, const ibv_gid& b);
/// Null: nobody has this address.
Device* device_at(const ibv_gid& gid);
/// Makes an eventfd readable.
void ring(int bell);
/// What is posted is flushed.
void begin_error(Qp& qp);

// What contexts of these devices call.
int post_send(ibv_qp* pair, ibv_send_wr* first, ibv_send_wr** refused);
int post_recv(ibv_qp* pair, ibv_recv_wr* first, ibv_recv_wr** refused);
int poll_cq(ibv_cq* queue, int most, ibv_wc* out);
int req_notify_cq(ibv_cq* queue, int solicited_only);

}  // namespace cw::stand_in
