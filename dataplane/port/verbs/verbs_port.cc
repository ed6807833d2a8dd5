#include "dataplane/port/verbs/verbs_port.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/port/verbs/device/queue_pair.h"
#include "dataplane/port/verbs/queues/tag.h"
#include "dataplane/wire/control/envelope.h"

namespace cw {
namespace {
using namespace verbs;

/// Of a link: the one in force, or that begins; the one before, which closes; and one more.
constexpr size_t epochs_per_link = 3;
constexpr uint32_t sends_max = 1024;
/// For an epoch, each way; soft-RoCE has half of it for all.
constexpr size_t completions_wanted = 65536;
/// What an interface of unknown MTU may bring.
constexpr uint32_t frame_max = 9216;
/// As their requests are numbered.
constexpr size_t group_receives_max = 65536;

uint32_t payload_max_of(const VerbsPortOptions& options, const Device& device) {
  return std::min(options.payload_bytes_max, device.payload_max());
}

/// The longest slot that fits into a datagram, and a JOIN that is padded to the length of its
/// packet (SPEC.md 18.4).
uint32_t slot_max_of(const Device& device) {
  return device.payload_max() - group::envelope_bytes_beyond_slot;
}

bool has_groups(const VerbsPortOptions& options) { return !options.groups.members.empty(); }

/// Of the memory of one packet.
uint32_t packet_bytes_of(const VerbsPortOptions& options, const Device& device) {
  const uint32_t payload = payload_max_of(options, device);
  const uint32_t longest = has_groups(options) ? std::max(payload, device.payload_max()) : payload;
  return longest + static_cast<uint32_t>(slot_write_header_bytes);
}

Result<Peers> read_peers(const VerbsPortOptions& options) {
  const size_t links = options.peers.size();
  Peers peers(links + options.groups.members.size());
  for (size_t i = 0; i < options.peers.size(); ++i) {
    const auto gid = parse_gid(options.peers[i].address, "the address of a peer");
    if (!gid) return std::unexpected(gid.error());
    peers.at(i).gid = *gid;
    peers.at(i).link = options.peers[i].link;
  }
  for (size_t i = 0; i < options.groups.members.size(); ++i) {
    const auto gid = parse_gid(options.groups.members[i], "the address of a member");
    if (!gid) return std::unexpected(gid.error());
    peers.at(links + i).gid = *gid;
    peers.at(links + i).link = group_link;
  }
  peers.index();
  return peers;
}

Result<void> check(const VerbsPortOptions& options) {
  if (options.paths == 0 || options.paths > limits::paths_max) {
    return failure("paths is " + std::to_string(options.paths) + " and must be 1 to " +
                   std::to_string(limits::paths_max));
  }
  constexpr uint32_t ports = limits::links_max * limits::paths_max;
  if (options.source_port < rnic_source_port_min || options.source_port + ports - 1 > UINT16_MAX) {
    return failure("source_port is " + std::to_string(options.source_port) + " and must be " +
                   std::to_string(rnic_source_port_min) + " to " +
                   std::to_string(UINT16_MAX - ports + 1) + ": an RNIC sends from no other");
  }
  const size_t peers = options.peers.size() + options.groups.members.size();
  if (peers > group_peer_first) {
    return failure("there are " + std::to_string(peers) + " peers and members, and must be " +
                   std::to_string(group_peer_first) + " at most");
  }
  return {};
}

Result<void> check_slots(const VerbsPortOptions& options, const Device& device) {
  const uint32_t most = slot_max_of(device);
  if (!has_groups(options) || options.groups.slot_bytes <= most) return {};
  return failure("slots of " + std::to_string(options.groups.slot_bytes) +
                 " bytes are longer than " + std::to_string(most) + ", which is what device \"" +
                 device.name() + "\" carries at a path MTU of " +
                 std::to_string(device.payload_max()) +
                 ": raise the MTU of its interface, or have shorter slots");
}

}  // namespace

VerbsPort::VerbsPort(const VerbsPortOptions& options, std::unique_ptr<Device> device, Peers peers)
    : device_(std::move(device)),
      memory_(*device_),
      windows_(memory_, options.windows),
      packets_(options.packets, packet_bytes_of(options, *device_)),
      peers_(std::move(peers)),
      epochs_(std::max<size_t>(options.peers.size(), 1) * epochs_per_link) {
  note_facts(options);
  choose_depth(options);
}

VerbsPort::~VerbsPort() = default;

void VerbsPort::note_facts(const VerbsPortOptions& options) {
  facts_.name = "verbs";
  facts_.payload_max = payload_max_of(options, *device_);
  facts_.datagram_max = device_->payload_max();
  facts_.peers = static_cast<uint16_t>(peers_.count());
  facts_.paths = options.paths;
  facts_.packets = options.packets;
  facts_.icrc = IcrcMode::Exact;
  facts_.external_payload = true;
  facts_.places_payload = true;
  facts_.sees_psns = false;
  facts_.numbers_by_qp = true;
}

/// One completion queue each way has room for all that is posted, and for what a mended queue has
/// left there; so each epoch has its part, which its queues deal out.
void VerbsPort::choose_depth(const VerbsPortOptions& options) {
  const auto requests = static_cast<size_t>(device_->limits().max_qp_wr);
  completions_max_ = std::min<size_t>(static_cast<size_t>(device_->limits().max_cqe),
                                      completions_wanted * epochs_.size());
  if (has_groups(options)) {
    const size_t most = std::min(requests, completions_max_ / 4);
    const size_t receives = std::min({options.turn_packets, most, group_receives_max});
    group_depth_ = {.sends = static_cast<uint32_t>(std::min<size_t>(sends_max, most)),
                    .receives = static_cast<uint32_t>(receives)};
  }
  const size_t controls = options.peers.empty() ? 0 : limits::links_max;
  const auto part_of = [&](size_t control_depth, size_t group_depth) {
    const size_t taken = controls * control_depth + 2 * group_depth;
    const size_t left = completions_max_ > taken ? completions_max_ - taken : 0;
    return static_cast<uint32_t>(left / epochs_.size() * 9 / 10);
  };
  epoch_room_ = {.sends = part_of(ControlQueue::sends, group_depth_.sends),
                 .receives = part_of(ControlQueue::receives, group_depth_.receives)};
  depth_max_ = {.sends = static_cast<uint32_t>(std::min<size_t>(sends_max, requests)),
                .receives = static_cast<uint32_t>(std::min(options.turn_packets, requests))};
}

Result<std::unique_ptr<VerbsPort>> VerbsPort::make(const VerbsPortOptions& options) {
  if (const auto checked = check(options); !checked) return std::unexpected(checked.error());
  auto peers = read_peers(options);
  if (!peers) return std::unexpected(peers.error());
  auto device = Device::open(options.device, options.address);
  if (!device) return std::unexpected(device.error());
  if (const auto fit = check_slots(options, **device); !fit) return std::unexpected(fit.error());
  std::unique_ptr<VerbsPort> port(new VerbsPort(options, std::move(*device), std::move(*peers)));
  if (const auto made = port->make_completions(); !made) return std::unexpected(made.error());
  if (const auto made = port->register_packets(); !made) return std::unexpected(made.error());
  if (const auto made = port->make_controls(); !made) return std::unexpected(made.error());
  if (const auto made = port->make_groups(options); !made) return std::unexpected(made.error());
  if (const auto begun = port->begin(options); !begun) return std::unexpected(begun.error());
  return port;
}

Result<void> VerbsPort::make_completions() {
  channel_.reset(ibv_create_comp_channel(device_->context()));
  const auto refused = [&] {
    return failure("device \"" + device_->name() +
                   "\" makes no completion queues: " + std::strerror(errno));
  };
  if (channel_ == nullptr) return refused();
  make_nonblocking(channel_->fd);
  facts_.wait_fd = channel_->fd;
  const auto size = static_cast<int>(completions_max_);
  receives_.reset(ibv_create_cq(device_->context(), size, nullptr, channel_.get(), 0));
  sends_.reset(ibv_create_cq(device_->context(), size, nullptr, nullptr, 0));
  if (receives_ == nullptr || sends_ == nullptr) return refused();
  return {};
}

Result<void> VerbsPort::register_packets() {
  const auto key = memory_.add(packets_.memory());
  if (!key) return std::unexpected(key.error());
  packets_.set_key(*key);
  return {};
}

/// Buffers hold whatever the interface may bring: what is longer than its buffer kills its queue.
Result<void> VerbsPort::make_controls() {
  const uint32_t frame = longest_frame();
  size_t count = 0;
  for (const Peer& peer : peers_.all()) {
    if (peer.link != group_link) count = std::max(count, size_t{peer.link} + 1);
  }
  controls_ = std::vector<ControlQueue>(count);
  for (size_t link = 0; link < count; ++link) {
    ControlQueue& control = controls_[link];
    control.buffer_bytes = routing_header_bytes + frame;
    control.buffers.emplace(ControlQueue::receives, control.buffer_bytes);
    const auto key = memory_.add(control.buffers->all());
    if (!key) return std::unexpected(key.error());
    control.key = *key;
    auto pair =
        make_ud(*device_, *sends_, *receives_,
                {.sends = ControlQueue::sends, .receives = ControlQueue::receives}, control_qkey);
    if (!pair) return std::unexpected(pair.error());
    control.sender.pair = std::move(*pair);
    control.sender.tag = Tag{Tag::control, static_cast<uint16_t>(link), 0, 0}.bits();
    control_numbers_[link] = control.sender.pair->qp_num;
    if (!control.post_all()) return failure("the control queue takes no receive requests");
  }
  return {};
}

uint32_t VerbsPort::longest_frame() const {
  return device_->interface_mtu() > 0 ? device_->interface_mtu() : frame_max;
}

Result<void> VerbsPort::make_groups(const VerbsPortOptions& options) {
  if (!has_groups(options)) return {};
  groups_.emplace(*device_, peers_, group_depth_, longest_frame());
  if (const auto made = groups_->make(memory_, *sends_, *receives_); !made) return made;
  control_numbers_[group_link] = groups_->sender.pair->qp_num;
  auto multicast = Multicast::make(*device_, *groups_->sender.pair,
                                   {.addresses = options.groups.addresses,
                                    .source_port = options.source_port,
                                    .paths = options.paths});
  if (!multicast) return std::unexpected(multicast.error());
  multicast_ = std::move(*multicast);
  return {};
}

Result<void> VerbsPort::begin(const VerbsPortOptions& options) {
  GroupQueue* const groups = groups_ ? &*groups_ : nullptr;
  outgoing_ =
      std::make_unique<Outgoing>(*sends_, packets_, memory_, peers_, epochs_, controls_,
                                 Groups{groups, multicast_.get()}, index_, completions_max_);
  incoming_ = std::make_unique<Incoming>(*receives_, *channel_, *device_, peers_, epochs_,
                                         controls_, groups);
  auto keeper = Keeper::make({.device = *device_,
                              .sends = *sends_,
                              .receives = *receives_,
                              .epochs = epochs_,
                              .controls = controls_,
                              .groups = groups,
                              .multicast = multicast_.get(),
                              .peers = peers_,
                              .epoch_room = epoch_room_,
                              .depth_max = depth_max_,
                              .source_port = options.source_port,
                              .paths = options.paths,
                              .control_numbers = control_numbers_});
  if (!keeper) return std::unexpected(keeper.error());
  keeper_ = std::move(*keeper);
  epochs_of_turn_ =
      std::make_unique<Epochs>(epochs_, controls_, groups, index_, *outgoing_, *keeper_);
  return {};
}

size_t VerbsPort::take_burst(std::span<Packet*> out) {
  size_t count = 0;
  while (count < out.size() && (out[count] = packets_.try_take()) != nullptr) ++count;
  return count;
}

void VerbsPort::give_back(std::span<Packet* const> packets) {
  for (Packet* packet : packets) packets_.give_back(packet);
}

Instant VerbsPort::next_due() const {
  constexpr Duration look_again = Duration::from_ms(1);
  return outgoing_->is_holding() ? polled_ + look_again : Instant::never();
}

size_t VerbsPort::receive(std::span<Arrival> out, Instant now) {
  polled_ = now;
  has_broken_ |= outgoing_->poll(now);
  has_broken_ |= incoming_->take_broken();
  epochs_of_turn_->look_after(std::exchange(has_broken_, false), now);
  return incoming_->receive(out, now);
}

size_t VerbsPort::send(std::span<const Send> sends, Instant now) {
  const size_t count = outgoing_->send(sends, now);
  has_broken_ |= outgoing_->poll(now);
  return count;
}

Result<void> VerbsPort::register_dmabuf(std::span<uint8_t> memory, const Dmabuf& where) {
  const auto key = memory_.add(memory, where);
  if (!key) return std::unexpected(key.error());
  return {};
}

uint32_t VerbsPort::control_queue(uint32_t ours) const {
  const size_t link = ours - control_qpn_default;
  const bool is_made = link < control_numbers_.size() && control_numbers_[link] != 0;
  return is_made ? control_numbers_[link] : ours;
}

PortCounters VerbsPort::counters() const {
  const OutgoingCounts& out = outgoing_->counts();
  const IncomingCounts& in = incoming_->counts();
  PortCounters counters;
  counters.rx_packets = in.packets;
  counters.rx_bytes = in.bytes;
  counters.rx_malformed =
      in.malformed + in.unknown + group_counts().malformed + group_counts().unknown;
  counters.tx_packets = out.packets;
  counters.tx_bytes = out.bytes;
  counters.tx_refused = out.refused;
  counters.system_calls = in.system_calls;
  return counters;
}

GroupCounts VerbsPort::group_counts() const { return groups_ ? groups_->counts() : GroupCounts(); }

/// What is wrong and lasts.
std::string VerbsPort::trouble() const {
  std::string trouble = keeper_->trouble();
  if (!trouble.empty() || outgoing_->counts().slots_copied == 0) return trouble;
  return "slots of groups lie in memory that is not registered with the port, and each is copied: "
         "register_memory() before an operation is posted";
}

VerbsPortStatus VerbsPort::status() const {
  const GroupCounts groups = group_counts();
  const OutgoingCounts& out = outgoing_->counts();
  const IncomingCounts& in = incoming_->counts();
  const KeeperCounts& kept = keeper_->counts();
  return {.device = device_->name(),
          .address = device_->address(),
          .trouble = trouble(),
          .is_port_up = keeper_->is_port_up(),
          .has_address = keeper_->has_address(),
          .path_mtu = device_->payload_max(),
          .epochs = epochs_of_turn_->count(),
          .windows = static_cast<uint32_t>(windows_.count()),
          .keeps_own_multicast_back = groups_ && groups_->keeps_own_back(),
          .rx_own = groups.own,
          .rx_unknown = in.unknown + groups.unknown,
          .rx_starved = in.starved + groups.starved,
          .tx_unresolved = out.unresolved,
          .send_posts = out.posts,
          .completions = in.completions + out.completions,
          .tx_copied = out.copied,
          .slots_copied = out.slots_copied,
          .tx_lost = out.lost,
          .windows_refused = windows_.refused_count(),
          .queues_made = kept.made,
          .queues_broken = epochs_of_turn_->broken_count(),
          .queues_mended = kept.mended,
          .contacts_asked = kept.contacts_asked,
          .contacts_answered = kept.contacts_answered,
          .port_downs = kept.port_downs,
          .address_changes = kept.address_changes,
          .overruns = kept.overruns,
          .fatal = kept.fatal};
}

}  // namespace cw
