#include "tests/verbs/stand_in.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

#include "tests/verbs/world.h"

namespace cw::stand_in {

World& world() {
  static World it;
  return it;
}

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

Context& context_of(ibv_context* context) {
  auto* const begin = reinterpret_cast<uint8_t*>(context) - offsetof(verbs_context, context);
  return *static_cast<Context*>(reinterpret_cast<verbs_context*>(begin));
}

namespace {

void tell(const Device& device, ibv_event_type type) {
  for (Context* each : world().contexts) {
    if (each->of != &device) continue;
    each->events.push_back(type);
    ring(each->context.async_fd);
  }
}

void complete(ibv_cq* queue, const ibv_wc& entry) {
  Cq& it = *static_cast<Cq*>(queue);
  if (it.entries.size() == it.most) {
    context_of(it.context).events.push_back(IBV_EVENT_CQ_ERR);
    return;
  }
  it.entries.push_back(entry);
  if (!it.is_armed || it.channel == nullptr) return;
  it.is_armed = false;
  static_cast<Channel*>(it.channel)->told.push_back(queue);
  ring(it.channel->fd);
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

Qp* find_queue(const Crossing& crossing) {
  const Device* const device = device_at(gid_of(crossing.to));
  for (Qp* each : world().queues) {
    if (each->at->of == device && each->qp_num == crossing.target_qp) return each;
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

/// Forty bytes that hold the IP header.
std::vector<uint8_t> outer_of(const Crossing& crossing) {
  std::vector<uint8_t> outer(40);
  const ibv_gid source = gid_of(crossing.from), target = gid_of(crossing.to);
  if (source.raw[10] == 0xff && source.raw[0] == 0) {
    outer[20] = 0x45;
    std::memcpy(&outer[32], &source.raw[12], 4);
    std::memcpy(&outer[36], &target.raw[12], 4);
  } else {
    outer[0] = 0x60;
    std::memcpy(&outer[8], source.raw, sizeof source.raw);
    std::memcpy(&outer[24], target.raw, sizeof target.raw);
  }
  return outer;
}

/// Over the pieces of a request; false: they are too short, or no memory of the device's.
bool try_scatter(const Request& request, std::span<const uint8_t> bytes) {
  for (size_t i = 0; i < request.piece_count && !bytes.empty(); ++i) {
    const ibv_sge& piece = request.pieces[i];
    uint8_t* const to = memory_at(piece.lkey, piece.addr, piece.length, 0);
    if (to == nullptr) return false;
    const size_t here = std::min<size_t>(bytes.size(), piece.length);
    std::memcpy(to, bytes.data(), here);
    bytes = bytes.subspan(here);
  }
  return bytes.empty();
}

bool try_receive(Qp& qp, const Crossing& crossing, ibv_wc& entry) {
  std::vector<uint8_t> bytes = outer_of(crossing);
  bytes.insert(bytes.end(), crossing.payload.begin(), crossing.payload.end());
  if (!try_scatter(qp.receives.front(), bytes)) {
    entry.status = IBV_WC_LOC_LEN_ERR;
    return true;
  }
  entry.opcode = IBV_WC_RECV;
  entry.wc_flags = IBV_WC_GRH;
  if (crossing.request.opcode == IBV_WR_SEND_WITH_IMM) {
    entry.wc_flags |= IBV_WC_WITH_IMM;
    entry.imm_data = crossing.request.imm_data;
  }
  entry.byte_len = static_cast<uint32_t>(bytes.size());
  entry.src_qp = crossing.source_qp;
  return true;
}

bool try_arrive_at(Qp* qp, const Crossing& crossing) {
  if (qp == nullptr || (qp->state != IBV_QPS_RTR && qp->state != IBV_QPS_RTS)) return false;
  const bool is_uc = qp->qp_type == IBV_QPT_UC;
  if (is_uc != crossing.is_write || qp->receives.empty()) return false;
  const bool is_from_peer =
      !is_uc || are_same(qp->attributes.ah_attr.grh.dgid, gid_of(crossing.from));
  const bool is_key_right = is_uc || qp->attributes.qkey == crossing.request.wr.ud.remote_qkey;
  if (!is_from_peer || !is_key_right) return false;
  ibv_wc entry{};
  entry.wr_id = qp->receives.front().id;
  entry.qp_num = qp->qp_num;
  if (is_uc ? !try_write(*qp, crossing, entry) : !try_receive(*qp, crossing, entry)) return false;
  qp->receives.pop_front();
  complete(qp->recv_cq, entry);
  if (entry.status != IBV_WC_SUCCESS) begin_error(*qp);
  return true;
}

/// To all who hear it, the sender among them, as soft-RoCE and NICs have it.
bool try_multicast(const Crossing& crossing) {
  const ibv_gid gid = gid_of(crossing.to);
  bool has_arrived = false;
  for (const Attachment& each : world().attachments) {
    const bool is_own = each.queue->keeps_own_back && each.queue->qp_num == crossing.source_qp &&
                        each.queue->at->of->address == crossing.from;
    if (!are_same(each.gid, gid) || is_own || !each.queue->at->of->has_address) continue;
    has_arrived |= try_arrive_at(each.queue, crossing);
  }
  return has_arrived;
}

bool try_arrive(const Crossing& crossing) {
  if (crossing.target_qp == 0xffffff) return try_multicast(crossing);
  return try_arrive_at(find_queue(crossing), crossing);
}

std::string text_of(const ibv_gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_v4 = gid.raw[10] == 0xff && gid.raw[0] == 0;
  inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? &gid.raw[12] : gid.raw, text.data(), text.size());
  return text.data();
}

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
  crossing.source_qp = qp.qp_num;
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

}  // namespace

void begin_error(Qp& qp) {
  qp.state = IBV_QPS_ERR;
  for (const Request& each : qp.receives) {
    complete(qp.recv_cq, {.wr_id = each.id, .status = IBV_WC_WR_FLUSH_ERR, .qp_num = qp.qp_num});
  }
  qp.receives.clear();
  for (const ibv_send_wr& each : qp.unread) {
    complete(qp.send_cq, {.wr_id = each.wr_id, .status = IBV_WC_WR_FLUSH_ERR, .qp_num = qp.qp_num});
  }
  qp.unread.clear();
  qp.is_stalled = false;
}

// ---- what the port posts and polls ----

int post_send(ibv_qp* pair, ibv_send_wr* first, ibv_send_wr** refused) {
  const Lock lock(world().lock);
  Qp& qp = *static_cast<Qp*>(pair);
  ++world().posts;
  for (ibv_send_wr* each = first; each != nullptr; each = each->next) {
    const bool is_too_long = static_cast<uint32_t>(each->num_sge) > qp.room.max_send_sge;
    const bool can_send = qp.state == IBV_QPS_RTS || qp.state == IBV_QPS_ERR;
    if (!can_send || is_too_long) return *refused = each, EINVAL;
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
    Request request{.id = each->wr_id, .piece_count = static_cast<size_t>(each->num_sge)};
    if (request.piece_count > qp.room.max_recv_sge) return *refused = each, EINVAL;
    std::copy_n(each->sg_list, request.piece_count, request.pieces.begin());
    qp.receives.push_back(request);
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
  it.refuses_queues = it.is_silent = it.takes_dmabufs = false;
  it.refuses_attachments = it.keeps_own_back = false;
  it.groups_max = 8192;
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

bool Fabric::lose_device(const std::string& device) {
  const Lock lock(world().lock);
  for (const auto& each : world().devices) {
    if (each->label == device) tell(*each, IBV_EVENT_DEVICE_FATAL);
  }
  return std::ranges::any_of(world().contexts,
                             [&](const Context* each) { return each->of->label == device; });
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
void Fabric::limit_groups(int most) {
  const Lock lock(world().lock);
  world().groups_max = most;
}
void Fabric::refuse_attachments(bool are_refused) {
  const Lock lock(world().lock);
  world().refuses_attachments = are_refused;
}
void Fabric::keep_own_back(bool is_kept) {
  const Lock lock(world().lock);
  world().keeps_own_back = is_kept;
}
size_t Fabric::attachments() const {
  const Lock lock(world().lock);
  return world().attachments.size();
}
size_t Fabric::registrations() const {
  const Lock lock(world().lock);
  return world().registrations.size();
}
size_t Fabric::dmabuf_registrations() const {
  const Lock lock(world().lock);
  return static_cast<size_t>(std::ranges::count_if(
      world().registrations, [](const auto& each) { return each.second->is_dmabuf; }));
}
void Fabric::accept_dmabufs(bool are_accepted) {
  const Lock lock(world().lock);
  world().takes_dmabufs = are_accepted;
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
