#include "tests/verbs/stand_in.h"

#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>

namespace cw::stand_in {
namespace {

constexpr int cqe_max = 32767;

struct Device : ibv_device {
  std::string label, address;
  ibv_gid gid{};
  ibv_mtu mtu = IBV_MTU_1024;
  bool is_up = true, has_address = true;
  uint32_t qp_next = 17;
};

struct Context : ibv_context {
  Device* of = nullptr;
  std::deque<ibv_event_type> events;
  int event_bell = -1;
};

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
};

struct Ah : ibv_ah {
  ibv_ah_attr way{};
};

struct Qp : ibv_qp {
  Context* at = nullptr;
  ibv_qp_attr attributes{};
  ibv_qp_cap room{};
  std::deque<std::pair<uint64_t, ibv_sge>> receives;
  std::deque<ibv_send_wr> unread;  // of a stalled one
  bool is_stalled = false;
};

struct World {
  std::recursive_mutex lock;
  std::vector<std::unique_ptr<Device>> devices;
  std::set<Context*> contexts;
  std::map<uint32_t, Mr*> registrations;  // by key
  std::set<Qp*> queues;
  std::function<bool(const Crossing&)> filter;
  uint32_t key_next = 0x100;
  uint64_t posts = 0, dropped = 0;
  bool refuses_queues = false, is_silent = false;
};

World& world() {
  static World it;
  return it;
}

using Lock = std::lock_guard<std::recursive_mutex>;

ibv_gid gid_of(const std::string& address) {
  ibv_gid gid{};
  if (inet_pton(AF_INET6, address.c_str(), gid.raw) == 1) return gid;
  gid.raw[10] = gid.raw[11] = 0xff;
  inet_pton(AF_INET, address.c_str(), &gid.raw[12]);
  return gid;
}

bool are_same(const ibv_gid& a, const ibv_gid& b) {
  return std::memcmp(a.raw, b.raw, sizeof a.raw) == 0;
}

Device* device_at(const ibv_gid& gid) {
  for (const auto& each : world().devices) {
    if (each->has_address && are_same(each->gid, gid)) return each.get();
  }
  return nullptr;
}

void ring(int bell) {
  const uint64_t one = 1;
  (void)!write(bell, &one, sizeof one);
}

void tell(const Device& device, ibv_event_type type) {
  for (Context* each : world().contexts) {
    if (each->of != &device) continue;
    each->events.push_back(type);
    ring(each->async_fd);
  }
}

void complete(ibv_cq* queue, const ibv_wc& entry) {
  Cq& it = *static_cast<Cq*>(queue);
  if (it.entries.size() == it.most) {
    static_cast<Context*>(it.context)->events.push_back(IBV_EVENT_CQ_ERR);
    return;
  }
  it.entries.push_back(entry);
  if (!it.is_armed || it.channel == nullptr) return;
  it.is_armed = false;
  static_cast<Channel*>(it.channel)->told.push_back(queue);
  ring(it.channel->fd);
}

void begin_error(Qp& qp) {
  qp.state = IBV_QPS_ERR;
  for (const auto& [id, piece] : qp.receives) {
    complete(qp.recv_cq, {.wr_id = id, .status = IBV_WC_WR_FLUSH_ERR, .qp_num = qp.qp_num});
  }
  qp.receives.clear();
  for (const ibv_send_wr& each : qp.unread) {
    complete(qp.send_cq, {.wr_id = each.wr_id, .status = IBV_WC_WR_FLUSH_ERR, .qp_num = qp.qp_num});
  }
  qp.unread.clear();
  qp.is_stalled = false;
}

uint8_t* memory_at(uint32_t key, uint64_t address, size_t bytes, int access) {
  const auto found = world().registrations.find(key);
  if (found == world().registrations.end()) return nullptr;
  const Mr& mr = *found->second;
  const uint64_t offset = address - reinterpret_cast<uintptr_t>(mr.addr);
  const bool is_in = offset <= mr.length && bytes <= mr.length - offset;
  return is_in && (mr.access & access) == access ? static_cast<uint8_t*>(mr.addr) + offset
                                                 : nullptr;
}

Qp* find_queue(const Crossing& crossing, const Device& device) {
  for (Qp* each : world().queues) {
    if (each->at->of == &device && each->qp_num == crossing.target_qp) return each;
  }
  return nullptr;
}

bool try_write(Qp& qp, const Crossing& crossing, ibv_wc& entry) {
  const auto& payload = crossing.payload;
  const auto& rdma = crossing.request.wr.rdma;
  uint8_t* const to = payload.empty() ? nullptr
                                      : memory_at(rdma.rkey, rdma.remote_addr, payload.size(),
                                                  IBV_ACCESS_REMOTE_WRITE);
  if (!payload.empty() && to == nullptr) return false;
  if (!payload.empty()) std::memcpy(to, payload.data(), payload.size());
  entry.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
  entry.wc_flags = IBV_WC_WITH_IMM;
  entry.imm_data = crossing.request.imm_data;
  entry.byte_len = static_cast<uint32_t>(payload.size());
  (void)qp;
  return true;
}

/// Behind forty bytes that hold the IP header.
bool try_receive(Qp& qp, const Crossing& crossing, ibv_wc& entry) {
  const ibv_sge& piece = qp.receives.front().second;
  const size_t bytes = crossing.payload.size() + 40;
  uint8_t* const to = memory_at(piece.lkey, piece.addr, piece.length, 0);
  if (to == nullptr || bytes > piece.length) {
    entry.status = IBV_WC_LOC_LEN_ERR;
    return true;
  }
  std::memset(to, 0, 40);
  const ibv_gid source = gid_of(crossing.from);
  if (source.raw[10] == 0xff && source.raw[0] == 0) {
    to[20] = 0x45;
    std::memcpy(&to[32], &source.raw[12], 4);
  } else {
    to[0] = 0x60;
    std::memcpy(&to[8], source.raw, sizeof source.raw);
  }
  std::memcpy(&to[40], crossing.payload.data(), crossing.payload.size());
  entry.opcode = IBV_WC_RECV;
  entry.wc_flags = IBV_WC_GRH;
  entry.byte_len = static_cast<uint32_t>(bytes);
  entry.src_qp = 1;
  return true;
}

bool try_arrive(const Crossing& crossing) {
  Device* const device = device_at(gid_of(crossing.to));
  Qp* const qp = device == nullptr ? nullptr : find_queue(crossing, *device);
  if (qp == nullptr || (qp->state != IBV_QPS_RTR && qp->state != IBV_QPS_RTS)) return false;
  const bool is_uc = qp->qp_type == IBV_QPT_UC;
  if (is_uc != crossing.is_write || qp->receives.empty()) return false;
  const bool is_from_peer =
      !is_uc || are_same(qp->attributes.ah_attr.grh.dgid, gid_of(crossing.from));
  const bool is_key_right = is_uc || qp->attributes.qkey == crossing.request.wr.ud.remote_qkey;
  if (!is_from_peer || !is_key_right) return false;
  ibv_wc entry{};
  entry.wr_id = qp->receives.front().first;
  entry.qp_num = qp->qp_num;
  if (is_uc ? !try_write(*qp, crossing, entry) : !try_receive(*qp, crossing, entry)) return false;
  qp->receives.pop_front();
  complete(qp->recv_cq, entry);
  if (entry.status != IBV_WC_SUCCESS) begin_error(*qp);
  return true;
}

std::string text_of(const ibv_gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_v4 = gid.raw[10] == 0xff && gid.raw[0] == 0;
  inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? &gid.raw[12] : gid.raw, text.data(), text.size());
  return text.data();
}

