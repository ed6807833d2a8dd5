#include "dataplane/sdr/swap/swap_desk.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/seat/policy_offer.h"
#include "dataplane/sdr/seat/seat.h"
#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/stream/send/send_stream.h"

namespace cw::sdr {
namespace {

SwapRole role_of(cw_role role) { return role == CW_SOURCE ? SwapRole::Source : SwapRole::Sink; }

/// The end, here, that a record of the peer's is for.
SwapRole role_here(SwapDirection direction) {
  return direction == SwapDirection::SourceIsReceiver ? SwapRole::Source : SwapRole::Sink;
}

}  // namespace

/// What a seat does for an end, whichever stream it is of.
class SwapDesk::StreamSeat : public SwapSeat {
 public:
  StreamSeat(Seat& seat, Duration hold) : seat_(seat), hold_(hold) {}

  void make_next(const SwapPolicy& policy) override { seat_.make_next(policy); }
  Making making() const override { return seat_.making(); }
  bool makes_the_same() const override { return seat_.makes_the_same(); }
  SwapStatus refusal() const override { return seat_.refusal(); }
  SwapSentence refusal_sentence() const override { return seat_.refusal_sentence(); }
  void forget_next() override { seat_.forget_next(); }
  uint16_t policy_epoch() const override { return seat_.current().policy_epoch(); }
  bool is_swapping() const override { return seat_.is_swapping(); }

  bool take_begun() { return std::exchange(has_begun_, false); }
  PolicyChoice policy() const { return seat_.policy(); }
  bool try_list(std::vector<const cw_policy_ops*>& tables) const { return seat_.try_list(tables); }
  bool is_quarantined() const { return seat_.current().is_quarantined(); }
  /// Whether one was quarantined of whom the desk has not heard yet.
  bool take_quarantine() {
    const uint32_t count = seat_.quarantine_count();
    return std::exchange(quarantines_, count) != count;
  }

 protected:
  template <class Stream>
  bool try_begin_of(Stream& stream, MessageSeq boundary, uint16_t policy_epoch, Instant now) {
    const Duration rtts = stream.rtt() * 2;
    const Instant drain_by = hold_ == Duration::max() ? Instant::never() : now + hold_ + rtts;
    if (!stream.try_begin_swap({boundary, policy_epoch, drain_by}, now)) return false;
    has_begun_ = true;
    return true;
  }

 private:
  Seat& seat_;
  Duration hold_;
  bool has_begun_ = false;
  uint32_t quarantines_ = 0;
};

class SwapDesk::SourceSeat final : public StreamSeat {
 public:
  SourceSeat(SendStream& stream, Duration hold)
      : StreamSeat(stream.seat(), hold), stream_(stream) {}
  MessageSeq bind() override { return stream_.bind(); }
  void unbind() override { stream_.unbind(); }
  bool is_sound(MessageSeq, uint16_t) const override { return true; }
  bool try_begin(MessageSeq boundary, uint16_t policy_epoch, Instant now) override {
    return try_begin_of(stream_, boundary, policy_epoch, now);
  }

 private:
  SendStream& stream_;
};

class SwapDesk::SinkSeat final : public StreamSeat {
 public:
  SinkSeat(RecvStream& stream, Duration hold) : StreamSeat(stream.seat(), hold), stream_(stream) {}
  MessageSeq bind() override { return {}; }
  void unbind() override {}
  bool is_sound(MessageSeq boundary, uint16_t policy_epoch) const override {
    const auto next_epoch = static_cast<uint16_t>(this->policy_epoch() + 1);
    return policy_epoch == next_epoch && stream_.may_begin_at(boundary);
  }
  bool try_begin(MessageSeq boundary, uint16_t policy_epoch, Instant now) override {
    return try_begin_of(stream_, boundary, policy_epoch, now);
  }

 private:
  RecvStream& stream_;
};

/// What is ordered after a quarantine, of both directions of a QP; null: nothing.
using Refuge = std::shared_ptr<const SwapPolicy>;

struct SwapDesk::Direction {
  Direction(SwapRole end_role, uint16_t number, std::unique_ptr<StreamSeat> its_seat,
            Refuge in_need, Counters& counters)
      : role(end_role),
        qp(number),
        seat(std::move(its_seat)),
        refuge(std::move(in_need)),
        end(role, qp, *seat, counters) {}

