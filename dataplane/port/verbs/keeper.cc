#include "dataplane/port/verbs/keeper.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "dataplane/port/verbs/device/mlx5.h"
#include "dataplane/port/verbs/queues/tag.h"
#include "dataplane/wire/control/envelope.h"

namespace cw::verbs {
namespace {

constexpr int look_ms = 100;  // at contacts, and at what could not be done
constexpr int retry_ms = 20;
constexpr uint32_t depth_min = 8;

}  // namespace

Result<std::unique_ptr<Keeper>> Keeper::make(const KeeperRooms& rooms) {
  std::unique_ptr<Keeper> keeper(new Keeper(rooms));
  keeper->bell_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (keeper->bell_ < 0) return failure(std::string("no eventfd: ") + std::strerror(errno));
  keeper->is_port_up_ = rooms.device.is_port_up();
  keeper->gid_index_ = rooms.device.find_gid();
  keeper->has_address_ = keeper->gid_index_.has_value();
  auto contacts = Contacts::make(rooms.device, rooms.peers, rooms.control_numbers,
                                 rooms.source_port, rooms.paths);
  if (!contacts) return std::unexpected(contacts.error());
  keeper->contacts_ = std::move(*contacts);
  // Signals are the main thread's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  keeper->thread_ = std::thread([it = keeper.get()] { it->run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return keeper;
}

Keeper::~Keeper() {
  is_over_ = true;
  if (bell_ >= 0) wake();
  if (thread_.joinable()) thread_.join();
  if (bell_ >= 0) ::close(bell_);
}

void Keeper::wake() const {
  const uint64_t one = 1;
  (void)!write(bell_, &one, sizeof one);
}

std::string Keeper::trouble() const {
  const std::lock_guard lock(trouble_lock_);
  return trouble_;
}

bool Keeper::note(const Result<void>& done) {
  if (done) return true;
  const std::lock_guard lock(trouble_lock_);
  trouble_ = done.error().sentence;
  return false;
}

void Keeper::run() {
  while (!is_over_) {
    take_events();
    contacts_->act(Contacts::Clock::now());
    counts_.contacts_asked = contacts_->asked_count();
    counts_.contacts_answered = contacts_->answered_count();
    bool are_all_done = true;
    for (Epoch& epoch : rooms_.epochs) are_all_done &= look_at(epoch);
    for (ControlQueue& control : rooms_.controls) {
      if (control.sender.health.load(std::memory_order_acquire) != Health::Broken) continue;
      are_all_done &= note(mend(control));
    }
    are_all_done &= look_at_groups();
    wait(!are_all_done);
  }
}

void Keeper::wait(bool has_failed) const {
  std::array<pollfd, 3> fds{
      {{bell_, POLLIN, 0}, {rooms_.device.event_fd(), POLLIN, 0}, {contacts_->fd(), POLLIN, 0}}};
  (void)poll(fds.data(), fds.size(), has_failed ? retry_ms : look_ms);
  uint64_t rings = 0;
  if (fds[0].revents != 0) (void)!read(bell_, &rings, sizeof rings);
}

// ---- what the device tells ----

void Keeper::take_events() {
  while (const auto event = rooms_.device.take_event()) on_event(*event);
}

void Keeper::on_event(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_PORT_ERR:
      ++counts_.port_downs;
      is_port_up_ = false;
      break;
    case IBV_EVENT_PORT_ACTIVE:
      is_port_up_ = true;
      break;
    case IBV_EVENT_GID_CHANGE:
      on_addresses();
      break;
    case IBV_EVENT_CQ_ERR:
      ++counts_.overruns;
      break;
    case IBV_EVENT_DEVICE_FATAL:
      ++counts_.fatal;
      break;
    default:
      break;
  }
}

/// Others come and go without us. Ours may have another place in the table when it comes back, and
/// every way that was made before leads nowhere.
void Keeper::on_addresses() {
  const auto index = rooms_.device.find_gid();
  if (std::exchange(gid_index_, index) == index) return;
  ++counts_.address_changes;
  has_address_ = index.has_value();
  if (!index) return;
  contacts_->forget_ways(Contacts::Clock::now());
  if (rooms_.multicast != nullptr) rooms_.multicast->expire();
  has_lost_ways_ = true;
}

