#include "tests/sim/gateway/tcp.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cw::sim {
namespace {

constexpr uint64_t segment_magic = 0x5443502d64617461, answer_magic = 0x5443502d61636b73;
constexpr size_t story_at = 20 + 32;           // behind the headers that write_headers() writes
constexpr size_t told_min = 2, told_max = 32;  // in one: a burst is acknowledged as one
constexpr uint64_t later_min = 3;              // so many sent later have come: it is lost
constexpr Duration answer_late = Duration::from_ms(40);
constexpr Duration timeout_min = Duration::from_ms(200);

struct SegmentStory {
  uint64_t magic, flow, segment, sending;
};
struct AnswerStory {
  uint64_t magic, flow, next, has_mark, told;
  uint64_t segments[told_max], sendings[told_max];
};

template <class Story>
bool try_read(const Packet& packet, uint64_t magic, uint16_t flow, Story& story) {
  if (packet.bytes < story_at + sizeof(story)) return false;
  std::memcpy(&story, packet.data + story_at, sizeof(story));
  return story.magic == magic && story.flow == flow;
}

}  // namespace

// ---- CUBIC ----

void Cubic::on_acknowledged(uint64_t segments, Duration rtt, Instant now) {
  if (is_starting()) {
    window_ += static_cast<double>(segments);
    return;
  }
  grow(segments, rtt, now);
}

void Cubic::grow(uint64_t segments, Duration rtt, Instant now) {
  constexpr double c = 0.4, friendly_step = 3 * (1 - 0.7) / (1 + 0.7);
  if (epoch_ == Instant::never()) {
    epoch_ = now;
    friendly_ = window_;
    origin_ = std::max(most_, window_);
    rise_seconds_ = most_ > window_ ? std::cbrt((most_ - window_) / c) : 0;
  }
  const double t = (now - epoch_).seconds() + rtt.seconds() - rise_seconds_;
  const double cubic = origin_ + c * t * t * t;
  const auto count = static_cast<double>(segments);
  friendly_ += count * friendly_step / window_;
  const double target = std::clamp(std::max(cubic, friendly_), window_, 1.5 * window_);
  double per_segment = (target - window_) / window_;
  if (most_ == 0) per_segment = std::max(per_segment, 0.05);  // as Linux, while nothing was lost
  window_ += count * per_segment;
}

void Cubic::on_rtt(Duration rtt, Duration rtt_min, bool is_new_round, Instant now) {
  constexpr uint32_t samples_max = 8;
  constexpr double window_least = 16;
  if (is_new_round) {
    round_began_ = train_end_ = now;
    round_rtt_ = Duration::max();
    round_samples_ = 0;
  }
  if (!is_starting() || window_ < window_least) return;
  if (now - train_end_ <= Duration::from_ms(2)) {
    train_end_ = now;
    if (now - round_began_ > rtt_min / 2) threshold_ = window_;
  }
  round_rtt_ = std::min(round_rtt_, rtt);
  if (round_samples_++ < samples_max) return;
  const Duration slack = std::clamp(rtt_min / 8, Duration::from_ms(4), Duration::from_ms(16));
  if (round_rtt_ > rtt_min + slack) threshold_ = window_;
}

void Cubic::on_loss() {
  constexpr double beta = 0.7;
  epoch_ = Instant::never();
  // Who had less than before leaves room to others.
  most_ = window_ < most_ ? window_ * (1 + beta) / 2 : window_;
  window_ = threshold_ = std::max(window_ * beta, 2.0);
}

void Cubic::on_timeout() {
  on_loss();
  window_ = 1;
}

// ---- the sender ----

bool TcpSender::try_take(const Packet& packet, Instant now) {
  AnswerStory answer{};
  if (!try_read(packet, answer_magic, options_.number, answer)) return false;
  uint64_t latest = 0;
  Instant latest_sent;
  for (size_t i = 0; i < answer.told; ++i) {
    note_arrival(answer.segments[i], answer.sendings[i]);
    if (answer.segments[i] < first_ || answer.sendings[i] < latest) continue;
    latest = answer.sendings[i];
    latest_sent = at(answer.segments[i]).sent;
  }
  if (latest > 0) note_rtt(now - latest_sent, latest, now);
  const uint64_t acknowledged = answer.next - std::min(answer.next, first_);
  for (; first_ < answer.next; ++first_) {
    if (!segments_.front().is_there) --in_flight_;
    segments_.pop_front();
  }
  lost_.erase(lost_.begin(), lost_.lower_bound(first_));
  find_losses();
  const bool is_recovering = arrived_sending_ < recovery_end_;
  if (answer.has_mark != 0 && !is_recovering) reduce();
  if (acknowledged > 0 && !is_recovering) {
    cubic_.on_acknowledged(acknowledged, rtt_smoothed_, now);
  }
  timeout_ = segments_.empty() ? Instant::never() : now + patience_;
  return true;
}

void TcpSender::note_arrival(uint64_t segment, uint64_t sending) {
  if (segment < first_) return;
  Segment& it = at(segment);
  if (it.is_there) return;
  it.is_there = true;
  if (it.is_lost) {
    it.is_lost = false;
    lost_.erase(segment);
  } else {
    --in_flight_;
  }
  arrived_sending_ = std::max(arrived_sending_, sending);
}

