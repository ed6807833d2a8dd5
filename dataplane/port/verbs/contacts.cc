#include "dataplane/port/verbs/contacts.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dataplane/base/endian.h"
#include "dataplane/wire/roce.h"

namespace cw::verbs {
namespace {
using namespace std::chrono_literals;

constexpr auto pause_min = 100ms, pause_max = 4000ms;
constexpr auto call_max = 2s;  // rdma_cm itself takes over a minute to give up
constexpr int step_ms = 1000;
constexpr int backlog = 64;

/// What peers tell each other besides: so it shows who is no gateway, and who numbers otherwise.
struct Said {
  std::array<char, 4> magic;
  std::array<be32, limits::links_max + 1> numbers;  // the last is of groups
};
constexpr std::array<char, 4> magic = {'C', 'W', 'Y', '1'};
constexpr size_t said_max = 136;  // that an answer has room for
static_assert(sizeof(Said) <= said_max);

union Name {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

/// Port 0: any.
Name name_of(const ibv_gid& gid, uint16_t number) {
  Name name{};
  if (is_v4(gid)) {
    name.v4.sin_family = AF_INET;
    name.v4.sin_port = htons(number);
    std::memcpy(&name.v4.sin_addr, &gid.raw[12], sizeof name.v4.sin_addr);
  } else {
    name.v6.sin6_family = AF_INET6;
    name.v6.sin6_port = htons(number);
    std::memcpy(&name.v6.sin6_addr, gid.raw, sizeof name.v6.sin6_addr);
  }
  return name;
}

Said said_by(std::span<const uint32_t> numbers) {
  Said said{.magic = magic, .numbers = {}};
  for (size_t i = 0; i < numbers.size(); ++i) said.numbers[i] = be32(numbers[i]);
  return said;
}

rdma_conn_param parameters(const Said& said, uint32_t qp_number) {
  rdma_conn_param parameters{};
  parameters.private_data = &said;
  parameters.private_data_len = sizeof said;
  parameters.qp_num = qp_number;
  return parameters;
}

}  // namespace

Contacts::Contacts(const Device& device, Peers& peers, std::span<const uint32_t> numbers,
                   uint16_t source_port, uint16_t paths)
    : device_(device),
      peers_(peers),
      numbers_(numbers.begin(), numbers.end()),
      source_port_(source_port),
      paths_(paths),
      calls_(peers.count()) {}

Contacts::~Contacts() {
  for (Call& call : calls_) call.id.reset();
  listener_.reset();
}

Result<std::unique_ptr<Contacts>> Contacts::make(const Device& device, Peers& peers,
                                                 std::span<const uint32_t> numbers,
                                                 uint16_t source_port, uint16_t paths) {
  std::unique_ptr<Contacts> made(new Contacts(device, peers, numbers, source_port, paths));
  made->channel_.reset(rdma_create_event_channel());
  if (made->channel_ == nullptr) {
    return failure("rdma_cm cannot be had (" + std::string(std::strerror(errno)) +
                   "): the user needs /dev/infiniband/rdma_cm, of the kernel's module rdma_ucm");
  }
  make_nonblocking(made->fd());
  if (const auto listening = made->listen(); !listening) return std::unexpected(listening.error());
  return made;
}

Result<void> Contacts::listen() {
  rdma_cm_id* id = nullptr;
  const bool is_made = rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_UDP) == 0;
  if (is_made) listener_.reset(id);
  Name own = name_of(device_.gid(), roce_udp_port);
  if (is_made && rdma_bind_addr(id, &own.any) == 0 && rdma_listen(id, backlog) == 0) {
    return {};
  }
  return failure("nobody can ask " + device_.address() + " for its queues by rdma_cm (" +
                 std::strerror(errno) + "): is another gateway running at this address?");
}

void Contacts::act(Clock::time_point now) {
  Heard heard;
  while (try_hear(heard)) act_on(heard, now);
  for (size_t i = 0; i < calls_.size(); ++i) {
    Call& call = calls_[i];
    if (call.id != nullptr && now - call.began > call_max) hang_up(i, false, now);
    if (call.id == nullptr && now >= call.next && peers_.at(i).is_wanted.exchange(false)) {
      ask(i, now);
    }
  }
}

void Contacts::forget_ways(Clock::time_point now) {
  for (size_t i = 0; i < calls_.size(); ++i) {
    calls_[i].next = now;
    calls_[i].pause = {};
    for (auto& way : peers_.at(i).ways) way = nullptr;
    peers_.at(i).is_wanted = true;
  }
}

bool Contacts::try_hear(Heard& heard) {
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(channel_.get(), &event) != 0) return false;
  heard.type = event->event;
  heard.id = event->id;
  heard.byte_count = 0;
  if (event->event == RDMA_CM_EVENT_ESTABLISHED && event->param.ud.private_data != nullptr) {
    heard.byte_count = std::min<size_t>(event->param.ud.private_data_len, heard.bytes.size());
    std::memcpy(heard.bytes.data(), event->param.ud.private_data, heard.byte_count);
  }
  rdma_ack_cm_event(event);
  return true;
}

