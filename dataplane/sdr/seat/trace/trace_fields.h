// What a trace holds: everything an instance of a policy is told, and everything it decides, field
// by field. Written, read and shown by this one list, in this order.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <variant>

#include "dataplane/policy.h"

namespace cw::sdr {

// ---- calls of the table that have no struct of their own ----

struct TimerFact {
  uint64_t cookie = 0;
};
struct DrainFact {
  int64_t by_ns = 0;
};
struct ResumeFact {};
struct EndedFact {
  uint32_t message = 0;
  void* state = nullptr;
};
/// A decision of a kind that this program does not know, which the core refuses.
struct UnknownDecision {
  uint32_t kind = 0;
};

/// One call into a policy. Its place in this row is its number in a trace: what is new comes last.
using TracedFact =
    std::variant<cw_fact_opened, cw_fact_appended, cw_fact_block_closed, cw_fact_closed,
                 cw_fact_sent, cw_fact_refused, cw_fact_arrived, cw_fact_lost, cw_fact_note,
                 cw_fact_coded, cw_fact_expired, cw_fact_link, cw_fact_budget, cw_fact_step,
                 cw_fact_departed, TimerFact, DrainFact, ResumeFact, EndedFact>;
inline constexpr const char* traced_fact_names[] = {
    "opened",   "appended", "block_closed", "closed",  "sent", "refused", "arrived",
    "lost",     "note",     "coded",        "expired", "link", "budget",  "step",
    "departed", "timer",    "drain",        "resume",  "ended"};
static_assert(std::size(traced_fact_names) == std::variant_size_v<TracedFact>);

/// The same of one decision.
using TracedDecision = std::variant<cw_send, cw_code, cw_note, cw_timer, cw_release, cw_finish,
                                    cw_layout, cw_ask, UnknownDecision>;
inline constexpr const char* traced_decision_names[] = {
    "send", "code", "note", "timer", "release", "finish", "layout", "ask", "unknown"};
static_assert(std::size(traced_decision_names) == std::variant_size_v<TracedDecision>);

/// The place of a type among those of a variant.
template <class Wanted, class Variant>
struct PlaceIn;
template <class Wanted, class... Rest>
struct PlaceIn<Wanted, std::variant<Wanted, Rest...>> : std::integral_constant<uint8_t, 0> {};
template <class Wanted, class First, class... Rest>
struct PlaceIn<Wanted, std::variant<First, Rest...>>
    : std::integral_constant<uint8_t, 1 + PlaceIn<Wanted, std::variant<Rest...>>::value> {};

/// It is about a message, or may be: its memory is the policy's.
template <class Fact>
concept HasState = requires(Fact fact) { fact.state; };

/// Const or not.
template <class T, class Wanted>
concept Of = std::same_as<std::remove_const_t<T>, Wanted>;

// ---- the fields: visit(name, field) of each; pointers are none ----

void fields_of(Of<cw_env> auto& env, auto&& visit) {
  visit("seat", env.seat);
  visit("role", env.role);
  visit("peers", env.peers);
  visit("messages", env.messages);
  visit("data_slots_max", env.data_slots_max);
  visit("repair_slots_max", env.repair_slots_max);
  visit("chunk_slots", env.chunk_slots);
  visit("payload_bytes", env.payload_bytes);
  visit("slot_wire_bytes", env.slot_wire_bytes);
  visit("note_bytes_max", env.note_bytes_max);
  visit("paths", env.paths);
  visit("k", env.k);
  visit("rows", env.rows);
  visit("m_cap", env.m_cap);
  visit("codecs", env.codecs);
  visit("rate_bps", env.rate_bps);
}

void fields_of(Of<cw_fact_opened> auto& fact, auto&& visit) {
  visit("message", fact.message);
  visit("slots", fact.slots);
  visit("deadline_ns", fact.deadline_ns);
  visit("hint_bytes", fact.hint_bytes);
  visit("hint_step", fact.hint_step);
  visit("hint_kind", fact.hint_kind);
  visit("hint_last", fact.hint_last);
}

void fields_of(Of<cw_fact_appended> auto& fact, auto&& visit) {
  visit("message", fact.message);
  visit("first", fact.first);
  visit("count", fact.count);
}

void fields_of(Of<cw_fact_block_closed> auto& fact, auto&& visit) {
  visit("message", fact.message);
  visit("block", fact.block);
  visit("slots", fact.slots);
  visit("rows", fact.rows);
  visit("k", fact.k);
  visit("m", fact.m);
  visit("slot_first", fact.slot_first);
  visit("repair_first", fact.repair_first);
  visit("codec", fact.codec);
}

void fields_of(Of<cw_fact_closed> auto& fact, auto&& visit) {
  visit("message", fact.message);
  visit("slots", fact.slots);
}

void fields_of(Of<cw_fact_sent> auto& fact, auto&& visit) {
  visit("message", fact.message);
  visit("first", fact.first);
  visit("count", fact.count);
  visit("stride", fact.stride);
  visit("psn_first", fact.psn_first);
  visit("path", fact.path);
  visit("kind", fact.kind);
  visit("departed_ns", fact.departed_ns);
}

void fields_of(Of<cw_fact_refused> auto& fact, auto&& visit) {
  visit("message", fact.message);
  visit("first", fact.first);
  visit("count", fact.count);
  visit("stride", fact.stride);
  visit("decision", fact.decision);
  visit("reason", fact.reason);
}

/// The words of the bitmaps that changed follow.
void fields_of(Of<cw_fact_arrived> auto& fact, auto&& visit) {
  visit("message", fact.message);
  visit("word_first", fact.word_first);
  visit("word_count", fact.word_count);
  visit("repair_word_first", fact.repair_word_first);
  visit("repair_word_count", fact.repair_word_count);
  visit("first_missing", fact.first_missing);
  visit("highest", fact.highest);
  visit("slots", fact.slots);
  visit("duplicates", fact.duplicates);
  visit("path", fact.path);
}

void fields_of(Of<cw_fact_lost> auto& fact, auto&& visit) {
  visit("message", fact.message);
  visit("first", fact.first);
  visit("count", fact.count);
  visit("path", fact.path);
  visit("stride", fact.stride);
}

/// Its bytes follow.
void fields_of(Of<cw_fact_note> auto& fact, auto&& visit) { visit("count", fact.count); }

void fields_of(Of<cw_fact_coded> auto& fact, auto&& visit) {
  visit("message", fact.message);
  visit("block", fact.block);
  visit("result", fact.result);
  visit("need", fact.need);
  visit("slot_first", fact.slot_first);
  visit("repair_first", fact.repair_first);
  visit("row_first", fact.row_first);
  visit("row_count", fact.row_count);
}

void fields_of(Of<cw_fact_expired> auto& fact, auto&& visit) {
  visit("message", fact.message);
  visit("first", fact.first);
  visit("count", fact.count);
}

/// Its paths follow.
void fields_of(Of<cw_fact_link> auto& fact, auto&& visit) {
  visit("paths", fact.paths);
  visit("rate_bps", fact.rate_bps);
  visit("rtt_ns", fact.rtt_ns);
}

void fields_of(Of<cw_path_facts> auto& path, auto&& visit) {
  visit("rtt_min_ns", path.rtt_min_ns);
  visit("rtt_smooth_ns", path.rtt_smooth_ns);
  visit("rtt_var_ns", path.rtt_var_ns);
  visit("loss", path.loss);
  visit("loss_low", path.loss_low);
  visit("loss_high", path.loss_high);
  visit("burst_mean", path.burst_mean);
  visit("reorder_ns", path.reorder_ns);
  visit("queue_delay_ns", path.queue_delay_ns);
  visit("mtu", path.mtu);
  visit("is_up", path.is_up);
}

void fields_of(Of<cw_fact_budget> auto& fact, auto&& visit) {
  visit("backlog_ns", fact.backlog_ns);
  visit("slot_credit", fact.slot_credit);
  visit("repair_bytes", fact.repair_bytes);
}

void fields_of(Of<cw_fact_step> auto& fact, auto&& visit) {
  visit("step", fact.step);
  visit("message", fact.message);
  visit("peer", fact.peer);
  visit("sources", fact.sources);
  visit("sources_done", fact.sources_done);
  visit("expected_bytes", fact.expected_bytes);
  visit("received_bytes", fact.received_bytes);
  visit("rate_bps", fact.rate_bps);
  visit("deadline_ns", fact.deadline_ns);
  visit("rtt_ns", fact.rtt_ns);
  visit("rtt_var_ns", fact.rtt_var_ns);
}

void fields_of(Of<cw_fact_departed> auto& fact, auto&& visit) {
  visit("message", fact.message);
  visit("slots", fact.slots);
  visit("answered_ns", fact.answered_ns);
}

void fields_of(Of<TimerFact> auto& fact, auto&& visit) { visit("cookie", fact.cookie); }
void fields_of(Of<DrainFact> auto& fact, auto&& visit) { visit("by_ns", fact.by_ns); }
void fields_of(Of<ResumeFact> auto&, auto&&) {}
void fields_of(Of<EndedFact> auto& fact, auto&& visit) { visit("message", fact.message); }

}  // namespace cw::sdr
