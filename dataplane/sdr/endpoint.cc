#include "dataplane/sdr/endpoint.h"

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>

#include "dataplane/core/wire_drops.h"
#include "dataplane/sdr/stream/send/send_stream.h"

namespace cw::sdr {
namespace {

/// For the control QP of a link that may be.
bool is_control(const Arrival& arrival) {
  return arrival.form == Form::Datagram && arrival.head.key == control_qkey &&
         arrival.head.target_qp - control_qpn_default < limits::links_max;
}

EnvelopePeek peek_of(const Arrival& arrival) {
  return peek_envelope({arrival.payload, arrival.head.payload_bytes});
}

}  // namespace

Endpoint::Endpoint(WanPort& port, Counters& counters, Drops& drops, const CodingOptions& coding)
    : port_(port), counters_(counters), drops_(drops), desk_(coding), stock_(port) {
  if (has_stage()) set_stage(*BitStage::make(nullptr, {}));
}

/// What lands sealed sets no bit before it is opened.
bool Endpoint::has_stage() const {
  const PortFacts& facts = port_.facts();
  return facts.places_payload && facts.slot_seal_bytes == 0;
}

void Endpoint::set_stage(std::unique_ptr<BitStage> stage) {
  CW_ASSERT(links_.empty() && has_stage());
  stage_ = std::move(stage);
}

Result<Link*> Endpoint::add_link(const LinkOptions& options, Instant now) {
  if (links_.size() == Activity::members_max) {
    return failure("a link is one too many: there are " + std::to_string(Activity::members_max) +
                   " at most");
  }
  if (const auto checked = check_key(options); !checked) return std::unexpected(checked.error());
  auto link = Link::make(options, {port_, stock_, desk_, stage_.get(), counters_, drops_}, now);
  if (!link) return std::unexpected(link.error());
  by_key_.resize(std::max<size_t>(by_key_.size(), key_of(options.peer + 1u, 0)));
  by_key_[(*link)->key()] = link->get();
  links_.push_back(std::move(*link));
  links_.back()->set_wake(activity_.wake_of(activity_.add()),
                          wants_care_.wake_of(wants_care_.add()));
  return links_.back().get();
}

Result<void> Endpoint::check_key(const LinkOptions& options) const {
  const uint16_t number = options.control.number;
  if (number >= limits::link_numbers_max || options.peer + size_t{1} >= peer_numbers_max) {
    return failure("link " + std::to_string(number) + " to peer " + std::to_string(options.peer) +
                   " cannot be: links are numbered from 0 to " +
                   std::to_string(limits::link_numbers_max - 1) + ", peers to " +
                   std::to_string(peer_numbers_max - 2));
  }
  if (find(options.peer, number) == nullptr) return {};
  return failure("link " + std::to_string(number) + " to peer " + std::to_string(options.peer) +
                 " exists already");
}

void Endpoint::on_gap(Duration gap, Instant now) {
  for (const auto& link : links_) link->rebase(gap, now);
  if (stage_) stage_->rebase(gap);
  activity_.wake_all();
}

/// What a partition has no room for stays where it waits: nothing is taken that would be lost.
size_t Endpoint::arrivals_max() const {
  return stage_ ? stage_->room() : limits::burst_packets_max;
}

void Endpoint::on_arrivals(std::span<const Arrival> arrivals, Instant now) {
  if (stage_) stage_->expect();
  for (const Arrival& arrival : arrivals) on_arrival(arrival, now);
  settle_bits(now);
  activity_.for_awake([&](size_t i) { links_[i]->flush_arrivals(now); });
}

void Endpoint::settle_bits(Instant now) {
  if (!stage_) return;
  stage_->settle(now);
  is_settled_ = true;
  tell_left();
}

/// Of two that go by one name the one that expects it; null: there is none.
Link* Endpoint::control_link(const Arrival& arrival) const {
  const uint32_t number = arrival.head.target_qp - control_qpn_default;
  Link* const first = find(arrival.peer, number);
  Link* const second = find(arrival.peer, number + limits::links_max);
  if (first == nullptr || second == nullptr) return first != nullptr ? first : second;
  const EnvelopePeek peek = peek_of(arrival);
  return second->control().claim(peek) > first->control().claim(peek) ? second : first;
}

int Endpoint::claim(const Arrival& arrival) const {
  if (arrival.form == Form::Write) {
    return find(arrival.peer, link_of_qpn(arrival.head.target_qp)) == nullptr ? 0 : 1;
  }
  const Link* const link = is_control(arrival) ? control_link(arrival) : nullptr;
  return link == nullptr ? 0 : link->control().claim(peek_of(arrival));
}

bool Endpoint::has_left() const {
  return stock_.kept_count() == 0 && stock_.at_hand_count() == 0 && !desk_.is_busy() &&
         std::ranges::all_of(links_, [](const auto& link) { return link->has_left(); });
}

void Endpoint::on_arrival(const Arrival& arrival, Instant now) {
  const uint32_t qpn = arrival.head.target_qp;  // [C-60]
  if (arrival.form == Form::Write) {
    Link* const link = find(arrival.peer, link_of_qpn(qpn));
    if (link != nullptr) return link->on_data(arrival, now);
  } else if (is_control(arrival)) {
    Link* const link = control_link(arrival);
    // What came before it is known before it, as far as partitions have told.
    settle_bits(now);
    const std::span<const uint8_t> envelope(arrival.payload, arrival.head.payload_bytes);
    if (link != nullptr) return link->on_control({envelope, arrival.path, arrival.session}, now);
  }
  drops_.add(why_unwanted(arrival));
}

DropReason Endpoint::why_unwanted(const Arrival& arrival) const {
  const auto is_its_link = [&](size_t number) { return find(arrival.peer, number) != nullptr; };
  const auto numbers = std::views::iota(size_t{0}, limits::link_numbers_max);
  if (std::ranges::none_of(numbers, is_its_link)) return DropReason::peer_unknown;
  if (arrival.form == Form::Write || is_control(arrival)) return DropReason::link_unknown;
  return arrival.form == Form::Datagram ? DropReason::wire_opcode : reason_of(arrival.error);
}

void Endpoint::tell_left() {
  const uint32_t left = stage_->left_count();
  counters_.add(Counter::offloads_left, left - std::exchange(left_told_, left));
}

/// Of partitions that are not the turn's own: their news come when they come.
bool Endpoint::take_bits(Instant now) {
  if (std::exchange(is_settled_, false) || !stage_) return false;
  const bool has_news = stage_->poll(now);
  tell_left();
  if (!has_news) return false;
  activity_.for_awake([&](size_t i) { links_[i]->flush_arrivals(now); });
  return true;
}

bool Endpoint::on_time(Instant now) {
  desk_.begin_turn();
  bool has_worked = desk_.poll();
  has_worked |= take_bits(now);
  activity_.begin_turn(now);
  activity_.for_awake([&](size_t i) {
    const bool was_due = links_[i]->on_time(now);
    has_worked |= was_due;
    // Who waits for the desk is told nothing when there is room at it.
    if (was_due || !activity_.may_sleep(i) || desk_.is_busy()) return;
    const Instant due = links_[i]->next_wakeup();
    if (due > now) activity_.rest_until(i, due);
  });
  return has_worked;
}

size_t Endpoint::collect(std::span<Send> out, Instant now) {
  size_t filled = 0;
  const auto collect_of = [&](size_t i) {
    if (filled < out.size()) filled += links_[i]->collect(out.subspan(filled), leaving_, now);
  };
  activity_.awake().for_each_from(first_, collect_of);
  first_ = first_ + 1 < links_.size() ? first_ + 1 : 0;
  if (filled == 0) {
    stock_.rest();
  } else {
    stock_.flush();
  }
  return filled;
}

void Endpoint::on_done(std::span<const uint64_t> cookies) {
  for (const uint64_t cookie : cookies) {
    const Lender lender = Lender::unpacked(cookie);
    // One of another endpoint on the same port has a number that no link here has.
    Link* const link = lender.link < by_key_.size() ? by_key_[lender.link] : nullptr;
    if (link != nullptr) link->send_stream(lender.qp)->on_done(lender.place);
  }
}

// ---- policies ----

void Endpoint::ask(std::vector<SeatCare>& cares, Instant now) {
  wants_care_.begin_turn(Instant());
  wants_care_.for_awake([&](size_t i) {
    if (links_[i]->try_ask(cares, now)) wants_care_.rest_until(i, Instant::never());
  });
}

void Endpoint::take(std::vector<SeatCare>& cares, Instant now) {
  for (SeatCare& care : cares) care.seat->take(care, now);
  for (const auto& link : links_) link->on_care(now);
}

void Endpoint::care(Instant now) {
  std::vector<SeatCare> cares;
  cares.reserve(limits::qps_max);
  ask(cares, now);
  for (SeatCare& care : cares) care.fulfil(*finder_);
  if (!cares.empty()) take(cares, now);
}

Instant Endpoint::next_wakeup() const {
  if (desk_.is_busy() || (stage_ && stage_->is_busy())) return Instant();
  Instant due = activity_.next_due();
  activity_.for_awake([&](size_t i) { due = std::min(due, links_[i]->next_wakeup()); });
  return due;
}

}  // namespace cw::sdr
