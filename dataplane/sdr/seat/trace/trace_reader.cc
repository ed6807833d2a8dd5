#include "dataplane/sdr/seat/trace/trace_reader.h"

#include <algorithm>
#include <string_view>

#include "dataplane/base/limits.h"
#include "dataplane/sdr/seat/policy_instance.h"

namespace cw::sdr {
namespace {

constexpr uint32_t trace_messages_max = 1u << 16;  // open at once, far above what a stream may have
constexpr uint32_t trace_slots_max = limits::slots_per_message_max;
constexpr size_t name_bytes_max = 256;
constexpr uint64_t places_max = uint64_t{1} << 32;  // an immediate names each slot

/// What an instance is made for, as far as others rely on it.
bool is_sound(const cw_env& env) {
  const uint64_t slots = uint64_t{env.data_slots_max} + env.repair_slots_max;
  return env.seat == CW_SEAT_STREAM && env.role <= CW_SINK && env.peers == 1 &&
         env.messages * slots <= places_max && env.rate_bps <= trace_bps_max &&
         env.payload_bytes <= limits::payload_bytes_max &&
         env.slot_wire_bytes <= limits::frame_bytes_max && env.messages >= 1 &&
         env.messages <= trace_messages_max && env.data_slots_max >= 1 &&
         env.data_slots_max <= trace_slots_max && env.repair_slots_max <= trace_slots_max &&
         env.chunk_slots >= 1 && env.payload_bytes >= 1 && env.paths >= 1 &&
         env.paths <= CW_PATHS_MAX && env.note_bytes_max <= limits::note_bytes_max &&
         env.k <= limits::shards_per_block_max && env.rows <= trace_slots_max &&
         env.m_cap <= trace_slots_max;
}

/// A variant of the alternative with that number, all zeros.
template <class Variant, size_t At = 0>
void begin(Variant& variant, uint8_t kind) {
  if constexpr (At < std::variant_size_v<Variant>) {
    if (kind == At) return void(variant.template emplace<At>());
    begin<Variant, At + 1>(variant, kind);
  }
}

}  // namespace

Result<TraceReader> TraceReader::open(std::span<const uint8_t> bytes) {
  TraceReader reader(bytes);
  if (!reader.try_read_head()) {
    return failure("this is no trace of a policy, or one of another version");
  }
  return reader;
}

bool TraceReader::try_read_head() {
  const auto magic = bytes_.bytes(trace_magic.size());
  if (!std::ranges::equal(magic, trace_magic)) return false;
  head_.policy = bytes_.text();
  head_.version = bytes_.text();
  head_.wire_version = static_cast<uint32_t>(bytes_.number());
  const uint64_t params = bytes_.number();
  if (params > limits::policy_params_max) return false;
  for (uint64_t i = 0; i < params; ++i) {
    const std::string_view name = bytes_.text();
    const auto value = trace_field<double>(bytes_.number());
    head_.params.emplace_back(std::string(name), value);
  }
  fields_of(head_.env, [&]<class Field>(const char*, Field& field) {
    field = trace_field<Field>(bytes_.number());
  });
  head_.env.size = sizeof(cw_env);
  return !bytes_.has_failed() && head_.policy.size() <= name_bytes_max && is_sound(head_.env);
}

template <class Fields>
void TraceReader::take_fields(Fields& fields, TraceBefore& before) {
  uint64_t* last = before.data();
  fields_of(fields, [&]<class Field>(const char*, Field& field) {
    field = trace_field<Field>(bytes_.difference(*last++));
  });
}

Result<std::optional<TracedCall>> TraceReader::next() {
  if (bytes_.is_at_end() && !bytes_.has_failed()) return std::nullopt;
  const size_t begun = bytes_.at();
  TracedCall call;
  take_fact(call, bytes_.byte());
  while ((bytes_.peek() & trace_decision_bit) != 0) {
    take_decision(call, bytes_.byte() & ~trace_decision_bit);
  }
  if (!bytes_.has_failed()) return call;
  return failure("the trace contradicts itself from byte " + std::to_string(begun) + " on");
}

void TraceReader::take_fact(TracedCall& call, uint8_t kind) {
  if (kind >= std::size(traced_fact_names)) return void(bytes_.fail());
  begin(call.fact, kind);
  call.now_ns = static_cast<int64_t>(bytes_.difference(at_ns_));
  std::visit(
      [&]<class Fact>(Fact& fact) {
        if constexpr (HasState<Fact>) call.has_state = bytes_.byte() != 0;
        take_fields(fact, facts_[kind]);
        take_rest(fact, call);
      },
      call.fact);
}

void TraceReader::take_rest(const cw_fact_arrived& fact, TracedCall& call) {
  const cw_env& env = head_.env;
  take_words(fact.word_first, fact.word_count, env.data_slots_max, call.data_words);
  take_words(fact.repair_word_first, fact.repair_word_count, env.repair_slots_max,
             call.repair_words);
}

void TraceReader::take_words(uint32_t first, uint32_t count, uint32_t slots,
                             std::vector<uint64_t>& words) {
  const uint32_t there = (slots + 63) / 64;
  if (count == 0 && first == 0) return;
  if (first >= there || count > there - first) return void(bytes_.fail());
  for (uint32_t i = 0; i < count && !bytes_.has_failed(); ++i) {
    words.push_back(unfolded(bytes_.number()));
  }
}

void TraceReader::take_rest(const cw_fact_link& fact, TracedCall& call) {
  if (fact.paths > CW_PATHS_MAX) return void(bytes_.fail());
  for (uint32_t i = 0; i < fact.paths; ++i) take_fields(call.paths.emplace_back(), path_);
}

void TraceReader::take_rest(const cw_fact_note& fact, TracedCall& call) {
  const auto note = bytes_.bytes(fact.count);
  call.note.assign(note.begin(), note.end());
}

void TraceReader::take_decision(TracedCall& call, uint8_t kind) {
  const bool is_one = kind < std::size(traced_decision_names);
  if (!is_one || call.decided.size() == decisions_per_call) return void(bytes_.fail());
  TracedWord& word = call.decided.emplace_back();
  begin(word.decision, kind);
  std::visit([&](auto& decision) { take_fields(decision, decisions_[kind]); }, word.decision);
  const auto* const note = std::get_if<cw_note>(&word.decision);
  if (note == nullptr || bytes_.byte() == 0) return;
  const auto bytes = bytes_.bytes(note->count);
  word.note.emplace(bytes.begin(), bytes.end());
}

}  // namespace cw::sdr
