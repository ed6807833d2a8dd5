#include "dataplane/gateway/order/release.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/gateway/ingress/ip_packet.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace cw::gateway {
namespace {

/// A port without packets has them all on their way: how soon to look again.
constexpr Duration port_retry = Duration::from_us(50);
/// What is longer was an idle time, or a pause of the machine.
constexpr Duration turn_max = Duration::from_us(400);
constexpr Duration pause_max = Duration::from_ms(10);
constexpr Bytes pause_bytes_max = Bytes(1 << 20);

/// Of a lane in each round: as much as one frame may have, so that each round has one of it.
constexpr int64_t share_bytes = limits::frame_bytes_max;

constexpr size_t packets_ahead = 2;

/// The frame is one IP packet, as long as it says: what a LAN may be given.
bool is_ip_packet(std::span<const uint8_t> frame) {
  const auto length_at = [&](size_t at) { return size_t{ip_layout::load<be16>(&frame[at])}; };
  const unsigned version = frame[0] >> 4;
  const size_t header_bytes = (frame[0] & 15u) * 4;
  if (version == 4) {
    return header_bytes >= 20 && header_bytes <= frame.size() && length_at(2) == frame.size();
  }
  return version == 6 && frame.size() >= 40 && length_at(4) + 40 == frame.size();
}

uint8_t ecn_of(std::span<const uint8_t> frame) {
  return frame[0] >> 4 == 4 ? frame[1] & 3 : frame[1] >> 4 & 3;
}

}  // namespace

Release::Release(const ReleaseOptions& options, Port& lan, Counters& counters)
    : options_(options),
      lan_(lan),
      counters_(counters),
      lan_bytes_max_(lan.facts().payload_max),
      ready_(options.frames_max, &memory_) {
  CW_ASSERT(options.rate.bps() > 0);
}

void Release::push(Lane& lane, uint32_t frame) {
  const bool is_at_once = lane.frames_.at(frame).parsed.header.order == FrameOrder::AtOnce;
  if (!is_at_once && lane.is_held_back_) return lane.push(lane.held_back_, frame);
  if (!is_at_once && lane.is_late_) return lane.frames_.drop(frame, DropReason::frame_late);
  lane.push(is_at_once ? lane.at_once_ : lane.in_turn_, frame);
  ++waiting_;
  if (lane.next_ == nullptr) enter(lane);
}

void Release::enter(Lane& lane) {
  lane.bytes_due_ = share_bytes;
  lane.next_ = last_ == nullptr ? &lane : std::exchange(last_->next_, &lane);
  last_ = &lane;
}

void Release::hold_back(Lane& lane) { lane.is_held_back_ = true; }

void Release::set_late(Lane& lane, bool is_late) { lane.is_late_ = is_late; }

void Release::let_go(Lane& lane) {
  lane.is_held_back_ = false;
  while (lane.has_held_back()) push(lane, lane.pop(lane.held_back_));
}

size_t Release::collect(std::span<Packet*> out, Instant now) {
  pace(now);
  expire(now);
  size_t count = 0;
  while (count < out.size() && !ready_.is_empty()) {
    const size_t wanted = std::min(out.size() - count, ready_.count());
    const size_t taken = lan_.take_burst(out.subspan(count, wanted));
    if (taken == 0) {
      retry_at_ = now + port_retry;
      break;
    }
    const size_t written = write_burst(out.subspan(count, taken), now);
    lan_.give_back(out.subspan(count + written, taken - written));
    count += written;
  }
  return count;
}

// Frames of each turn bear its time: the queue behind the pacer begins with it. What the line could
// have carried during the turn before may still leave, however long that took; only idle time is
// worth no more than a burst. What it could have carried while the machine stood still leaves at
// twice the rate, and not at once: hosts' sockets take a hundred frames or two.
void Release::pace(Instant now) {
  const Duration since = now - std::exchange(paced_at_, now);
  const Duration turn = since <= turn_max ? since : Duration();
  const Duration made_up = std::min(pause_, turn);
  pause_ -= made_up;
  const Instant before = now - turn - made_up;
  line_free_ = line_free_ - made_up;
  line_free_ = std::max(line_free_, before - options_.rate.time_for(Bytes(options_.burst_bytes)));
  if (line_free_ > now || waiting_ == 0) return;
  // The last may be on credit. By bytes: a division per turn, not one per frame.
  const uint64_t allowed = options_.rate.bytes_in(now - line_free_).count();
  uint64_t bytes = 0;
  while (bytes <= allowed && last_ != nullptr) {
    Lane& lane = *last_->next_;
    bytes += let_through(lane, now);
    if (lane.is_empty()) {
      leave(*last_);
    } else if (lane.bytes_due_ <= 0) {  // the last frame was on credit
      lane.bytes_due_ += share_bytes;
      last_ = &lane;
    }
  }
  line_free_ += options_.rate.time_for(Bytes(bytes));
}

