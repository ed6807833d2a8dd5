#include "dataplane/port/frame/frame_lan_port.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/kernel/kernel_ingress.h"
#include "dataplane/neighbour/echo.h"
#include "dataplane/neighbour/lan_frame.h"
#include "dataplane/neighbour/open_checksum.h"
#include "dataplane/port/frame/flow.h"

namespace cw {
namespace {

using namespace lan_frame;

struct HashKey {
  uint64_t words[2];
};
HashKey random_key() {
  HashKey key;
  CW_ASSERT(getentropy(key.words, sizeof key.words) == 0);
  return key;
}

std::optional<Error> complaint_about(const FrameLanOptions& options, const FrameDriver& driver) {
  CW_ASSERT(options.packets > 0);
  if (options.device.empty()) {
    return Error{std::string("device: missing; such as ") + driver.example()};
  }
  if (options.addresses.empty() || options.addresses.size() > limits::lan_addresses_max) {
    return Error{"addresses: " + std::to_string(options.addresses.size()) + " given, 1 to " +
                 std::to_string(limits::lan_addresses_max) +
                 " accepted: hosts need one of ours to send their packets to"};
  }
  if (options.vlan > vlan_max) {
    return Error{"vlan: " + std::to_string(options.vlan) + " given, 0 to " +
                 std::to_string(vlan_max) + " accepted"};
  }
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<FrameLanPort>> FrameLanPort::make(const FrameDriver& driver,
                                                         const FrameLanOptions& options) {
  if (auto complaint = complaint_about(options, driver))
    return std::unexpected(std::move(*complaint));
  auto device = driver.make({
      .device = options.device,
      .shards = options.shards,
      .queues = options.queues,
      .descriptors = options.descriptors,
      .ip_bytes_max = options.mtu,
      .packet_bytes = options.mtu,
      .packets = options.packets,
      .targets = options.targets,
      .vlan = options.vlan,
  });
  if (!device) return std::unexpected(std::move(device.error()));
  if ((*device)->mtu() < options.mtu) {
    return failure("mtu: " + std::to_string(options.mtu) + " given, and " + (*device)->name() +
                   " carries " + std::to_string((*device)->mtu()) +
                   "; lower it, or raise that of the interface (memif: bsize)");
  }
  return make_over(std::move(*device), options);
}

Result<std::unique_ptr<FrameLanPort>> FrameLanPort::make_beside(const FrameLanPort& first,
                                                                const FrameLanOptions& options,
                                                                uint16_t shard) {
  return make_over(first.device_->beside(shard), options);
}

Result<std::unique_ptr<FrameLanPort>> FrameLanPort::make_over(std::unique_ptr<FrameDevice> device,
                                                              const FrameLanOptions& options) {
  std::unique_ptr<FrameLanPort> port(new FrameLanPort(options, std::move(device)));
  if (port->device_->is_heard_by_kernel()) {
    if (auto done = port->leave_to_kernel(options); !done) return std::unexpected(done.error());
  } else {
    port->join(options);
  }
  return port;
}

FrameLanPort::FrameLanPort(const FrameLanOptions& options, std::unique_ptr<FrameDevice> device)
    : FramePort(std::move(device)),
      vlan_(options.vlan),
      has_open_checksums_(!device_->interface().empty()),
      neighbours_(options.addresses, random_key().words),
      groups_(options.groups) {
  facts_.payload_max = options.mtu;
  facts_.icrc = IcrcMode::None;
  facts_.sees_psns = false;
}

/// ARP, ND and pings, which it answers for its addresses, and routes; but no packets of hosts.
Result<void> FrameLanPort::leave_to_kernel(const FrameLanOptions& options) {
  const std::string& interface = device_->interface();
  if (auto done = join_kernel(); !done) return done;
  for (const LanAddress& address : options.addresses) {
    if (kernel_->is_local(address.ip)) continue;
    const std::string text = text_of(address.ip) + "/" + std::to_string(address.bits);
    return failure("addresses: " + text +
                   " is not one of this machine's, whose kernel answers on " + interface +
                   "; `ip address add " + text + " dev " + interface + "` gives it one");
  }
  neighbours_.join_kernel(kernel_addresses());
  if (device_->shard() > 0) return {};
  auto joined = groups_.join_by_kernel(interface);
  const bool is_copied = device_->facts().kernel == KernelPart::All;
  if (!joined || !is_copied || !options.silences_kernel) return joined;
  auto silence = silence_forwarding(interface);
  if (!silence) return std::unexpected(std::move(silence.error()));
  silence_ = std::move(*silence);
  return {};
}

FrameLanStatus FrameLanPort::status() const {
  FrameLanStatus now = status_;
  now.device = device_status();
  now.neighbours = neighbours_.known_count();
  return now;
}

// ---- in -----------------------------------------------------------------------------------------

/// Takes the tag out of a frame of our VLAN. A tag that names none has a priority only.
inline bool FrameLanPort::try_untag(Packet& packet) {
  uint16_t id = 0;
  const std::span<uint8_t> frame(packet.data, packet.bytes);
  const bool is_tagged = type_of(frame) == type_vlan && frame.size() >= header_bytes + tag_bytes;
  if (is_tagged) id = vlan_of(frame);
  if (id != vlan_) return ++status_.rx_vlan, false;
  if (!is_tagged) return true;
  std::memmove(packet.data + tag_bytes, packet.data, type_offset);
  packet.data += tag_bytes;
  packet.bytes -= static_cast<uint32_t>(tag_bytes);
  packet.bytes_max -= static_cast<uint32_t>(tag_bytes);
  return true;
}

inline void FrameLanPort::deliver(Packet& packet, uint32_t bytes, Instant now) {
  packet.data += header_bytes;
  packet.bytes = bytes;
  packet.bytes_max -= header_bytes;
  if (has_open_checksums_ && finish_open_checksum({packet.data, packet.bytes})) {
    ++status_.rx_finished;
  }
  packet.at = now;
  ++counters_.rx_packets;
  counters_.rx_bytes += bytes;
}

/// As accept_ip() would, of a pair that has been there. False: it has not, or something is unusual,
/// and nothing has been changed.
inline bool FrameLanPort::try_accept_known(Packet& packet, Instant now) {
  using namespace ip_layout;
  if (packet.bytes < header_bytes + v6::bytes) return false;
  const uint8_t* const frame = packet.data;
  const uint8_t* const ip = frame + header_bytes;
  Neighbour* const* sender = nullptr;
  uint32_t bytes = 0;
  if (ip[0] >> 4 == 4) {
    sender = ipv4_pairs_.find(ipv4_pair_of(frame));
    bytes = load<be16>(ip + v4::total_length);
    if (bytes < v4::bytes) return false;
  } else if (ip[0] >> 4 == 6 && !may_be_neighbour_message({frame, packet.bytes})) {
    sender = ipv6_pairs_.find(ipv6_pair_of(frame));
    bytes = v6::bytes + load<be16>(ip + v6::payload_length);
  }
  if (sender == nullptr) return false;
  if (bytes > packet.bytes - header_bytes || bytes > facts_.payload_max) return false;
  if (Neighbour* const it = *sender) {
    if (!is_source_of(ip, it->ip)) return false;  // its place has been taken since
    if (it->overhear(mac_at({frame, header_bytes}, source_offset), now)) tell_of(*it);
  }
  deliver(packet, bytes, now);
  return true;
}

/// Strips the frame to its IP packet when it is a host's and for others than us. Another shard has
/// taken its tag out.
inline FrameLanPort::Fate FrameLanPort::accept(Packet& packet, From from, Instant now) {
  if (packet.bytes < header_bytes) return ++counters_.rx_malformed, Fate::Dropped;
  if (from == From::Wire) {
    if (!try_untag(packet)) return Fate::Dropped;
    if (device_->spreads()) {
      if (const auto other = other_shard_of(packet)) return hand_over(packet, *other);
    }
  }
  return try_accept_known(packet, now) ? Fate::Taken : accept_new(packet, from, now);
}

/// Whose flow it is, if it is one and not ours.
std::optional<uint16_t> FrameLanPort::other_shard_of(const Packet& packet) const {
  const std::span<const uint8_t> frame(packet.data, packet.bytes);
  if (may_be_neighbour_message(frame) || may_be_group_query(frame)) return std::nullopt;
  const auto flow = flow_of(frame.subspan(header_bytes));
  if (!flow || *flow % device_->shards() == device_->shard()) return std::nullopt;
  return static_cast<uint16_t>(*flow % device_->shards());
}

size_t FrameLanPort::rx_burst(std::span<Packet*> out, Instant now) {
  const Look seen = try_look(now);
  static_assert(look_every == Duration::from_s(1) / 10);
  if (seen != Look::NotDue) neighbours_.allow_questions(device_->shards());
  if (seen == Look::CameUp) {
    neighbours_.doubt_all();
    groups_.join_anew(device_->interface());
  }
  if (seen != Look::NotDue) speak_of_groups(seen, now);
  return rx_accepted(out, [&](Packet& packet, From from) { return accept(packet, from, now); });
}

FrameLanPort::Fate FrameLanPort::accept_new(Packet& packet, From from, Instant now) {
  const std::span<const uint8_t> frame(packet.data, packet.bytes);
  if (from == From::Shard && may_be_neighbour_message(frame)) {
    if (const auto word = parse_neighbour_message(frame)) {
      on_word_of_shard(*word, now);
      return Fate::Dropped;
    }
  }
  const bool is_for_group = (frame[target_offset] & 1) != 0;
  if (is_mac_at(frame, source_offset, mac_) || (frame[source_offset] & 1) != 0 ||
      (!is_for_group && !is_mac_at(frame, target_offset, mac_))) {
    return ++status_.rx_not_ours, Fate::Dropped;
  }
  if (may_be_neighbour_message(frame)) {
    if (const auto message = parse_neighbour_message(frame)) {
      on_neighbour(frame, *message, now);
      return Fate::Dropped;
    }
  }
  const uint16_t type = type_of(frame);
  if (type == type_ipv4 || type == type_ipv6) {
    return is_for_group ? accept_to_group(packet, from, now) : accept_ip(packet, now);
  }
  return ++status_.rx_other, Fate::Dropped;
}

FrameLanPort::Fate FrameLanPort::accept_ip(Packet& packet, Instant now) {
  const std::span<uint8_t> ip(packet.data + header_bytes, packet.bytes - header_bytes);
  const auto ends = ends_of(ip);
  if (!ends) return ++counters_.rx_malformed, Fate::Dropped;
  // A kernel's interface hands over what its hosts have not cut into segments yet.
  const bool is_long = ends->bytes > ip.size() || ends->bytes > facts_.payload_max;
  if (is_long && has_open_checksums_) return ++status_.rx_joined, Fate::Dropped;
  if (ends->bytes > ip.size()) return ++counters_.rx_malformed, Fate::Dropped;
  const auto [sender, is_news] =
      neighbours_.learn(ends->source, mac_at({packet.data, header_bytes}, source_offset), now);
  if (is_news) tell_of(*sender);
  if (neighbours_.is_local(ends->target)) {
    packet.bytes = header_bytes + ends->bytes;  // Ethernet pads short frames
    return on_local(packet);
  }
  if (ends->source.is_v4()) {
    ipv4_pairs_.keep(ipv4_pair_of(packet.data), sender);
  } else {
    ipv6_pairs_.keep(ipv6_pair_of(packet.data), sender);
  }
  deliver(packet, ends->bytes, now);
  return Fate::Taken;
}

/// For ourselves: a ping, or nothing that we would know of.
FrameLanPort::Fate FrameLanPort::on_local(Packet& packet) {
  ++status_.rx_local;
  if (kernel_ || !try_answer_echo({packet.data + header_bytes, packet.bytes - header_bytes})) {
    return Fate::Dropped;
  }
  const std::span<const uint8_t> frame(packet.data, packet.bytes);
  const uint16_t type = type_of(frame);
  const MacAddress asker = mac_at(frame, source_offset);
  packet.data = put_link_header(packet.data + header_bytes, asker, type);
  packet.bytes += link_bytes() - header_bytes;
  Packet* const answer = &packet;
  if (device_->tx_burst({&answer, 1}) == 0) return Fate::Dropped;
  ++status_.echoes_answered;
  return Fate::Gone;
}

/// Who has it from the wire answers, and tells the other shards.
void FrameLanPort::on_neighbour(std::span<const uint8_t> frame, const NeighbourMessage& message,
                                Instant now) {
  ++status_.rx_neighbour;
  tell_others(frame);
  if (!neighbours_.hear(message, now)) return;
  uint8_t answer[neighbour_message_bytes_max];
  const NeighbourSelf self = {message.target, mac_};
  send_message({answer, encode_neighbour_answer(self, message, answer)});
}

// ---- what shards tell each other ----------------------------------------------------------------

/// As a neighbour would tell of itself: the hosts behind a router are known by their packets alone,
/// which come to one shard.
void FrameLanPort::tell_of(const Neighbour& it) {
  if (device_->shards() == 1) return;
  uint8_t answer[neighbour_message_bytes_max];
  const NeighbourMessage to = {.sender = it.ip, .sender_mac = mac_, .target = it.ip};
  tell_others({answer, encode_neighbour_answer({it.ip, it.mac}, to, answer)});
}

/// Whoever knows of it tells.
void FrameLanPort::ask_others(const HostAddress& host) {
  if (device_->shards() == 1) return;
  uint8_t question[neighbour_message_bytes_max];
  tell_others({question, encode_neighbour_question({host, mac_}, host, question)});
}

/// What one has heard, what it has learned, or a question of its own: nobody else has our MAC.
void FrameLanPort::on_word_of_shard(const NeighbourMessage& word, Instant now) {
  if (word.sender_mac == mac_) {
    const Neighbour* const known = neighbours_.find(word.target);
    if (known != nullptr && known->is_known) tell_of(*known);
    return;
  }
  neighbours_.hear(word, now);
  if (!word.is_question) neighbours_.learn(word.sender, word.sender_mac, now);
}

// ---- groups of multicast ------------------------------------------------------------------------

void FrameLanPort::join(const FrameLanOptions& options) {
  if (device_->shard() > 0) return;
  NeighbourSelf v4{.ip = {}, .mac = mac_};
  const NeighbourSelf v6{.ip = {{}, IpVersion::V6}, .mac = mac_};
  const auto own = std::ranges::find_if(options.addresses,
                                        [](const LanAddress& each) { return each.ip.is_v4(); });
  if (own != options.addresses.end()) v4.ip = own->ip;
  groups_.join(v4, v6, number_of(mac_));
}

FrameLanPort::~FrameLanPort() {
  uint8_t report[group_message_bytes_max];
  while (const size_t bytes = is_up_ ? groups_.next_leave(report) : 0) {
    send_message({report, bytes});
  }
}

/// Of the groups that share a MAC, and of all that come where nothing filters, few are ours.
FrameLanPort::Fate FrameLanPort::accept_to_group(Packet& packet, From from, Instant now) {
  const std::span<const uint8_t> frame(packet.data, packet.bytes);
  if (const auto query = kernel_ ? std::nullopt : parse_group_query(frame)) {
    ++status_.rx_query;
    if (from == From::Wire) tell_others(frame);
    groups_.hear(*query, now);
    return Fate::Dropped;
  }
  const auto ends = ends_of(frame.subspan(header_bytes));
  const bool is_ours = ends && groups_.has(ends->target) &&
                       is_mac_at(frame, target_offset, mac_of_group(ends->target));
  return is_ours ? accept_ip(packet, now) : (++status_.rx_group, Fate::Dropped);
}

void FrameLanPort::speak_of_groups(Look seen, Instant now) {
  if (seen == Look::Down) return;
  uint8_t report[group_message_bytes_max];
  const size_t bytes = groups_.next_report(seen == Look::CameUp, now, report);
  if (bytes == 0) return;
  send_message({report, bytes});
  ++status_.reports;
}

}  // namespace cw
