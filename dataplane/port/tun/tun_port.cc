#include "dataplane/port/tun/tun_port.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

constexpr size_t joined_bytes_max = 65536;

}  // namespace

Result<std::unique_ptr<TunPort>> TunPort::make(const TunPortOptions& options) {
  CW_ASSERT(options.packets > 0);
  auto device = TunDevice::make(options.device);
  if (!device) return std::unexpected(std::move(device.error()));
  return std::unique_ptr<TunPort>(new TunPort(std::move(*device), options.packets));
}

TunPort::TunPort(TunDevice device, size_t packets)
    : device_(std::move(device)),
      pool_(packets),
      buffers_(packets, device_.mtu()),
      joined_(std::make_unique_for_overwrite<uint8_t[]>(joined_bytes_max + device_.mtu())) {
  facts_.name = "tun";
  facts_.payload_max = device_.mtu();
  facts_.wait_fd = device_.fd();
  facts_.icrc = IcrcMode::None;
  facts_.sees_psns = false;
  status_.name = device_.name();
  status_.has_offload = device_.has_offload();
  status_.is_taken = device_.is_taken();
}

Packet* TunPort::try_take() {
  Packet* packet = pool_.try_take();
  if (packet == nullptr) return nullptr;
  *packet = {};
  packet->data = buffers_.at(pool_.index_of(packet));
  packet->bytes_max = facts_.payload_max;
  return packet;
}

size_t TunPort::take_burst(std::span<Packet*> out) {
  size_t count = 0;
  while (count < out.size() && (out[count] = try_take()) != nullptr) ++count;
  return count;
}

void TunPort::give_back(std::span<Packet* const> packets) {
  for (Packet* packet : packets) pool_.give_back(packet);
}

// ---- in -----------------------------------------------------------------------------------------

// Without a free packet nothing is read: the kernel's queue holds what comes, and bounds it.
size_t TunPort::rx_burst(std::span<Packet*> out, Instant now) {
  size_t count = 0;
  is_drained_ = false;
  while (count < out.size() && !is_drained_) {
    if (Packet* packet = try_read(now)) out[count++] = packet;
  }
  return count;
}

/// The next packet, from what is left of a joined one or from the kernel; null when there is none
/// (is_drained_) or when it was refused.
Packet* TunPort::try_read(Instant now) {
  Packet* packet = try_take();
  if (packet == nullptr) {
    is_drained_ = true;
    return nullptr;
  }
  if (splitter_.pieces_left() > 0) return take_piece(packet, now);

  // A packet of at most the MTU arrives in place; only the rest of a joined one elsewhere.
  VnetHeader header;
  const iovec places[] = {{&header, sizeof header},
                          {packet->data, packet->bytes_max},
                          {joined_.get() + packet->bytes_max, joined_bytes_max}};
  ++counters_.system_calls;
  const ssize_t bytes = readv(device_.fd(), places, std::size(places));
  if (bytes < static_cast<ssize_t>(sizeof header)) {
    if (bytes < 0 && errno != EAGAIN && errno != EINTR) ++status_.device_errors;
    is_drained_ = true;
    pool_.give_back(packet);
    return nullptr;
  }
  return accept(packet, static_cast<size_t>(bytes) - sizeof header, header, now);
}

Packet* TunPort::accept(Packet* packet, size_t bytes, const VnetHeader& header, Instant now) {
  const auto offload = parse_offload(header);
  if (!offload) return refuse(packet);
  if (offload->gso != Gso::None) return begin_split(packet, bytes, *offload, now);
  if (bytes == 0 || bytes > packet->bytes_max) return refuse(packet);
  if (offload->needs_checksum && !complete_checksum({packet->data, bytes}, *offload)) {
    return refuse(packet);
  }
  return finish(packet, bytes, now);
}

/// `packet` holds the beginning of the joined packet, and becomes its first piece.
Packet* TunPort::begin_split(Packet* packet, size_t bytes, const Offload& offload, Instant now) {
  std::memcpy(joined_.get(), packet->data, std::min<size_t>(bytes, packet->bytes_max));
  const auto splitter = Splitter::make({joined_.get(), bytes}, offload);
  if (!splitter || splitter->piece_bytes_max() > packet->bytes_max) return refuse(packet);
  splitter_ = *splitter;
  ++status_.rx_joined;
  return take_piece(packet, now);
}

Packet* TunPort::take_piece(Packet* packet, Instant now) {
  ++status_.rx_pieces;
  return finish(packet, splitter_.next({packet->data, packet->bytes_max}), now);
}

Packet* TunPort::refuse(Packet* packet) {
  ++counters_.rx_malformed;
  pool_.give_back(packet);
  return nullptr;
}

Packet* TunPort::finish(Packet* packet, size_t bytes, Instant now) {
  packet->bytes = static_cast<uint32_t>(bytes);
  packet->at = now;
  ++counters_.rx_packets;
  counters_.rx_bytes += bytes;
  return packet;
}

// ---- out ----------------------------------------------------------------------------------------

size_t TunPort::tx_burst(std::span<Packet* const> packets, Instant) {
  size_t sent = 0;
  while (sent < packets.size()) {
    const size_t count = join(packets.subspan(sent));
    const auto joined = packets.subspan(sent, count);
    if (!try_write(joined)) break;
    give_back(joined);
    sent += count;
  }
  counters_.tx_refused += packets.size() - sent;
  return sent;
}

/// How many packets from the front can leave as one; merger_ holds them.
size_t TunPort::join(std::span<Packet* const> packets) {
  const auto bytes_of = [](const Packet* p) { return std::span<const uint8_t>(p->data, p->bytes); };
  size_t count = 1;
  merger_.begin(bytes_of(packets.front()));
  if (!status_.has_offload) return count;
  const size_t most = std::min(packets.size(), limits::burst_packets_max);
  while (count < most && merger_.try_add(bytes_of(packets[count]))) ++count;
  return count;
}

/// Hands what merger_ holds to the kernel. False when it has no room just now; a packet that it
/// refuses for good is lost and counted.
bool TunPort::try_write(std::span<Packet* const> packets) {
  VnetHeader header{};
  size_t piece_count = 0, header_bytes = 0, bytes = 0;
  pieces_[piece_count++] = {&header, sizeof header};
  if (packets.size() > 1) {
    const auto headers = merger_.write_headers();
    header = encode_offload(merger_.offload());
    header_bytes = headers.size();
    pieces_[piece_count++] = {const_cast<uint8_t*>(headers.data()), header_bytes};
  }
  for (const Packet* packet : packets) {
    pieces_[piece_count++] = {packet->data + header_bytes, packet->bytes - header_bytes};
    bytes += packet->bytes;
  }
  ++counters_.system_calls;
  if (writev(device_.fd(), pieces_.data(), static_cast<int>(piece_count)) < 0) {
    if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) return false;
    status_.tx_lost += packets.size();
    return true;
  }
  counters_.tx_packets += packets.size();
  counters_.tx_bytes += bytes;
  status_.tx_joined += packets.size() > 1;
  status_.tx_pieces += packets.size() > 1 ? packets.size() : 0;
  return true;
}

}  // namespace cw
