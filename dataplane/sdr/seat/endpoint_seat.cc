#include "dataplane/sdr/seat/endpoint_seat.h"

#include <algorithm>
#include <bit>

#include "dataplane/base/assert.h"

namespace cw::sdr {
namespace {

cw_env env_of(const EndpointSeatOptions& options) {
  cw_env env{};
  env.size = sizeof(env);
  env.seat = CW_SEAT_ENDPOINT;
  env.role = CW_SINK;
  env.peers = options.peers;
  env.messages = options.messages;
  env.data_slots_max = options.data_slots_max;
  env.chunk_slots = 1;
  env.payload_bytes = options.payload_bytes;
  env.slot_wire_bytes = options.slot_wire_bytes;
  env.paths = options.paths;
  env.rate_bps = options.rate.bps();
  return env;
}

}  // namespace

Result<std::unique_ptr<EndpointSeat>> EndpointSeat::make(const EndpointSeatOptions& options,
                                                         EndpointActions& actions, Instant now) {
  CW_ASSERT(std::has_single_bit(options.messages) && options.peers > 0);
  std::unique_ptr<EndpointSeat> seat(new EndpointSeat(options, actions));
  auto instance = seat->make_instance(options.policy);
  if (!instance) return std::unexpected(instance.error());
  auto relief = seat->make_instance(options.fallback);
  if (!relief) return std::unexpected(relief.error());
  seat->host_ = std::make_unique<PolicyHost>(std::move(*instance), options.quota, now);
  seat->host_->set_relief(std::move(*relief));
  seat->host_->set_actions(seat.get());
  return seat;
}

Result<std::unique_ptr<PolicyInstance>> EndpointSeat::make_instance(
    const PolicyChoice& policy) const {
  return PolicyInstance::make(policy, env_of(options_));
}

std::unique_ptr<PolicyInstance> EndpointSeat::restart(std::unique_ptr<PolicyInstance> next,
                                                      Instant now) {
  std::ranges::fill(places_, Place());
  return host_->begin(std::move(next), now);
}

// ---- facts ----

void EndpointSeat::opened(uint32_t message, uint32_t slots, Instant now) {
  Place& place = places_[place_of(message)];
  CW_ASSERT(!place.is_open || place.message == message);  // the same again after a quarantine
  place = {.message = message, .slots = slots, .is_open = true};
  host_->zero_state(place_of(message));
  cw_fact_opened fact{};
  fact.message = message;
  fact.slots = slots;
  fact.state = state_of(message);
  fact.deadline_ns = CW_NEVER_NS;
  host_->opened(fact, now);
}

void EndpointSeat::closed(uint32_t message, uint32_t slots, Instant now) {
  CW_ASSERT(is_open(message) && slots <= options_.data_slots_max);
  places_[place_of(message)].slots = slots;
  host_->closed({.message = message, .slots = slots, .state = state_of(message)}, now);
}

void EndpointSeat::arrived(cw_fact_arrived fact, Instant now) {
  CW_ASSERT(is_open(fact.message));
  fact.state = state_of(fact.message);
  host_->arrived(fact, now);
}

void EndpointSeat::departed(cw_fact_departed fact, Instant now) {
  CW_ASSERT(is_open(fact.message));
  fact.state = state_of(fact.message);
  host_->departed(fact, now);
}

void EndpointSeat::lost(cw_fact_lost fact, Instant now) {
  fact.state = is_open(fact.message) ? state_of(fact.message) : nullptr;
  if (fact.state == nullptr) fact.message = CW_UNKNOWN;
  host_->lost(fact, now);
}

void EndpointSeat::expired(cw_fact_expired fact, Instant now) {
  CW_ASSERT(is_open(fact.message));
  fact.state = state_of(fact.message);
  host_->expired(fact, now);
}

void EndpointSeat::step(cw_fact_step fact, Instant now) {
  const bool is_whole = fact.message == CW_UNKNOWN;
  CW_ASSERT(is_whole ? fact.peer == CW_UNKNOWN
                     : is_open(fact.message) && fact.peer < options_.peers);
  fact.state = is_whole ? nullptr : state_of(fact.message);
  host_->step(fact, now);
}

void EndpointSeat::ended(uint32_t message, Instant now) {
  CW_ASSERT(is_open(message));
  places_[place_of(message)].is_open = false;
  host_->ended(message, place_of(message), now);
}

// ---- decisions ----

bool EndpointSeat::has_slots(const Place& place, const cw_ask& ask) const {
  const uint32_t end = place.slots == CW_UNKNOWN ? options_.data_slots_max : place.slots;
  if (ask.count == 0 || ask.first >= end) return false;
  return ask.count == CW_UNKNOWN || ask.count <= end - ask.first;
}

bool EndpointSeat::try_ask(const cw_ask& ask, Instant now) {
  if (!is_open(ask.message)) {
    refuse(ask, CW_REFUSED_MESSAGE);
  } else if (ask.peer >= options_.peers) {
    refuse(ask, CW_REFUSED_PEER);
  } else if (!has_slots(places_[place_of(ask.message)], ask)) {
    refuse(ask, CW_REFUSED_RANGE);
  } else if (!actions_.try_ask(ask, now)) {
    refuse(ask, CW_REFUSED_FULL);
  }
  return true;
}

void EndpointSeat::on_finish(const cw_finish& finish, Instant now) {
  if (is_open(finish.message)) actions_.on_finish(finish, now);
}

void EndpointSeat::on_send(const cw_send& send, Instant) {
  refuse_at_this_seat(CW_DECIDE_SEND, send.message);
}

void EndpointSeat::on_code(const cw_code& code, Instant) {
  refuse_at_this_seat(CW_DECIDE_CODE, code.message);
}

void EndpointSeat::on_note(const cw_note&, std::span<const uint8_t>, uint16_t) {
  refuse_at_this_seat(CW_DECIDE_NOTE, CW_UNKNOWN);
}

void EndpointSeat::on_release(const cw_release& release, Instant) {
  refuse_at_this_seat(CW_DECIDE_RELEASE, release.message);
}

void EndpointSeat::on_quarantine(PolicyHost&, Instant now) { actions_.on_quarantine(now); }

void EndpointSeat::refuse(const cw_ask& ask, cw_refusal reason) {
  host_->refuse({.message = ask.message,
                 .first = ask.first,
                 .count = ask.count,
                 .stride = 1,
                 .decision = CW_DECIDE_ASK,
                 .reason = static_cast<uint16_t>(reason),
                 .reserved = 0,
                 .state = is_open(ask.message) ? state_of(ask.message) : nullptr});
}

void EndpointSeat::refuse_at_this_seat(cw_decision_kind kind, uint32_t message) {
  cw_fact_refused fact{};
  fact.message = message;
  fact.decision = static_cast<uint16_t>(kind);
  fact.reason = CW_REFUSED_SEAT;
  host_->refuse(fact);
}

}  // namespace cw::sdr