void TcpSender::note_rtt(Duration sample, uint64_t sending, Instant now) {
  rtt_min_ = std::min(rtt_min_, sample);
  if (rtt_smoothed_ == Duration()) {
    rtt_smoothed_ = sample;
    rtt_deviation_ = sample / 2;
  }
  const Duration off = sample > rtt_smoothed_ ? sample - rtt_smoothed_ : rtt_smoothed_ - sample;
  rtt_deviation_ += (off - rtt_deviation_) / 4;
  rtt_smoothed_ += (sample - rtt_smoothed_) / 8;
  patience_ = rtt_smoothed_ + std::max(rtt_deviation_ * 4, timeout_min);
  const bool is_new_round = sending >= round_end_;
  if (is_new_round) round_end_ = sendings_;
  cubic_.on_rtt(sample, rtt_min_, is_new_round, now);
}

void TcpSender::find_losses() {
  bool has_news = false;
  for (; !row_.empty() && row_.front().first + later_min <= arrived_sending_; row_.pop_front()) {
    const auto [sending, segment] = row_.front();
    if (segment < first_) continue;
    Segment& it = at(segment);
    if (it.is_there || it.is_lost || it.sending != sending) continue;
    it.is_lost = has_news = true;
    lost_.insert(segment);
    --in_flight_;
  }
  if (has_news && arrived_sending_ >= recovery_end_) reduce();
}

void TcpSender::reduce() {
  recovery_end_ = sendings_;
  ++cuts_;
  cubic_.on_loss();
}

void TcpSender::on_timeout(Instant now) {
  ++timeouts_;
  cubic_.on_timeout();
  for (uint64_t segment = first_; segment < first_ + segments_.size(); ++segment) {
    Segment& it = at(segment);
    if (it.is_there || it.is_lost) continue;
    it.is_lost = true;
    lost_.insert(segment);
    --in_flight_;
  }
  recovery_end_ = sendings_;
  patience_ = std::min(patience_ * 2, Duration::from_s(60));
  timeout_ = now + patience_;
}

bool TcpSender::is_open() const {
  const bool has_more = !lost_.empty() || first_ + segments_.size() < options_.segments;
  return has_more && static_cast<double>(in_flight_) < cubic_.window();
}

size_t TcpSender::write_next(std::span<uint8_t> ip, Instant now) {
  if (timeout_ <= now) on_timeout(now);
  if (now < paced_ || !is_open()) return 0;
  uint64_t segment = first_ + segments_.size();
  if (lost_.empty()) {
    segments_.emplace_back();
  } else {
    segment = *lost_.begin();
    lost_.erase(lost_.begin());
    ++resent_;
  }
  Segment& it = at(segment);
  it.is_lost = false;
  it.sending = ++sendings_;
  it.sent = now;
  row_.emplace_back(it.sending, segment);
  ++in_flight_;
  if (options_.pause > Duration()) paced_ = now + options_.pause;
  if (timeout_ == Instant::never()) timeout_ = now + patience_;
  const FlowOptions flow{.kind = gateway::PacketKind::Tcp,
                         .number = options_.number,
                         .bytes = options_.bytes,
                         .ecn = static_cast<uint8_t>(options_.is_ecn_capable ? 2 : 0)};
  write_headers(flow, segment, ip.data());
  const SegmentStory story{segment_magic, options_.number, segment, it.sending};
  std::memcpy(ip.data() + story_at, &story, sizeof(story));
  return options_.bytes;
}

Instant TcpSender::next_due() const { return is_open() ? std::min(paced_, timeout_) : timeout_; }

// ---- the receiver ----

bool TcpReceiver::try_take(const Packet& packet, Instant now) {
  SegmentStory story{};
  if (!try_read(packet, segment_magic, options_.number, story)) return false;
  const bool is_marked = (packet.data[1] & 3) == 3;
  marked_ += is_marked;
  has_mark_ |= is_marked;
  const bool is_new = story.segment >= next_ && beyond_.insert(story.segment).second;
  good_ += is_new;
  for (; !beyond_.empty() && *beyond_.begin() == next_; ++next_) beyond_.erase(beyond_.begin());
  told_.push_back({story.segment, story.sending});
  if (told_.size() >= told_min || !beyond_.empty() || !is_new) is_due_ = true;
  if (late_ == Instant::never()) late_ = now + answer_late;
  return true;
}

size_t TcpReceiver::write_next(std::span<uint8_t> ip, Instant now) {
  if (told_.empty() || (!is_due_ && now < late_)) return 0;
  constexpr uint32_t bytes = story_at + sizeof(AnswerStory);
  const FlowOptions flow{.kind = gateway::PacketKind::Tcp,
                         .number = options_.number,
                         .bytes = bytes,
                         .from = 2,
                         .to = 1};
  write_headers(flow, next_, ip.data());
  AnswerStory answer{.magic = answer_magic,
                     .flow = options_.number,
                     .next = next_,
                     .has_mark = has_mark_,
                     .told = std::min(told_.size(), told_max)};
  for (size_t i = 0; i < answer.told; ++i) {
    answer.segments[i] = told_[i].segment;
    answer.sendings[i] = told_[i].sending;
  }
  std::memcpy(ip.data() + story_at, &answer, sizeof(answer));
  told_.erase(told_.begin(), told_.begin() + static_cast<ptrdiff_t>(answer.told));
  has_mark_ = false;
  is_due_ = told_.size() >= told_min || (!told_.empty() && !beyond_.empty());
  late_ = told_.empty() ? Instant::never() : now + answer_late;
  return bytes;
}

}  // namespace cw::sim