// ---- what the port posts and polls ----

/// As the kernel has it.
uint16_t source_port_of(uint32_t flow_label) {
  return static_cast<uint16_t>(0xc000 | ((flow_label & 0x3fff) ^ flow_label >> 14));
}

/// False: the device does not want it, and the queue is in state ERR.
bool try_send(Qp& qp, const ibv_send_wr& request) {
  Crossing crossing;
  const ibv_ah_attr& way =
      qp.qp_type == IBV_QPT_UC ? qp.attributes.ah_attr : static_cast<Ah*>(request.wr.ud.ah)->way;
  crossing.from = qp.at->of->address;
  crossing.to = text_of(way.grh.dgid);
  crossing.target_qp =
      qp.qp_type == IBV_QPT_UC ? qp.attributes.dest_qp_num : request.wr.ud.remote_qpn;
  crossing.source_port = source_port_of(way.grh.flow_label);
  crossing.is_write = qp.qp_type == IBV_QPT_UC;
  crossing.request = request;
  crossing.request.sg_list = nullptr;
  for (int i = 0; i < request.num_sge; ++i) {
    const ibv_sge& piece = request.sg_list[i];
    const uint8_t* const from = memory_at(piece.lkey, piece.addr, piece.length, 0);
    if (from == nullptr) return false;
    crossing.payload.insert(crossing.payload.end(), from, from + piece.length);
  }
  if (!qp.at->of->is_up || !qp.at->of->has_address) return false;
  const uint32_t most =
      128u << (qp.qp_type == IBV_QPT_UC ? qp.attributes.path_mtu : qp.at->of->mtu);
  if (crossing.payload.size() > most) return ++world().dropped, true;
  if (world().filter && !world().filter(crossing)) return true;
  if (!try_arrive(crossing)) ++world().dropped;
  return true;
}