// ---- epochs ----

/// False: something could not be done, and is to be tried again.
bool Keeper::look_at(Epoch& epoch) {
  const Stage stage = epoch.at();
  const bool is_ours = stage == Stage::Opening || stage == Stage::Connecting;
  if (stage == Stage::Closing || (is_ours && epoch.is_left)) {
    close(epoch);
    epoch.go_to(Stage::Closed);
    return true;
  }
  switch (stage) {
    case Stage::Opening:
      if (!note(open(epoch))) return false;
      epoch.go_to(Stage::Open);
      return true;
    case Stage::Connecting:
      if (!mend(epoch) || !note(connect(epoch))) return false;
      epoch.go_to(Stage::Connected);
      return true;
    case Stage::Open:
    case Stage::Connected:
      return mend(epoch);
    case Stage::Free:
    case Stage::Closing:
    case Stage::Closed:
      return true;
  }
  return true;
}

Result<ibv_ah_attr> Keeper::way_to(uint16_t index, uint16_t path) const {
  const Peer& peer = rooms_.peers.at(index);
  const auto gid_index = rooms_.device.find_gid();
  if (!gid_index) {
    return failure("device \"" + rooms_.device.name() + "\" has lost the address " +
                   rooms_.device.address());
  }
  return rooms_.device.way_to(peer.gid, *gid_index, source_port_of(index, path));
}

uint16_t Keeper::source_port_of(uint16_t peer, uint16_t path) const {
  return verbs::source_port_of(rooms_.source_port, rooms_.peers.at(peer).link, path);
}

Result<void> Keeper::receive_at(const Epoch& epoch, Receiver& receiver) {
  receiver.posted = {};
  if (!receiver.fill(row_)) {
    return failure("queue pair " + std::to_string(receiver.pair->qp_num) +
                   " takes no receive requests");
  }
  const auto way = way_to(epoch.peer, 0);
  if (!way) return std::unexpected(way.error());
  return begin_receiving(*receiver.pair, *way, path_mtu());
}

Result<uint32_t> Keeper::depth_of(uint32_t room, size_t queues, uint32_t most) {
  const auto depth =
      static_cast<uint32_t>(std::min<size_t>(room / std::max<size_t>(queues, 1), most));
  if (depth >= depth_min) return depth;
  return failure(std::to_string(queues) +
                 " queues of one link are too many for this device: its "
                 "completion queue has room for " +
                 std::to_string(room) +
                 " requests of theirs; use fewer paths, channels or classes");
}

Result<void> Keeper::open(Epoch& epoch) {
  epoch.senders.clear();
  epoch.receivers.clear();
  const auto place = static_cast<uint16_t>(&epoch - rooms_.epochs.data());
  const auto depth =
      depth_of(rooms_.epoch_room.receives, epoch.receiver_count, rooms_.depth_max.receives);
  if (!depth) return std::unexpected(depth.error());
  for (size_t i = 0; i < epoch.receiver_count; ++i) {
    auto receiver = std::make_unique<Receiver>();
    auto pair =
        make_uc(rooms_.device, rooms_.sends, rooms_.receives, {.sends = 1, .receives = *depth});
    if (!pair) return std::unexpected(pair.error());
    receiver->pair = std::move(*pair);
    receiver->depth = *depth;
    receiver->tag = Tag{place, static_cast<uint16_t>(i), next_life(), 0}.bits();
    const auto receives = receive_at(epoch, *receiver);
    if (!receives) return receives;
    epoch.receivers.push_back(std::move(receiver));
    ++counts_.made;
  }
  return {};
}

