// The functions of libibverbs, at devices in memory.
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/verbs/world.h"

using namespace cw::stand_in;

extern "C" {

static ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* wanted);

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
  context->sz = sizeof(verbs_context);
  context->create_qp_ex = create_qp_ex;
  ibv_context& plain = context->context;
  plain.abi_compat = __VERBS_ABI_IS_EXTENDED;
  plain.device = device;
  plain.async_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  plain.ops.post_send = post_send;
  plain.ops.post_recv = post_recv;
  plain.ops.poll_cq = poll_cq;
  plain.ops.req_notify_cq = req_notify_cq;
  world().contexts.insert(context);
  return &plain;
}
int ibv_close_device(ibv_context* context) {
  const Lock lock(world().lock);
  world().contexts.erase(&context_of(context));
  close(context->async_fd);
  delete &context_of(context);
  return 0;
}
int ibv_query_device(ibv_context*, ibv_device_attr* attributes) {
  *attributes = {};
  attributes->max_cqe = cqe_max;
  attributes->max_qp_wr = 16384;
  attributes->max_qp = 1 << 20;
  attributes->max_mr = 1 << 19;
  attributes->max_mcast_grp = world().groups_max;
  attributes->max_mcast_qp_attach = 56;
  return 0;
}
#undef ibv_query_port
int ibv_query_port(ibv_context* context, uint8_t, _compat_ibv_port_attr* out) {
  const Lock lock(world().lock);
  const Device& device = *context_of(context).of;
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
  const Device& device = *context_of(context).of;
  if (index != 1 || !device.has_address) return ENODATA;
  *entry = {};
  entry->gid = device.gid;
  entry->gid_index = index;
  entry->gid_type = IBV_GID_TYPE_ROCE_V2;
  return 0;
}
int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  const Lock lock(world().lock);
  auto& events = context_of(context).events;
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
/// What ibv_reg_mr() of the header calls where a compiler does not see that access is constant.
ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* address, size_t bytes, uint64_t,
                         unsigned int access) {
  return ibv_reg_mr(domain, address, bytes, static_cast<int>(access));
}
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* domain, uint64_t, size_t bytes, uint64_t named, int fd,
                          int access) {
  if (!world().takes_dmabufs) return errno = EOPNOTSUPP, nullptr;
  if (fcntl(fd, F_GETFD) < 0) return nullptr;
  auto* const mr = static_cast<Mr*>(
      ibv_reg_mr(domain, reinterpret_cast<void*>(static_cast<uintptr_t>(named)), bytes, access));
  mr->is_dmabuf = true;
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
  qp->at = &context_of(domain->context);
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
/// What ibv_create_qp_ex() calls.
static ibv_qp* create_qp_ex(ibv_context*, ibv_qp_init_attr_ex* wanted) {
  const Lock lock(world().lock);
  const bool is_known =
      world().keeps_own_back && wanted->create_flags == IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
  if (!is_known) return errno = EOPNOTSUPP, nullptr;
  ibv_qp_init_attr plain{.send_cq = wanted->send_cq,
                         .recv_cq = wanted->recv_cq,
                         .cap = wanted->cap,
                         .qp_type = wanted->qp_type};
  ibv_qp* const made = ibv_create_qp(wanted->pd, &plain);
  if (made != nullptr) static_cast<Qp*>(made)->keeps_own_back = true;
  return made;
}
int ibv_attach_mcast(ibv_qp* pair, const ibv_gid* gid, uint16_t) {
  const Lock lock(world().lock);
  if (world().refuses_attachments) return ENOMEM;
  world().attachments.push_back({*gid, static_cast<Qp*>(pair)});
  return 0;
}
int ibv_detach_mcast(ibv_qp* pair, const ibv_gid* gid, uint16_t) {
  const Lock lock(world().lock);
  const size_t count = std::erase_if(world().attachments, [&](const Attachment& each) {
    return each.queue == pair && are_same(each.gid, *gid);
  });
  return count == 1 ? 0 : EINVAL;
}
int ibv_destroy_qp(ibv_qp* pair) {
  const Lock lock(world().lock);
  for (const Attachment& each : world().attachments) {
    if (each.queue == pair) return EBUSY;
  }
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

// None of these devices is one.
bool mlx5dv_is_supported(ibv_device*) { return false; }
int mlx5dv_modify_qp_udp_sport(ibv_qp*, uint16_t) { return ENOTSUP; }

}  // extern "C"