int post_send(ibv_qp* pair, ibv_send_wr* first, ibv_send_wr** refused) {
  const Lock lock(world().lock);
  Qp& qp = *static_cast<Qp*>(pair);
  ++world().posts;
  for (ibv_send_wr* each = first; each != nullptr; each = each->next) {
    if (qp.state != IBV_QPS_RTS && qp.state != IBV_QPS_ERR) return *refused = each, EINVAL;
    ibv_wc entry{};
    entry.wr_id = each->wr_id;
    entry.qp_num = qp.qp_num;
    if (qp.state == IBV_QPS_ERR) {
      entry.status = IBV_WC_WR_FLUSH_ERR;
      complete(qp.send_cq, entry);
      continue;
    }
    if (qp.is_stalled) {
      qp.unread.push_back(*each);
      continue;
    }
    const bool is_sent = try_send(qp, *each);
    if (!is_sent) entry.status = IBV_WC_LOC_QP_OP_ERR;
    if (!is_sent || (each->send_flags & IBV_SEND_SIGNALED) != 0) complete(qp.send_cq, entry);
    if (!is_sent) begin_error(qp);
  }
  return 0;
}

int post_recv(ibv_qp* pair, ibv_recv_wr* first, ibv_recv_wr** refused) {
  const Lock lock(world().lock);
  Qp& qp = *static_cast<Qp*>(pair);
  for (ibv_recv_wr* each = first; each != nullptr; each = each->next) {
    const bool is_refused = qp.state == IBV_QPS_RESET || qp.receives.size() == qp.room.max_recv_wr;
    if (is_refused) return *refused = each, ENOMEM;
    if (qp.state == IBV_QPS_ERR) continue;  // nobody hears of it again
    qp.receives.emplace_back(each->wr_id, each->num_sge > 0 ? each->sg_list[0] : ibv_sge{});
  }
  return 0;
}

int poll_cq(ibv_cq* queue, int most, ibv_wc* out) {
  const Lock lock(world().lock);
  auto& entries = static_cast<Cq*>(queue)->entries;
  int count = 0;
  for (; count < most && !entries.empty(); ++count) {
    out[count] = entries.front();
    entries.pop_front();
  }
  return count;
}