void Contacts::act_on(const Heard& heard, Clock::time_point now) {
  if (heard.type == RDMA_CM_EVENT_CONNECT_REQUEST) return answer(*heard.id);
  const auto call =
      std::ranges::find(calls_, heard.id, [](const Call& each) { return each.id.get(); });
  if (call == calls_.end()) return;
  const auto peer = static_cast<size_t>(call - calls_.begin());
  bool goes_on = false;
  if (heard.type == RDMA_CM_EVENT_ADDR_RESOLVED) {
    learn_ways(peer);
    goes_on = rdma_resolve_route(heard.id, step_ms) == 0;
  } else if (heard.type == RDMA_CM_EVENT_ROUTE_RESOLVED) {
    const Said said = said_by(numbers_);
    rdma_conn_param asked = parameters(said, numbers_.front());
    goes_on = rdma_connect(heard.id, &asked) == 0;
  }
  const bool is_answered = heard.type == RDMA_CM_EVENT_ESTABLISHED &&
                           learn_numbers(peer, std::span(heard.bytes).first(heard.byte_count));
  if (!goes_on) hang_up(peer, is_answered, now);
}

/// Whoever asks: numbers are no secret, and prove nothing.
void Contacts::answer(rdma_cm_id& id) {
  const Id asker(&id);
  const Said said = said_by(numbers_);
  rdma_conn_param answer = parameters(said, numbers_.front());
  if (rdma_accept(&id, &answer) == 0) ++answered_;
}

void Contacts::ask(size_t peer, Clock::time_point now) {
  Call& call = calls_[peer];
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_UDP) != 0) return;
  call.id.reset(id);
  call.began = now;
  ++asked_;
  Name from = name_of(device_.gid(), 0), to = name_of(peers_.at(peer).gid, roce_udp_port);
  if (rdma_resolve_addr(id, &from.any, &to.any, step_ms) != 0) hang_up(peer, false, now);
}

/// Its address is resolved, so that no call waits for it.
void Contacts::learn_ways(size_t index) {
  Peer& peer = peers_.at(index);
  const auto gid_index = device_.find_gid();
  if (!gid_index) return;
  for (uint16_t path = 0; path < paths_; ++path) {
    if (peer.ways[path] != nullptr) continue;
    ibv_ah_attr way =
        device_.way_to(peer.gid, *gid_index, source_port_of(source_port_, peer.link, path));
    AddressHandle handle(ibv_create_ah(device_.domain(), &way));
    if (handle == nullptr) continue;
    peer.ways[path] = handle.get();
    ways_.push_back(std::move(handle));
  }
}

bool Contacts::learn_numbers(size_t peer, std::span<const uint8_t> bytes) {
  Said said;
  if (bytes.size() < sizeof said) return false;
  std::memcpy(&said, bytes.data(), sizeof said);
  if (said.magic != magic) return false;
  for (Peer& each : peers_.all()) {
    const bool is_it = std::memcmp(each.gid.raw, peers_.at(peer).gid.raw, sizeof each.gid.raw) == 0;
    if (is_it) each.control_qp = said.numbers[each.link].host() & 0xffffff;
  }
  return true;
}

// Who has answered is asked again only where hellos still go unanswered: it has begun anew.
void Contacts::hang_up(size_t peer, bool was_answered, Clock::time_point now) {
  Call& call = calls_[peer];
  call.id.reset();
  const auto doubled = std::max<Clock::duration>(call.pause * 2, pause_min);
  call.pause = was_answered ? pause_min : std::min<Clock::duration>(doubled, pause_max);
  call.next = now + (was_answered ? 1s : call.pause);
}

}  // namespace cw::verbs