// There are no more frames than the stock has, so the row is never full. Written where it lies: a
// copy would be read wider than it was written.
inline uint32_t Release::let_through(Lane& lane, Instant now) {
  const uint32_t frame = lane.pop(lane.at_once_.first == no_frame ? lane.in_turn_ : lane.at_once_);
  const ParsedFrame& parsed = lane.frames_.at(frame).parsed;
  Entry& ready = ready_.grow();
  ready.lane = &lane;
  ready.frame = frame;
  ready.bytes = parsed.header.bytes;
  ready.is_marked = parsed.is_marked;
  ready.ready = now;
  --waiting_;
  lane.bytes_due_ -= ready.bytes;
  return ready.bytes;
}

// The lane behind `before` has no more frames.
void Release::leave(Lane& before) {
  Lane& lane = *before.next_;
  before.next_ = lane.next_;
  lane.next_ = nullptr;  // also where it was alone
  if (last_ == &lane) last_ = &before == &lane ? nullptr : &before;
}

void Release::expire(Instant now) {
  while (!ready_.is_empty() && now - ready_.front().ready > options_.queue) {
    const Entry entry = ready_.pop();
    entry.lane->frames_.drop(entry.frame, DropReason::lan_queue_full);
  }
}

void Release::drop_all(Lane& lane) {
  for (FrameRow* row : {&lane.at_once_, &lane.in_turn_}) {
    for (; row->first != no_frame; --waiting_) {
      lane.frames_.drop(lane.pop(*row), DropReason::epoch_over);
    }
  }
  while (lane.has_held_back()) {
    lane.frames_.drop(lane.pop(lane.held_back_), DropReason::epoch_over);
  }
}

// Fills the packets from the front; what is refused takes none.
size_t Release::write_burst(std::span<Packet*> packets, Instant now) {
  size_t written = 0;
  while (written < packets.size() && !ready_.is_empty()) {
    if (written + packets_ahead < packets.size()) {
      __builtin_prefetch(packets[written + packets_ahead], /*rw=*/1);
    }
    if (try_write(ready_.front(), *packets[written], now)) ++written;
    ready_.drop_front();
  }
  counters_.add(Counter::frames_out, written);
  return written;
}

inline bool Release::try_write(const Entry& entry, Packet& packet, Instant now) {
  FrameTable& frames = entry.lane->frames_;
  if (entry.bytes > std::min(packet.bytes_max, lan_bytes_max_)) {
    frames.drop(entry.frame, DropReason::frame_too_big);
    return false;
  }
  entry.lane->slots_.copy(frames.at(entry.frame).parsed, packet.data);
  const std::span<uint8_t> frame(packet.data, entry.bytes);
  if (!is_ip_packet(frame)) {
    frames.drop(entry.frame, DropReason::frame_malformed);
    return false;
  }
  if (options_.decrement_ttl && !try_decrement_ttl(frame)) {
    frames.drop(entry.frame, DropReason::ttl_expired);
    return false;
  }
  mark(entry, frame, now);
  packet.bytes = entry.bytes;
  packet.payload = nullptr;
  packet.payload_bytes = 0;
  packet.at = now;
  frames.leave(entry.frame);
  return true;
}

inline void Release::mark(const Entry& entry, std::span<uint8_t> frame, Instant now) {
  const bool is_queue_long = options_.mark && (now - entry.ready) * 2 > options_.queue;
  if (!entry.is_marked && !is_queue_long) return;
  if (ecn_of(frame) == ecn_ce) return;
  if (try_set_ce(frame)) return counters_.add(Counter::frames_marked);
  if (entry.is_marked) counters_.add(Counter::marks_lost);
}

void Release::forget(Lane& lane) {
  drop_all(lane);
  if (lane.next_ != nullptr) {
    Lane* before = &lane;
    while (before->next_ != &lane) before = before->next_;
    leave(*before);
  }
  for (size_t left = ready_.count(); left > 0; --left) {
    const Entry entry = ready_.pop();
    if (entry.lane == &lane) {
      lane.frames_.drop(entry.frame, DropReason::epoch_over);
    } else {
      CW_ASSERT(ready_.try_push(entry));
    }
  }
}

Instant Release::next_due() const {
  if (!ready_.is_empty()) return retry_at_;
  return waiting_ == 0 ? Instant::never() : line_free_;
}

void Release::rebase(Duration shift) {
  for (size_t i = 0; i < ready_.count(); ++i) ready_.at(i).ready += shift;
  pause_ = std::min({pause_ + shift, pause_max, options_.rate.time_for(pause_bytes_max)});
}

}  // namespace cw::gateway