int req_notify_cq(ibv_cq* queue, int) {
  const Lock lock(world().lock);
  static_cast<Cq*>(queue)->is_armed = true;
  return 0;
}

}  // namespace

// ---- what tests do ----

Fabric& Fabric::the() {
  static Fabric it;
  return it;
}

void Fabric::reset() {
  const Lock lock(world().lock);
  World& it = world();
  it.devices.clear();
  it.filter = nullptr;
  it.posts = it.dropped = 0;
  it.refuses_queues = it.is_silent = false;
}

void Fabric::add_device(const std::string& name, const std::string& address, ibv_mtu mtu) {
  const Lock lock(world().lock);
  auto device = std::make_unique<Device>();
  std::strncpy(static_cast<char*>(device->ibv_device::name), name.c_str(),
               sizeof(device->name) - 1);
  device->label = name;
  device->address = address;
  device->gid = gid_of(address);
  device->mtu = mtu;
  world().devices.push_back(std::move(device));
}

void Fabric::set_filter(std::function<bool(const Crossing&)> filter) {
  const Lock lock(world().lock);
  world().filter = std::move(filter);
}

void Fabric::deliver(const Crossing& crossing) {
  const Lock lock(world().lock);
  if (!try_arrive(crossing)) ++world().dropped;
}

void Fabric::remove_address(const std::string& address) {
  const Lock lock(world().lock);
  for (const auto& each : world().devices) {
    if (each->address != address) continue;
    each->has_address = false;
    tell(*each, IBV_EVENT_GID_CHANGE);
  }
}

void Fabric::restore_address(const std::string& address) {
  const Lock lock(world().lock);
  for (const auto& each : world().devices) {
    if (each->address != address) continue;
    each->has_address = true;
    tell(*each, IBV_EVENT_GID_CHANGE);
  }
}

void Fabric::set_port(const std::string& device, bool is_up) {
  const Lock lock(world().lock);
  for (const auto& each : world().devices) {
    if (each->label != device) continue;
    each->is_up = is_up;
    tell(*each, is_up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
  }
}

bool Fabric::break_queue(const std::string& device, uint32_t number) {
  const Lock lock(world().lock);
  for (Qp* each : world().queues) {
    if (each->qp_num != number || each->at->of->label != device) continue;
    begin_error(*each);
    return true;
  }
  return false;
}

bool Fabric::stall_queue(const std::string& device, uint32_t number) {
  const Lock lock(world().lock);
  for (Qp* each : world().queues) {
    if (each->qp_num == number && each->at->of->label == device) return each->is_stalled = true;
  }
  return false;
}

std::vector<uint32_t> Fabric::queues(const std::string& device, ibv_qp_type type,
                                     bool sends) const {
  const Lock lock(world().lock);
  std::vector<uint32_t> numbers;
  for (const Qp* each : world().queues) {
    const bool is_one = each->at->of->label == device && each->qp_type == type &&
                        each->state == (sends ? IBV_QPS_RTS : IBV_QPS_RTR);
    if (is_one) numbers.push_back(each->qp_num);
  }
  return numbers;
}

void Fabric::refuse_queues(bool are_refused) {
  const Lock lock(world().lock);
  world().refuses_queues = are_refused;
}
void Fabric::silence_contacts(bool are_silent) {
  const Lock lock(world().lock);
  world().is_silent = are_silent;
}
size_t Fabric::registrations() const {
  const Lock lock(world().lock);
  return world().registrations.size();
}
size_t Fabric::queue_count() const {
  const Lock lock(world().lock);
  return world().queues.size();
}
uint64_t Fabric::posts() const {
  const Lock lock(world().lock);
  return world().posts;
}
uint64_t Fabric::dropped() const {
  const Lock lock(world().lock);
  return world().dropped;
}

}  // namespace cw::stand_in

// ---- libibverbs ----

