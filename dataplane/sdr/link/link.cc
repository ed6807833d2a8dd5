#include "dataplane/sdr/link/link.h"

#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/seat/care/seat_care.h"
#include "dataplane/sdr/seat/policy_needs.h"
#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/stream/send/send_stream.h"

namespace cw::sdr {
namespace {

constexpr uint8_t ecn_congestion = 3;

std::vector<PolicyOffer> offers_of(std::span<const PolicyChoice> policies) {
  std::vector<PolicyOffer> offers;
  for (const PolicyChoice& policy : policies) offers.push_back(PolicyOffer::of(policy));
  return offers;
}

/// The policy that an offer of both ends stands for goes to the seat: of the version that it has
/// had since a swap, if it has had one of that name.
Result<void> settle(Seat& seat, std::span<const PolicyChoice> policies,
                    std::span<const PolicyOffer> sender, std::span<const PolicyOffer> receiver,
                    Instant now) {
  const auto wish_of = [](std::span<const PolicyOffer> row) {
    return row.empty() ? "none" : printable(row.front().name);
  };
  const auto offer = common_policy(sender, receiver);
  if (!offer) {
    return failure("its sender is to run " + wish_of(sender) + " and its receiver " +
                   wish_of(receiver) + ", and there is no policy that both can: name one in both");
  }
  const auto is_it = [&](const PolicyChoice& each) {
    return PolicyOffer::of(each).name == offer->name;
  };
  const PolicyChoice wish = seat.wish();
  const PolicyChoice policy = is_it(wish) ? wish : *std::ranges::find_if(policies, is_it);
  const auto params = parse_params(*policy.ops, offer->params);
  if (!params) {
    return failure("policy " + offer->name + " of the peer: " + printable(params.error().sentence));
  }
  return seat.settle({policy.ops, *params}, now);
}

}  // namespace

Result<std::unique_ptr<Link>> Link::make(const LinkOptions& options, const LinkRooms& rooms,
                                         Instant now) {
  if (options.control.paths == 0 || options.control.paths > limits::paths_max) {
    return failure("paths is " + std::to_string(options.control.paths) + " and must be 1 to " +
                   std::to_string(limits::paths_max));
  }
  std::unique_ptr<Link> link(new Link(options, rooms, now));
  for (const QpOptions& qp : options.qps) {
    if (const auto added = link->add_qp(qp, now); !added) return std::unexpected(added.error());
  }
  return link;
}

Link::Link(const LinkOptions& options, const LinkRooms& rooms, Instant now)
    : port_(rooms.port),
      sees_psns_(options.control.sees_psns),
      stock_(rooms.stock),
      desk_(rooms.desk),
      stage_(rooms.stage),
      peer_(options.peer),
      number_(options.control.number),
      counters_(rooms.counters),
      drops_(rooms.drops),
      random_(options.control.random),
      fallback_(options.fallback),
      quota_(options.quota),
      line_({.peer = options.peer,
             .paths = options.control.paths,
             .path_weights = options.path_weights,
             .payload_bytes = options.control.payload_bytes,
             .pacer = options.pacer,
             .rate_control = options.rate_control,
             .grants = options.grants},
            rooms.port, tables_),
      watch_(options.control.paths, options.control.path, tables_),
      swaps_(rooms.counters),
      control_(options.control, stream_configs_, *this, rooms.counters, rooms.drops, now),
      payload_bytes_(options.control.payload_bytes),
      link_told_(now) {}

Result<void> Link::check_qp(const QpOptions& qp) const {
  if (const auto checked = check(qp.stream); !checked) return checked;
  const std::string name = "qp " + std::to_string(qp.stream.qp);
  const bool is_taken = std::ranges::any_of(
      stream_configs_, [&](const StreamConfig& config) { return config.qp == qp.stream.qp; });
  if (is_taken) return failure(name + " exists already");
  if (qp.stream.qp >= limits::qps_max || stream_configs_.size() == limits::qps_max) {
    return failure(name + " is one too many: a link has " + std::to_string(limits::qps_max) +
                   " at most, numbered from 0");
  }
  if (qp.weight == 0 || qp.weight > weight_max) {
    return failure(name + ": weight is " + std::to_string(qp.weight) + " and must be 1 to " +
                   std::to_string(weight_max));
  }
  std::vector<PolicyChoice> policies = qp.policies;
  policies.push_back(qp.policy);
  if (!control_.has_room_for(qp.stream, offers_of(policies))) {
    return failure(name +
                   ": the link's description has no room for it; use fewer channels, "
                   "generations or QPs");
  }
  return {};
}

Result<std::unique_ptr<Seat>> Link::make_seat(const PolicyChoice& policy,
                                              const StreamConfig& stream, cw_role role,
                                              Instant now) const {
  return Seat::make({.policy = policy,
                     .fallback = fallback_,
                     .quota = quota_,
                     .stream = stream,
                     .link = {.rate = line_.rate(), .paths = watch_.paths()},
                     .role = role},
                    now);
}

Result<void> Link::add_qp(const QpOptions& qp, Instant now) {
  if (const auto checked = check_qp(qp); !checked) return checked;
  Qp made{.config = qp.stream, .policies = {qp.policy}, .send = nullptr, .recv = nullptr};
  made.policies.insert(made.policies.end(), qp.policies.begin(), qp.policies.end());
  made.config.payload_bytes = payload_bytes_;
  made.config.seal_bytes = port_.facts().slot_seal_bytes;
  if (const auto reserved = desk_.reserve(made.config); !reserved) return reserved;
  if (qp.send_enable) {
    auto seat = make_seat(qp.policy, made.config, CW_SOURCE, now);
    if (!seat) return std::unexpected(seat.error());
    made.send = std::make_unique<SendStream>(made.config, qp.send, key(), std::move(*seat), desk_,
                                             stock_, line_.transmitter(), tables_, counters_);
  }
  if (qp.recv_enable) {
    auto seat = make_seat(qp.policy, made.config, CW_SINK, now);
    if (!seat) return std::unexpected(seat.error());
    made.recv = std::make_unique<RecvStream>(made.config, std::move(*seat), desk_, tables_,
                                             counters_, drops_);
    if (const auto placed = set_placer(*made.recv); !placed) return placed;
  }
  add_targets(made);
  if (made.send) made.send->set_wake(wake_, care_);
  if (made.recv) made.recv->set_wake(wake_, care_);
  if (made.send) line_.add(*made.send, qp.weight);
  swaps_.add(made.config.qp, made.send.get(), made.recv.get(), qp.send.hold, qp.after_quarantine);
  stream_configs_.push_back(made.config);
  control_.add_pair_keys(pair_keys(made.config));
  qps_.push_back(std::move(made));
  return {};
}

LinkChange LinkChange::of(const LinkOptions& options) {
  LinkChange change{.peer_site = options.control.peer_site,
                    .peer_address = options.control.peer_address,
                    .is_vacant = options.control.is_vacant,
                    .pacer = options.pacer,
                    .adapts = options.rate_control.adapt,
                    .qps = {}};
  for (const QpOptions& qp : options.qps) change.qps.push_back({qp.weight, qp.send.hold});
  return change;
}

void Link::change(LinkChange& change, Instant now) {
  wake_();
  control_.change_peer(change, now);
  CW_ASSERT(change.qps.size() == qps_.size());
  line_.change(change.pacer, change.adapts);
  size_t stream = 0;
  for (size_t i = 0; i < qps_.size(); ++i) {
    if (!qps_[i].send) continue;
    line_.set_weight(stream++, change.qps[i].weight);
    qps_[i].send->set_hold(change.qps[i].hold);
  }
}

/// Where the port places payload: who turns what has come into bits. Where it lands sealed the
/// stream does, once it is opened.
Result<void> Link::set_placer(RecvStream& stream) {
  if (!port_.facts().places_payload) return {};
  stream.set_placer(port_, peer_);
  if (stage_ == nullptr) return {};
  const StreamConfig& config = stream.config();
  const auto number = stage_->add(*this, static_cast<uint16_t>(qps_.size()),
                                  {.ids = config.messages,
                                   .slots_max = config.data_slots_max,
                                   .slot_bits = static_cast<uint8_t>(config.split.slot_bits()),
                                   .user_bits = static_cast<uint8_t>(config.split.user_bits())});
  if (!number) return std::unexpected(number.error());
  stream.set_stage(*stage_, *number);
  return {};
}

void Link::add_targets(const Qp& made) {
  const auto index = static_cast<uint16_t>(qps_.size());
  for (uint8_t generation = 0; generation < made.config.generations; ++generation) {
    for (uint16_t channel = 0; channel < made.config.channels; ++channel) {
      for (uint16_t path = 0; path < paths_told_apart(); ++path) {
        targets_.push_back({made.recv.get(), index, channel, path, generation});
      }
    }
  }
}

Link::~Link() {
  port_.close_queues(peer_, qpn_base_);
  if (stage_ != nullptr) stage_->forget(*this);
}

void Link::set_wake(Activity::Wake wake, Activity::Wake care) {
  wake_ = wake;
  care_ = care;
  for (Qp& qp : qps_) {
    if (qp.send) qp.send->set_wake(wake, care);
    if (qp.recv) qp.recv->set_wake(wake, care);
  }
}

// ---- policies ----

template <class Do>
void Link::each_seat(const Do& act) const {
  for (const Qp& qp : qps_) {
    if (qp.send) act(qp.send->seat());
    if (qp.recv) act(qp.recv->seat());
  }
}

/// First the one by which this end sends, then what else it may have.
std::vector<PolicyChoice> Link::choices_of(const Qp& qp) {
  std::vector<PolicyChoice> choices = qp.policies;
  if (!qp.send) return choices;
  const PolicyChoice wish = qp.send->seat().wish();
  std::erase_if(choices, [&](const PolicyChoice& each) { return each.ops == wish.ops; });
  choices.insert(choices.begin(), wish);
  return choices;
}

std::vector<PolicyOffer> Link::offers(size_t stream, bool has_wish) const {
  const Qp& qp = qps_[stream];
  return offers_of(has_wish ? choices_of(qp) : qp.policies);
}

std::string Link::on_offers(std::span<const std::vector<PolicyOffer>> theirs, Instant now) {
  for (size_t i = 0; i < qps_.size(); ++i) {
    const Qp& qp = qps_[i];
    const std::vector<PolicyChoice> choices = choices_of(qp);
    const std::vector<PolicyOffer> ours = offers_of(choices);
    Result<void> settled;
    if (qp.send) settled = settle(qp.send->seat(), choices, ours, theirs[i], now);
    if (qp.recv && settled) settled = settle(qp.recv->seat(), choices, theirs[i], ours, now);
    if (!settled) return "qp " + std::to_string(qp.config.qp) + ": " + settled.error().sentence;
  }
  return "";
}

bool Link::has_policies() const {
  bool are_there = true;
  each_seat([&](Seat& seat) { are_there &= seat.is_ready(); });
  return are_there;
}

bool Link::try_ask(std::vector<SeatCare>& cares, Instant now) const {
  bool has_room = true;
  each_seat([&](Seat& seat) {
    if (!seat.wants_care()) return;
    has_room = has_room && cares.size() < cares.capacity();
    if (has_room) seat.ask(cares.emplace_back(), now);
  });
  return has_room;
}

void Link::on_care(Instant now) {
  wake_();
  control_.try_come_up(now);
  swaps_.on_care(swap_room(), now);
}

size_t Link::swap_room() const {
  return is_up() && control_.peer_has(Hello::swaps) ? control_.text_room() : 0;
}

Result<void> Link::order_swap(uint16_t qp, std::optional<cw_role> role, const SwapPolicy& policy,
                              Instant now) {
  wake_();
  if (!is_up()) return failure("the link is down: " + why());
  if (!control_.peer_has(Hello::swaps)) {
    return failure("the peer runs a version that cannot change policies while traffic flows");
  }
  return swaps_.order(qp, role, policy, control_.text_room(), now);
}

Source Link::source(uint16_t qp) {
  SendStream* const stream = send_stream(qp);
  return stream == nullptr ? Source() : Source(*stream);
}

Sink Link::sink(uint16_t qp) {
  RecvStream* const stream = recv_stream(qp);
  return stream == nullptr ? Sink() : Sink(*stream);
}

SendStream* Link::send_stream(uint16_t qp) {
  for (Qp& each : qps_) {
    if (each.config.qp == qp) return each.send.get();
  }
  return nullptr;
}

RecvStream* Link::recv_stream(uint16_t qp) {
  for (Qp& each : qps_) {
    if (each.config.qp == qp) return each.recv.get();
  }
  return nullptr;
}

// ---- packets in ----

void Link::on_control(const ControlArrival& arrival, Instant now) {
  wake_();
  control_.on_control(arrival, now);
}

void Link::on_swap(Instant now) {
  if (swaps_.take_begun()) tell_link(now);
}

void Link::on_data(const Arrival& arrival, Instant now) {
  const SlotWrite& slot = arrival.head;
  if (!control_.is_up()) return drops_.add(DropReason::link_down);
  if (arrival.path >= watch_.paths()) return drops_.add(DropReason::path_unknown);
  const uint32_t index = slot.target_qp - qpn_base_;
  if (index >= targets_.size()) return drops_.add(DropReason::qpn_unknown);
  const Target& target = targets_[index];
  const uint16_t path = sees_psns_ ? arrival.path : target.path;
  RecvStream* const stream = target.recv;
  if (stream == nullptr) return drops_.add(DropReason::qpn_unknown);
  const ImmediateSplit::Parts parts = stream->config().split.unpack(slot.immediate);
  if (sees_psns_ && stream->has_key(slot.key)) watch(slot, parts, target, path, now);
  wake_();
  const bool is_believed = stream->on_slot({.slot = slot,
                                            .parts = parts,
                                            .payload = arrival.payload,
                                            .channel = target.channel,
                                            .path = path,
                                            .generation = target.generation,
                                            .is_marked = arrival.ecn == ecn_congestion});
  has_arrivals_ |= is_believed;
  if (!sees_psns_ && is_believed) watch_.on_unnumbered(path, now);
}

bool Link::on_bits(uint16_t qp_index, std::span<const cw_bits_event> events) {
  has_arrivals_ = true;
  wake_();
  return qps_[qp_index].recv->on_bits(events);
}

inline void Link::watch(const SlotWrite& slot, const ImmediateSplit::Parts& parts,
                        const Target& target, uint16_t path, Instant now) {
  GapLedger* const gaps = watch_.on_packet(target.row, path, slot.psn, now);
  const StreamConfig& config = target.recv->config();
  if (gaps == nullptr || parts.id >= config.messages) return;
  gaps->on_fresh(slot.psn, {.qp_index = target.qp_index,
                            .place = parts.id,
                            .seq = target.recv->seq_in(parts.id),
                            .slot = parts.slot,
                            .is_repair = parts.slot >= config.data_slots_max});
}

void Link::flush_arrivals(Instant now) {
  if (!has_arrivals_) return;
  has_arrivals_ = false;
  is_used_ = true;
  for (Qp& qp : qps_) {
    if (qp.recv) qp.recv->flush_facts(now);
  }
  if (!control_.is_up()) return;  // the same burst has ended the epoch: nobody would hear of it
  has_arrivals_since_report_ = true;
  swaps_.outcomes().on_arrivals(now);
  control_.on_data(now);
  if (reports_due_ == Instant::never()) reports_due_ = now;
}

bool Link::tell_lost(Instant now) {
  if (!watch_.settle(now)) return false;
  while (const auto lost = watch_.take_lost(now)) {
    if (lost->slots) {
      qps_[lost->slots->qp_index].recv->on_lost(*lost->slots, lost->path, now);
      continue;
    }
    for (Qp& qp : qps_) {
      if (qp.recv) qp.recv->on_lost({.count = lost->count}, lost->path, now);
    }
  }
  return true;
}

// ---- time ----

bool Link::on_time(Instant now) {
  bool is_due = own_due() <= now;
  line_.on_time(now);
  control_.on_time(now);
  if (!swaps_.is_idle()) swaps_.on_time(swap_room(), now);
  if (is_used_ && control_.is_quiet()) try_rest();
  if (control_.is_up()) is_due |= run_streams(now);
  if (!line_.has_room_for_control() || !has_offer(now)) return is_due;
  write_envelopes(now);
  return true;
}

// What is due, and nothing else: this runs in every turn.
bool Link::run_streams(Instant now) {
  bool is_due = tell_lost(now);
  watch_.on_time(now);
  for (Qp& qp : qps_) {
    if (qp.send && qp.send->next_due() <= now) {
      qp.send->on_time(now);
      is_due = true;
    }
    if (qp.recv && qp.recv->next_due() <= now) {
      qp.recv->on_time(now);
      is_due = true;
    }
  }
  return is_due || line_.has_ready();
}

/// Tables go back to the kernel, once for each time that the link was used: a few system calls. It
/// is awake for a question, so nothing wakes it for this.
void Link::try_rest() {
  const bool is_at_rest =
      line_.is_empty() && watch_.is_at_rest() && std::ranges::all_of(qps_, [](const Qp& qp) {
        return (!qp.send || qp.send->is_at_rest()) && (!qp.recv || qp.recv->is_at_rest());
      });
  if (!is_at_rest) return;
  is_used_ = false;
  tables_.rest();
  each_seat([](Seat& seat) { seat.rest(); });
  counters_.add(Counter::links_rested);
}

// Of what is no stream's.
Instant Link::own_due() const {
  return earliest(control_.next_due(), line_.next_due(), swaps_.next_due());
}

Instant Link::next_wakeup() const {
  Instant due = own_due();
  // What is to be said waits with the envelopes that are written already.
  if (line_.has_room_for_control()) due = std::min(due, offer_due());
  if (!control_.is_up()) return due;
  if (line_.has_ready()) return Instant();
  for (const Qp& qp : qps_) {
    if (qp.send) due = std::min(due, qp.send->next_due());
    if (qp.recv) due = std::min(due, qp.recv->next_due());
  }
  return std::min(due, watch_.next_settle());
}

void Link::carry_alone() {
  if (line_.try_set_beside(false)) wake_();
}

void Link::carry_beside(Link& other, Instant now) {
  carry_alone();
  const bool are_both = is_up() && other.is_up();
  if (other.line_.try_set_beside(are_both)) other.wake_();
  if (are_both) line_.pay_for(other.line_, now);
}

void Link::rebase(Duration shift, Instant now) {
  control_.rebase(shift, now);
  watch_.rebase(shift);
  line_.on_pause(shift, now);
  for (Qp& qp : qps_) {
    if (qp.send) qp.send->rebase(shift);
    if (qp.recv) qp.recv->rebase(shift);
  }
}

// ---- packets out ----

size_t Link::collect(std::span<Send> out, LeavingRows& rows, Instant now) {
  const Line::Collected collected = line_.collect(out, rows, now);
  if (collected.slots > 0) {
    is_used_ = true;
    control_.on_data_sent(now);
    watch_.note_sent(line_.transmitter(), now);
  }
  return collected.sends;
}

}  // namespace cw::sdr