  SwapRole role;
  uint16_t qp;
  std::unique_ptr<StreamSeat> seat;
  Refuge refuge;
  int reliefs_left = 0;  // orders of it, since the last quarantine
  Instant relief_due = Instant::never();
  SwapEnd end;
};

SwapPolicy named(const PolicyChoice& policy) {
  const PolicyOffer offer = PolicyOffer::of(policy);
  if (!SwapPolicy::fits(offer.name, offer.params)) return {};
  return {std::string_view(offer.name), std::string_view(offer.params)};
}

SwapDesk::SwapDesk(Counters& counters) : counters_(counters) {}
SwapDesk::~SwapDesk() = default;

void SwapDesk::add(uint16_t qp, SendStream* send, RecvStream* recv, Duration hold,
                   const PolicyChoice& refuge) {
  const Refuge shared =
      refuge.ops == nullptr ? nullptr : std::make_shared<const SwapPolicy>(named(refuge));
  const auto add_one = [&](SwapRole role, std::unique_ptr<StreamSeat> seat) {
    directions_.push_back(
        std::make_unique<Direction>(role, qp, std::move(seat), shared, counters_));
  };
  if (send != nullptr) add_one(SwapRole::Source, std::make_unique<SourceSeat>(*send, hold));
  if (recv != nullptr) outcomes_.add(qp, *recv);
  if (recv != nullptr) add_one(SwapRole::Sink, std::make_unique<SinkSeat>(*recv, hold));
}

template <class Do>
void SwapDesk::each(const Do& act) const {
  for (const auto& direction : directions_) act(*direction);
}

SwapDesk::Direction* SwapDesk::direction(uint16_t qp, SwapRole role) const {
  for (const auto& each : directions_) {
    if (each->qp == qp && each->role == role) return each.get();
  }
  return nullptr;
}

const SwapEnd* SwapDesk::find(uint16_t qp, cw_role role) const {
  const Direction* const found = direction(qp, role_of(role));
  return found == nullptr ? nullptr : &found->end;
}

SwapPolicy SwapDesk::policy(uint16_t qp, cw_role role) const {
  const Direction* const found = direction(qp, role_of(role));
  return found == nullptr ? SwapPolicy() : named(found->seat->policy());
}

const cw_policy_ops* SwapDesk::table(uint16_t qp, cw_role role) const {
  const Direction* const found = direction(qp, role_of(role));
  return found == nullptr ? nullptr : found->seat->policy().ops;
}

bool SwapDesk::try_list(std::vector<const cw_policy_ops*>& tables) const {
  bool are_all = true;
  each([&](const Direction& direction) { are_all &= direction.seat->try_list(tables); });
  return are_all;
}

Result<void> SwapDesk::order(uint16_t qp, std::optional<cw_role> role, const SwapPolicy& policy,
                             size_t room, Instant now) {
  if (policy.name.is_empty()) {
    return failure("its name and parameters are longer than records have room for");
  }
  if (policy.bytes() > room) {
    return failure("its parameters take " + std::to_string(policy.bytes()) +
                   " bytes, and the peer takes " + std::to_string(room));
  }
  std::vector<Direction*> ordered;
  for (const cw_role each : {CW_SOURCE, CW_SINK}) {
    if (role.value_or(each) == each) ordered.push_back(direction(qp, role_of(each)));
  }
  if (std::ranges::find(ordered, nullptr) != ordered.end()) {
    return failure("qp " + std::to_string(qp) + " is not configured for this direction");
  }
  return begin(ordered, policy, now);
}

Result<void> SwapDesk::renew(uint16_t qp, cw_role role, size_t room, Instant now) {
  const auto ordered = order(qp, role, policy(qp, role), room, now);
  if (ordered) direction(qp, role_of(role))->end.renews();
  return ordered;
}

Result<void> SwapDesk::begin(std::span<Direction* const> ordered, const SwapPolicy& policy,
                             Instant now) {
  for (Direction* const each : ordered) {
    // One that is under way says so itself.
    if (!each->end.is_idle()) return each->end.order(policy, now);
  }
  is_idle_ = false;
  has_history_ = true;
  for (Direction* const each : ordered) CW_ASSERT(each->end.order(policy, now));
  if (ordered.size() > 1) SwapEnd::join(ordered[0]->end, ordered[1]->end);
  return {};
}

// ---- records ----

template <class Record>
void SwapDesk::pass_on(const Record& record, SwapRole role, Instant now) {
  Direction* const found = direction(record.qp, role);
  if (found == nullptr) return;
  is_idle_ = false;
  has_history_ = true;
  found->end.on_record(record, now);
}

void SwapDesk::on_record(const SwapPrepare& record, Instant now) {
  pass_on(record, role_here(record.direction), now);
}
void SwapDesk::on_record(const SwapReady& record, Instant now) {
  pass_on(record, is_of_sink(record.swap_id) ? SwapRole::Sink : SwapRole::Source, now);
}
void SwapDesk::on_record(const SwapBoundary& record, Instant now) {
  pass_on(record, SwapRole::Sink, now);
}
void SwapDesk::on_record(const SwapAcknowledge& record, Instant now) {
  pass_on(record, SwapRole::Source, now);
}
void SwapDesk::on_record(const SwapCancel& record, Instant now) {
  pass_on(record, role_here(record.direction), now);
}

// ---- what happens here ----

bool SwapDesk::take_begun() {
  if (is_idle_) return false;
  bool has_begun = false;
  each([&](Direction& direction) { has_begun |= direction.seat->take_begun(); });
  return has_begun;
}

void SwapDesk::on_care(size_t room, Instant now) {
  each([&](Direction& direction) { relieve(direction, room, now); });
  if (is_idle_) return;
  each([&](Direction& direction) { direction.end.on_made(now); });
}

/// Who was in quarantine has a stand-in, which may mend nothing: both ends agree on better. What is
/// turned down, because one of them is at something else, is asked for a few times more.
void SwapDesk::relieve(Direction& direction, size_t room, Instant now) {
  constexpr int orders_max = 3;
  constexpr Duration again = Duration::from_s(1);
  if (direction.refuge == nullptr) return;
  if (direction.seat->take_quarantine()) {
    direction.reliefs_left = orders_max;
    direction.relief_due = now;
    is_idle_ = false;
  }
  const bool is_due = direction.reliefs_left > 0 && direction.relief_due <= now;
  if (!is_due || !direction.end.is_idle() || room < direction.refuge->bytes()) return;
  if (!direction.seat->is_quarantined() || direction.refuge->name.is_empty()) {
    direction.reliefs_left = 0;
    return;
  }
  --direction.reliefs_left;
  direction.relief_due = now + again;
  is_idle_ = false;
  has_history_ = true;
  CW_ASSERT(direction.end.order(*direction.refuge, now));
}

void SwapDesk::end_epoch(Instant now) {
  each([&](Direction& direction) { direction.end.end_epoch(now); });
  outcomes_.end_epoch();
  is_idle_ = true;
}

void SwapDesk::on_time(size_t room, Instant now) {
  bool is_idle = true;
  each([&](Direction& direction) {
    direction.end.on_time(now);
    relieve(direction, room, now);
    is_idle &= direction.end.is_idle() && direction.end.offer_due() == Instant::never() &&
               direction.reliefs_left == 0;
  });
  is_idle_ = is_idle;
}

Instant SwapDesk::next_due() const {
  Instant due = Instant::never();
  if (is_idle_) return due;
  each([&](const Direction& direction) {
    due = std::min(due, direction.end.next_due());
    const bool waits = direction.reliefs_left > 0 && direction.end.is_idle();
    if (waits) due = std::min(due, direction.relief_due);
  });
  return due;
}

Instant SwapDesk::offer_due() const {
  Instant due = outcomes_.due();
  if (is_idle_) return due;
  each([&](const Direction& direction) { due = std::min(due, direction.end.offer_due()); });
  return due;
}

bool SwapDesk::offer(EnvelopeWriter& writer, Duration rtt, Instant now) {
  bool has_room = outcomes_.offer(writer, now);
  if (is_idle_) return has_room;
  each([&](Direction& direction) { has_room = has_room && direction.end.offer(writer, rtt, now); });
  return has_room;
}

}  // namespace cw::sdr