using namespace cw::stand_in;

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  const Lock lock(world().lock);
  auto** list = new ibv_device*[world().devices.size() + 1]();
  for (size_t i = 0; i < world().devices.size(); ++i) list[i] = world().devices[i].get();
  *count = static_cast<int>(world().devices.size());
  return list;
}
void ibv_free_device_list(ibv_device** list) { delete[] list; }
const char* ibv_get_device_name(ibv_device* device) {
  return static_cast<Device*>(device)->label.c_str();
}

ibv_context* ibv_open_device(ibv_device* device) {
  const Lock lock(world().lock);
  auto* context = new Context{};
  context->of = static_cast<Device*>(device);
  context->device = device;
  context->async_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  context->ops.post_send = post_send;
  context->ops.post_recv = post_recv;
  context->ops.poll_cq = poll_cq;
  context->ops.req_notify_cq = req_notify_cq;
  world().contexts.insert(context);
  return context;
}
int ibv_close_device(ibv_context* context) {
  const Lock lock(world().lock);
  world().contexts.erase(static_cast<Context*>(context));
  close(context->async_fd);
  delete static_cast<Context*>(context);
  return 0;
}
int ibv_query_device(ibv_context*, ibv_device_attr* attributes) {
  *attributes = {};
  attributes->max_cqe = cqe_max;
  attributes->max_qp_wr = 16384;
  attributes->max_qp = 1 << 20;
  attributes->max_mr = 1 << 19;
  return 0;
}
#undef ibv_query_port
int ibv_query_port(ibv_context* context, uint8_t, _compat_ibv_port_attr* out) {
  const Lock lock(world().lock);
  const Device& device = *static_cast<Context*>(context)->of;
  auto* attributes = reinterpret_cast<ibv_port_attr*>(out);
  attributes->state = device.is_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  attributes->active_mtu = device.mtu;
  attributes->gid_tbl_len = 4;
  attributes->link_layer = IBV_LINK_LAYER_ETHERNET;
  return 0;
}
int _ibv_query_gid_ex(ibv_context* context, uint32_t, uint32_t index, ibv_gid_entry* entry,
                      uint32_t, size_t) {
  const Lock lock(world().lock);
  const Device& device = *static_cast<Context*>(context)->of;
  if (index != 1 || !device.has_address) return ENODATA;
  *entry = {};
  entry->gid = device.gid;
  entry->gid_index = index;
  entry->gid_type = IBV_GID_TYPE_ROCE_V2;
  return 0;
}
int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  const Lock lock(world().lock);
  auto& events = static_cast<Context*>(context)->events;
  if (events.empty()) {
    uint64_t rings = 0;
    (void)!read(context->async_fd, &rings, sizeof rings);
    errno = EAGAIN;
    return -1;
  }
  *event = {};
  event->event_type = events.front();
  events.pop_front();
  return 0;
}
void ibv_ack_async_event(ibv_async_event*) {}

ibv_pd* ibv_alloc_pd(ibv_context* context) { return new ibv_pd{context, 0}; }
int ibv_dealloc_pd(ibv_pd* domain) { return delete domain, 0; }

