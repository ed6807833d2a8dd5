#include "tests/sim/gateway/transfers.h"

#include <algorithm>
#include <cstring>

namespace cw::sim {
namespace {

constexpr uint64_t mark = 0x7472'616e'7366'6572;
constexpr size_t note_at = 20 + 32;  // behind all headers
constexpr uint64_t transfers_max = 1 << 24;

struct TransferNote {
  uint64_t mark, number, transfer, frame;
};

Instant begin_of(const TransferOptions& options, uint64_t transfer) {
  return options.begin + options.every * static_cast<int64_t>(transfer);
}

}  // namespace

Instant TransferSender::next_due() const {
  return begin_of(options_, transfer_) +
         options_.rate.time_for(Bytes(uint64_t{options_.frame_bytes} * frame_));
}

size_t TransferSender::write_next(std::span<uint8_t> ip, Instant now) {
  if (now < next_due()) return 0;
  FlowOptions flow;
  flow.number = options_.number;
  flow.from = options_.from, flow.to = options_.to;
  flow.dscp = options_.dscp;
  flow.bytes = options_.frame_bytes;
  std::fill_n(ip.begin(), flow.bytes, uint8_t{0});
  write_headers(flow, frame_, ip.data());
  const TransferNote note{mark, options_.number, transfer_, frame_};
  std::memcpy(ip.data() + note_at, &note, sizeof note);
  if (++frame_ == options_.frames) {
    frame_ = 0;
    ++transfer_;
  }
  return flow.bytes;
}

bool TransferReceiver::try_take(const Packet& packet, Instant now) {
  if (packet.bytes != options_.frame_bytes) return false;
  TransferNote note;
  std::memcpy(&note, packet.data + note_at, sizeof note);
  const bool is_ours = note.mark == mark && note.number == options_.number;
  if (!is_ours || note.transfer >= transfers_max) return false;
  if (transfers_.size() <= note.transfer) transfers_.resize(note.transfer + 1);
  Transfer& transfer = transfers_[note.transfer];
  ++transfer.frames;
  transfer.took = now - begin_of(options_, note.transfer);
  return true;
}

}  // namespace cw::sim
