#include "dataplane/port/xdp/xdp_attachment.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "dataplane/base/limits.h"
#include "dataplane/kernel/kernel_interface.h"
#include "dataplane/neighbour/address.h"

namespace cw {
namespace {

constexpr uint32_t link_bytes = 14 + 4;  // Ethernet's header and a VLAN tag

std::optional<Error> complaint_about(const FrameDeviceOptions& options, uint32_t queues) {
  const std::string& device = options.device;
  if (kernel_index(device) == 0) {
    return Error{"device: the kernel has no interface " + device +
                 " here; `ip link` lists them, those of this network namespace"};
  }
  constexpr uint32_t mtu_max = limits::frame_bytes_max - link_bytes;
  if (const uint32_t mtu = kernel_mtu(device); mtu > mtu_max) {
    return Error{"device: " + device + " has an MTU of " + std::to_string(mtu) + ", and " +
                 std::to_string(mtu_max) + " is the most; `ip link set dev " + device + " mtu " +
                 std::to_string(mtu_max) + "`, at the other end of a veth too"};
  }
  const std::string spread = "`ethtool -L " + device + " combined ";
  if (queues > STEERING_SOCKETS_MAX) {
    return Error{"device: " + device + " receives by " + std::to_string(queues) + " queues, and " +
                 std::to_string(STEERING_SOCKETS_MAX) + " are the most; " + spread +
                 std::to_string(STEERING_SOCKETS_MAX) + "`"};
  }
  if (queues < options.shards) {
    return Error{"device: " + device + " receives by " + std::to_string(queues) + " queues, and " +
                 std::to_string(options.shards) + " cores want one each; " + spread +
                 std::to_string(options.shards) + "` (a veth: rx and tx, at both ends)"};
  }
  return std::nullopt;
}

FrameDeviceFacts facts_of(const FrameDeviceOptions& options, uint32_t queues) {
  return {.port = "xdp",
          .name = options.device,
          .driver = "af_xdp",
          .interface = options.device,
          .mac = kernel_mac(options.device),
          .mtu = kernel_mtu(options.device),
          .queues = static_cast<uint16_t>(queues),
          .shards = options.shards,
          .kernel = KernelPart::Rest};
}

}  // namespace

// ---- at start -----------------------------------------------------------------------------------

Result<std::shared_ptr<XdpAttachment>> XdpAttachment::make(const FrameDeviceOptions& options) {
  const uint32_t queues = options.queues > 0 ? options.queues : kernel_rx_queues(options.device);
  if (auto complaint = complaint_about(options, queues)) {
    return std::unexpected(std::move(*complaint));
  }
  std::shared_ptr<XdpAttachment> it(new XdpAttachment);
  for (auto& socket : it->sockets_) socket = -1;
  it->facts_ = facts_of(options, queues);
  it->mtu_ = it->facts_.mtu;
  it->queues_ = queues;
  it->packet_bytes_ = options.packet_bytes;
  it->descriptors_ = std::bit_ceil(uint32_t{options.descriptors});
  it->questions_ = kernel_questions();
  for (uint16_t shard = 0; shard < options.shards; ++shard) {
    if (auto added = it->add_shard(options); !added) return std::unexpected(added.error());
  }
  // The keeper has the shards' memory, as it begins with it.
  auto program = SteeringProgram::attach(
      options, it->facts_.mac, queues, [&own = *it](int fd, uint32_t queue) {
        return XdpSocket::give_memory(fd, *own.shard_of(queue).frames);
      });
  if (!program) return std::unexpected(std::move(program.error()));
  it->program_ = std::move(*program);
  for (uint32_t queue = 0; queue < queues; ++queue) {
    if (auto opened = it->open_queue(queue); !opened) return std::unexpected(opened.error());
  }
  if (options.shards > 1) {
    it->arrivals_.emplace(options.shards);
    it->returns_.emplace(options.shards);
  }
  return it;
}

XdpAttachment::~XdpAttachment() {
  for (auto& socket : sockets_) {
    if (socket >= 0) close(socket);
  }
}

Result<void> XdpAttachment::add_shard(const FrameDeviceOptions& options) {
  auto shard = std::make_unique<Shard>();
  const size_t number = shards_.size();
  const auto queues =
      static_cast<uint32_t>((facts_.queues + options.shards - 1 - number) / options.shards);
  const auto frames = static_cast<uint32_t>(options.packets) + queues * descriptors_ * 2;
  const uint32_t longest = std::max(options.packet_bytes, facts_.mtu + link_bytes);
  shard->frames = XdpFrames::make(frames, XdpFrames::frame_bytes_for(longest));
  if (!shard->frames) {
    return failure("packets: there is no memory for " + std::to_string(frames));
  }
  shard->poll = OwnedFd(epoll_create1(EPOLL_CLOEXEC));
  shards_.push_back(std::move(shard));
  return {};
}

Result<void> XdpAttachment::open_queue(uint32_t queue) {
  Shard& shard = shard_of(queue);
  OwnedFd socket(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
  const int reason = socket.get() < 0 ? errno : XdpSocket::give_memory(socket.get(), *shard.frames);
  if (reason == ENOBUFS) {
    return failure("device: no more memory may be locked for " + facts_.interface +
                   "; grant CAP_IPC_LOCK, or raise LimitMEMLOCK");
  }
  if (reason != 0) return failure(program_->refusal(reason));
  if (auto added = add_queue(shard, queue, std::move(socket)); !added) return added;
  return join_soon(shard, *shard.queues.back());
}

/// The kernel takes a socket off its queue when it likes, after the process has ended.
Result<void> XdpAttachment::join_soon(Shard& shard, XdpQueue& queue) const {
  constexpr int tries = 200, wait_us = 10'000;
  auto joined = join(shard, queue);
  for (int i = 0; i < tries && queue.is_taken(); ++i) {
    usleep(wait_us);
    joined = join(shard, queue);
  }
  return joined;
}

/// In the place of an earlier one: the kernel takes one socket a queue.
Result<void> XdpAttachment::add_queue(Shard& shard, uint32_t queue, OwnedFd socket) const {
  drop_queues(shard, queue);
  const auto holder = static_cast<uint8_t>(queue / facts_.shards + 1);
  auto made = XdpQueue::make(std::move(socket), queue, *shard.frames, holder, descriptors_);
  if (!made) return std::unexpected(std::move(made.error()));
  shard.queues.push_back(std::move(*made));
  return {};
}

/// One, or all.
void XdpAttachment::drop_queues(Shard& shard, std::optional<uint32_t> number) {
  std::erase_if(shard.queues, [&](const auto& each) {
    const bool is_it = !number || each->number() == *number;
    if (is_it) shard.past += each->counters();
    return is_it;
  });
}

Result<void> XdpAttachment::join(Shard& shard, XdpQueue& queue) const {
  if (auto joined = queue.join(facts_.interface, program_->sockets_map()); !joined) return joined;
  epoll_event event{.events = EPOLLIN, .data = {.fd = queue.fd()}};
  epoll_ctl(shard.poll.get(), EPOLL_CTL_ADD, queue.fd(), &event);
  return {};
}

// ---- later --------------------------------------------------------------------------------------

void XdpAttachment::hear() {
  while (const auto news = program_->hear()) {
    mtu_ = news->mtu;
    queues_ = std::max(news->queues, uint32_t{1});
    trouble_ = trouble_of(*news);
    lay_out(*news);
  }
  if (program_->has_keeper()) return;
  trouble_ = "the process that keeps our XDP program on " + facts_.interface +
             " has ended: nobody mends it, or takes it off in the end; start anew";
}

/// The sockets, for whoever polls their queues.
void XdpAttachment::lay_out(const SteeringNews& news) {
  for (uint32_t i = 0; i < news.sockets; ++i) {
    const size_t queue = news.first + i;
    const int old = queue < sockets_.size() ? sockets_[queue].exchange(news.fds[i]) : news.fds[i];
    if (old >= 0) close(old);
  }
  is_gone_ = news.stand.index == 0 && news.reason == ENODEV;
  generation_.fetch_add(1, std::memory_order_release);
}

std::string XdpAttachment::trouble_of(const SteeringNews& news) const {
  const std::string& name = facts_.interface;
  if (news.reason == ENODEV) {
    return name + " is gone; when the kernel has one of this name again, it is used";
  }
  if (news.reason != 0) return program_->refusal(news.reason);
  if (news.mac != facts_.mac) {
    return name + " has the MAC " + text_of(news.mac) + " now, and had " + text_of(facts_.mac) +
           " when this process began; give it that again (`ip link set dev " + name + " address " +
           text_of(facts_.mac) + "`), or start anew";
  }
  if (news.mtu < facts_.mtu) {
    return name + " has an MTU of " + std::to_string(news.mtu) + " now, and had " +
           std::to_string(facts_.mtu) +
           " when this process began: longer packets are lost; raise it again, or start anew";
  }
  if (news.queues > STEERING_SOCKETS_MAX) {
    return name + " receives by " + std::to_string(news.queues) + " queues now, and " +
           std::to_string(STEERING_SOCKETS_MAX) + " are heard; `ethtool -L " + name + " combined " +
           std::to_string(STEERING_SOCKETS_MAX) + "`";
  }
  return {};
}

bool XdpAttachment::renew(uint16_t number) {
  Shard& it = shard(number);
  take_sockets(number);
  if (it.is_whole) return false;
  bool has_joined = false;
  it.is_whole = true;
  it.trouble.clear();
  for (const auto& queue : it.queues) {
    if (queue->is_joined()) continue;
    // Not while the interface is down, or the kernel has not let go of an earlier socket.
    const auto joined = join(it, *queue);
    has_joined |= joined.has_value();
    if (joined) continue;
    it.is_whole = false;
    it.trouble = joined.error().sentence;
  }
  return has_joined;
}

void XdpAttachment::take_sockets(uint16_t number) {
  Shard& it = shard(number);
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  if (generation == it.generation) return;
  it.generation = generation;
  if (is_gone_) drop_queues(it, std::nullopt);
  for (uint32_t queue = number; queue < sockets_.size(); queue += facts_.shards) {
    const int fd = sockets_[queue].exchange(-1);
    if (fd < 0) continue;
    const auto added = add_queue(it, queue, OwnedFd(fd));
    if (added) it.is_whole = false;
    if (!added) it.trouble = added.error().sentence;
  }
}

}  // namespace cw