#undef ibv_reg_mr
ibv_mr* ibv_reg_mr(ibv_pd* domain, void* address, size_t bytes, int access) {
  const Lock lock(world().lock);
  auto* mr = new Mr{};
  mr->context = domain->context;
  mr->pd = domain;
  mr->addr = address;
  mr->length = bytes;
  mr->access = access;
  mr->lkey = mr->rkey = world().key_next += 0x101;
  world().registrations[mr->rkey] = mr;
  return mr;
}
int ibv_dereg_mr(ibv_mr* mr) {
  const Lock lock(world().lock);
  world().registrations.erase(mr->rkey);
  delete static_cast<Mr*>(mr);
  return 0;
}

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  auto* channel = new Channel{};
  channel->context = context;
  channel->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return channel;
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  close(channel->fd);
  delete static_cast<Channel*>(channel);
  return 0;
}
ibv_cq* ibv_create_cq(ibv_context* context, int most, void*, ibv_comp_channel* channel, int) {
  if (most > cqe_max) return errno = EINVAL, nullptr;
  auto* queue = new Cq{};
  queue->context = context;
  queue->channel = channel;
  queue->most = static_cast<size_t>(most);
  return queue;
}
int ibv_destroy_cq(ibv_cq* queue) { return delete static_cast<Cq*>(queue), 0; }
int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** context) {
  const Lock lock(world().lock);
  auto& told = static_cast<Channel*>(channel)->told;
  if (told.empty()) return errno = EAGAIN, -1;
  *queue = told.front();
  *context = nullptr;
  told.pop_front();
  uint64_t rings = 0;
  if (told.empty()) (void)!read(channel->fd, &rings, sizeof rings);
  return 0;
}
void ibv_ack_cq_events(ibv_cq*, unsigned) {}

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
  const Lock lock(world().lock);
  if (world().refuses_queues) return errno = ENOMEM, nullptr;
  auto* qp = new Qp{};
  qp->at = static_cast<Context*>(domain->context);
  qp->context = domain->context;
  qp->pd = domain;
  qp->send_cq = wanted->send_cq;
  qp->recv_cq = wanted->recv_cq;
  qp->qp_type = wanted->qp_type;
  qp->room = wanted->cap;
  qp->qp_num = qp->at->of->qp_next++;
  qp->state = IBV_QPS_RESET;
  world().queues.insert(qp);
  return qp;
}
int ibv_destroy_qp(ibv_qp* pair) {
  const Lock lock(world().lock);
  world().queues.erase(static_cast<Qp*>(pair));
  delete static_cast<Qp*>(pair);
  return 0;
}
int ibv_modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) {
  const Lock lock(world().lock);
  Qp& qp = *static_cast<Qp*>(pair);
  const bool has_way = (mask & IBV_QP_AV) != 0;
  if (has_way && !qp.at->of->has_address) return EINVAL;
  if (has_way) {
    qp.attributes.ah_attr = attributes->ah_attr;
    qp.attributes.path_mtu = attributes->path_mtu;
    qp.attributes.dest_qp_num = attributes->dest_qp_num;
  }
  if ((mask & IBV_QP_QKEY) != 0) qp.attributes.qkey = attributes->qkey;
  qp.state = attributes->qp_state;
  if (qp.state == IBV_QPS_ERR) begin_error(qp);
  if (qp.state == IBV_QPS_RESET) qp.receives.clear();
  return 0;
}
ibv_ah* ibv_create_ah(ibv_pd* domain, ibv_ah_attr* way) {
  auto* handle = new Ah{};
  handle->context = domain->context;
  handle->pd = domain;
  handle->way = *way;
  return handle;
}
int ibv_destroy_ah(ibv_ah* handle) { return delete static_cast<Ah*>(handle), 0; }

}  // extern "C"

// ---- librdmacm, as far as SIDR goes: each step is done when it is asked for ----

namespace {

struct Event : rdma_cm_event {
  std::vector<uint8_t> bytes;
};
struct Manager : rdma_event_channel {
  std::deque<std::unique_ptr<Event>> events;
};
struct Id : rdma_cm_id {
  ibv_gid source{}, target{};
  Id* asker = nullptr;
};

std::map<Id*, ibv_gid>& listeners() {
  static std::map<Id*, ibv_gid> it;
  return it;
}

ibv_gid gid_of_name(const sockaddr* name) {
  ibv_gid gid{};
  if (name->sa_family == AF_INET6) {
    std::memcpy(gid.raw, &reinterpret_cast<const sockaddr_in6*>(name)->sin6_addr, sizeof gid.raw);
    return gid;
  }
  gid.raw[10] = gid.raw[11] = 0xff;
  std::memcpy(&gid.raw[12], &reinterpret_cast<const sockaddr_in*>(name)->sin_addr, 4);
  return gid;
}

void push(rdma_event_channel* channel, rdma_cm_id* id, rdma_cm_event_type type,
          const rdma_conn_param* said = nullptr) {
  auto event = std::make_unique<Event>();
  event->id = id;
  event->event = type;
  if (said != nullptr) {
    const auto* bytes = static_cast<const uint8_t*>(said->private_data);
    event->bytes.assign(bytes, bytes + said->private_data_len);
    event->bytes.resize(136);  // always as long
    event->param.ud.private_data = event->bytes.data();
    event->param.ud.private_data_len = 136;
    event->param.ud.qp_num = said->qp_num;
  }
  static_cast<Manager*>(channel)->events.push_back(std::move(event));
  ring(channel->fd);
}

}  // namespace