Result<void> Keeper::connect(Epoch& epoch) {
  const auto place = static_cast<uint16_t>(&epoch - rooms_.epochs.data());
  epoch.senders.clear();
  const auto depth = depth_of(rooms_.epoch_room.sends, epoch.ways.size(), rooms_.depth_max.sends);
  if (!depth) return std::unexpected(depth.error());
  for (const SendQueue& wanted : epoch.ways) {
    auto sender = std::make_unique<Sender>(*depth);
    auto pair =
        make_uc(rooms_.device, rooms_.sends, rooms_.receives, {.sends = *depth, .receives = 1});
    if (!pair) return std::unexpected(pair.error());
    sender->pair = std::move(*pair);
    const auto way = way_to(epoch.peer, wanted.path);
    if (!way) return std::unexpected(way.error());
    const auto sends = begin_sending(*sender->pair, *way, path_mtu(), wanted.target_qp, 0);
    if (!sends) return sends;
    choose_source_port(*sender->pair, source_port_of(epoch.peer, wanted.path));
    sender->tag = Tag{place, static_cast<uint16_t>(epoch.senders.size()), next_life(), 0}.bits();
    epoch.senders.push_back(std::move(sender));
    ++counts_.made;
  }
  return {};
}

/// What senders hold is the turn's to give back: the device reads it no more.
void Keeper::close(Epoch& epoch) {
  epoch.receivers.clear();
  for (const auto& sender : epoch.senders) sender->pair.reset();
}

// ---- what has broken ----

bool Keeper::mend(Epoch& epoch) {
  bool are_all_mended = true;
  const auto done = [&](std::atomic<Health>& health, const Result<void>& mended) {
    if (!note(mended)) {
      are_all_mended = false;
      return;
    }
    ++counts_.mended;
    health.store(Health::Mended, std::memory_order_release);
  };
  const auto is_broken = [](const std::atomic<Health>& health) {
    return health.load(std::memory_order_acquire) == Health::Broken;
  };
  for (const auto& receiver : epoch.receivers) {
    if (is_broken(receiver->health)) done(receiver->health, mend(epoch, *receiver));
  }
  for (size_t i = 0; i < epoch.senders.size(); ++i) {
    Sender& sender = *epoch.senders[i];
    if (is_broken(sender.health)) done(sender.health, mend(epoch, sender, epoch.ways[i]));
  }
  return are_all_mended;
}

/// What was called so is of no interest any more.
void Keeper::begin_life(uint64_t& tag) {
  Tag next = Tag::of(tag);
  next.life = next_life();
  tag = next.bits();
}

Result<void> Keeper::mend(const Epoch& epoch, Receiver& receiver) {
  const auto renewed = renew_uc(*receiver.pair);
  if (!renewed) return renewed;
  begin_life(receiver.tag);
  return receive_at(epoch, receiver);
}

Result<void> Keeper::mend(const Epoch& epoch, Sender& sender, const SendQueue& wanted) {
  const auto renewed = renew_uc(*sender.pair);
  if (!renewed) return renewed;
  const auto way = way_to(epoch.peer, wanted.path);
  if (!way) return std::unexpected(way.error());
  begin_life(sender.tag);
  const auto sends = begin_sending(*sender.pair, *way, path_mtu(), wanted.target_qp, sender.psn);
  if (sends) choose_source_port(*sender.pair, source_port_of(epoch.peer, wanted.path));
  return sends;
}

Result<void> Keeper::mend(ControlQueue& control) {
  const auto renewed = renew_ud(*control.sender.pair, control_qkey);
  if (!renewed) return renewed;
  begin_life(control.sender.tag);
  if (!control.post_all()) return failure("the control queue takes no receive requests");
  end_mending(control.sender);
  return {};
}

void Keeper::end_mending(Sender& sender) {
  ++counts_.mended;
  sender.health.store(Health::Mended, std::memory_order_release);
}

// ---- groups ----

/// False: something could not be done, and is to be tried again.
bool Keeper::look_at_groups() {
  if (rooms_.groups == nullptr) return true;
  Sender& sender = rooms_.groups->sender;
  const bool is_broken = sender.health.load(std::memory_order_acquire) == Health::Broken;
  if (is_broken && !note(mend(*rooms_.groups))) return false;
  return rooms_.multicast->is_current() || note(rooms_.multicast->renew());
}

Result<void> Keeper::mend(GroupQueue& groups) {
  const auto renewed = renew_ud(*groups.sender.pair, control_qkey);
  if (!renewed) return renewed;
  begin_life(groups.sender.tag);
  if (!groups.post_all()) return failure("the queue pair of groups takes no receive requests");
  rooms_.multicast->expire();
  end_mending(groups.sender);
  return {};
}

}  // namespace cw::verbs
