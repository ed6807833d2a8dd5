// The functions of librdmacm, as far as SIDR goes: each step is done when it is asked for.
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>

#include "tests/verbs/world.h"

using namespace cw::stand_in;

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