extern "C" {

rdma_event_channel* rdma_create_event_channel() {
  auto* channel = new Manager{};
  channel->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return channel;
}
void rdma_destroy_event_channel(rdma_event_channel* channel) {
  close(channel->fd);
  delete static_cast<Manager*>(channel);
}
int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** out, void*, rdma_port_space) {
  auto* id = new Id{};
  id->channel = channel;
  *out = id;
  return 0;
}
int rdma_destroy_id(rdma_cm_id* id) {
  const Lock lock(world().lock);
  listeners().erase(static_cast<Id*>(id));
  std::erase_if(static_cast<Manager*>(id->channel)->events,
                [&](const auto& each) { return each->id == id; });
  delete static_cast<Id*>(id);
  return 0;
}
int rdma_bind_addr(rdma_cm_id* id, sockaddr* name) {
  static_cast<Id*>(id)->source = gid_of_name(name);
  return 0;
}
int rdma_listen(rdma_cm_id* id, int) {
  const Lock lock(world().lock);
  const ibv_gid own = static_cast<Id*>(id)->source;
  for (const auto& [each, gid] : listeners()) {
    if (are_same(gid, own)) return errno = EADDRINUSE, -1;
  }
  listeners()[static_cast<Id*>(id)] = own;
  return 0;
}
int rdma_resolve_addr(rdma_cm_id* id, sockaddr* from, sockaddr* to, int) {
  const Lock lock(world().lock);
  Id& it = *static_cast<Id*>(id);
  it.source = gid_of_name(from);
  it.target = gid_of_name(to);
  push(id->channel, id,
       device_at(it.target) == nullptr ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED);
  return 0;
}
int rdma_resolve_route(rdma_cm_id* id, int) {
  const Lock lock(world().lock);
  push(id->channel, id, RDMA_CM_EVENT_ROUTE_RESOLVED);
  return 0;
}
int rdma_connect(rdma_cm_id* id, rdma_conn_param*) {
  const Lock lock(world().lock);
  if (world().is_silent) return 0;
  for (const auto& [each, gid] : listeners()) {
    if (!are_same(gid, static_cast<Id*>(id)->target)) continue;
    auto* asked = new Id{};
    asked->channel = each->channel;
    asked->asker = static_cast<Id*>(id);
    push(each->channel, asked, RDMA_CM_EVENT_CONNECT_REQUEST);
    return 0;
  }
  push(id->channel, id, RDMA_CM_EVENT_UNREACHABLE);
  return 0;
}
int rdma_accept(rdma_cm_id* id, rdma_conn_param* said) {
  const Lock lock(world().lock);
  Id* const asker = static_cast<Id*>(id)->asker;
  push(asker->channel, asker, RDMA_CM_EVENT_ESTABLISHED, said);
  return 0;
}
int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** out) {
  const Lock lock(world().lock);
  auto& events = static_cast<Manager*>(channel)->events;
  uint64_t rings = 0;
  if (events.empty()) {
    (void)!read(channel->fd, &rings, sizeof rings);
    return errno = EAGAIN, -1;
  }
  *out = events.front().release();
  events.pop_front();
  return 0;
}
int rdma_ack_cm_event(rdma_cm_event* event) { return delete static_cast<Event*>(event), 0; }

}  // extern "C"
