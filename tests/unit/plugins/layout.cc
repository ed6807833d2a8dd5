#include "tests/unit/plugins/layout.h"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <vector>

#include "dataplane/codec.h"
#include "dataplane/policy.h"

namespace cw::plugins_test {
namespace {

struct Field {
  const char* name;
  size_t offset, bytes;
};
struct Struct {
  const char* name;
  size_t bytes;
  bool is_in_arrays;
  std::vector<Field> fields;
};
struct Value {
  const char* name;
  uint64_t value;
};

#define FIELD(type, name) \
  Field { #name, offsetof(type, name), sizeof(type::name) }
#define STRUCT(type, ...)                       \
  Struct {                                      \
    #type, sizeof(type), false, { __VA_ARGS__ } \
  }
#define ARRAY(type, ...)                       \
  Struct {                                     \
    #type, sizeof(type), true, { __VA_ARGS__ } \
  }
#define VALUE(name) \
  Value { #name, static_cast<uint64_t>(name) }

std::vector<Struct> policy_structs() {
  return {
      ARRAY(cw_param, FIELD(cw_param, name), FIELD(cw_param, unit), FIELD(cw_param, choices),
            FIELD(cw_param, sentence), FIELD(cw_param, type), FIELD(cw_param, reserved),
            FIELD(cw_param, initial), FIELD(cw_param, min), FIELD(cw_param, max)),
      STRUCT(cw_env, FIELD(cw_env, size), FIELD(cw_env, seat), FIELD(cw_env, role),
             FIELD(cw_env, peers), FIELD(cw_env, messages), FIELD(cw_env, data_slots_max),
             FIELD(cw_env, repair_slots_max), FIELD(cw_env, chunk_slots),
             FIELD(cw_env, payload_bytes), FIELD(cw_env, slot_wire_bytes),
             FIELD(cw_env, note_bytes_max), FIELD(cw_env, paths), FIELD(cw_env, k),
             FIELD(cw_env, rows), FIELD(cw_env, m_cap), FIELD(cw_env, codecs),
             FIELD(cw_env, rate_bps), FIELD(cw_env, params), FIELD(cw_env, take),
             FIELD(cw_env, memory), FIELD(cw_env, abi), FIELD(cw_env, reserved)),
      STRUCT(cw_policy_limits, FIELD(cw_policy_limits, k), FIELD(cw_policy_limits, rows),
             FIELD(cw_policy_limits, m_cap), FIELD(cw_policy_limits, notes_per_rtt),
             FIELD(cw_policy_limits, retain_ns), FIELD(cw_policy_limits, recovery_worst_ns)),
      STRUCT(cw_fact_opened, FIELD(cw_fact_opened, message), FIELD(cw_fact_opened, slots),
             FIELD(cw_fact_opened, state), FIELD(cw_fact_opened, deadline_ns),
             FIELD(cw_fact_opened, hint_bytes), FIELD(cw_fact_opened, hint_step),
             FIELD(cw_fact_opened, hint_kind), FIELD(cw_fact_opened, hint_last)),
      STRUCT(cw_fact_appended, FIELD(cw_fact_appended, message), FIELD(cw_fact_appended, first),
             FIELD(cw_fact_appended, count), FIELD(cw_fact_appended, reserved),
             FIELD(cw_fact_appended, state)),
      STRUCT(cw_fact_block_closed, FIELD(cw_fact_block_closed, message),
             FIELD(cw_fact_block_closed, block), FIELD(cw_fact_block_closed, slots),
             FIELD(cw_fact_block_closed, rows), FIELD(cw_fact_block_closed, k),
             FIELD(cw_fact_block_closed, m), FIELD(cw_fact_block_closed, slot_first),
             FIELD(cw_fact_block_closed, repair_first), FIELD(cw_fact_block_closed, codec),
             FIELD(cw_fact_block_closed, reserved), FIELD(cw_fact_block_closed, state)),
      STRUCT(cw_fact_closed, FIELD(cw_fact_closed, message), FIELD(cw_fact_closed, slots),
             FIELD(cw_fact_closed, state)),
      STRUCT(cw_fact_sent, FIELD(cw_fact_sent, message), FIELD(cw_fact_sent, first),
             FIELD(cw_fact_sent, count), FIELD(cw_fact_sent, stride),
             FIELD(cw_fact_sent, psn_first), FIELD(cw_fact_sent, path), FIELD(cw_fact_sent, kind),
             FIELD(cw_fact_sent, departed_ns), FIELD(cw_fact_sent, state)),
      STRUCT(cw_fact_refused, FIELD(cw_fact_refused, message), FIELD(cw_fact_refused, first),
             FIELD(cw_fact_refused, count), FIELD(cw_fact_refused, stride),
             FIELD(cw_fact_refused, decision), FIELD(cw_fact_refused, reason),
             FIELD(cw_fact_refused, reserved), FIELD(cw_fact_refused, state)),
      STRUCT(cw_fact_arrived, FIELD(cw_fact_arrived, message), FIELD(cw_fact_arrived, word_first),
             FIELD(cw_fact_arrived, word_count), FIELD(cw_fact_arrived, repair_word_first),
             FIELD(cw_fact_arrived, repair_word_count), FIELD(cw_fact_arrived, first_missing),
             FIELD(cw_fact_arrived, highest), FIELD(cw_fact_arrived, slots),
             FIELD(cw_fact_arrived, duplicates), FIELD(cw_fact_arrived, path),
             FIELD(cw_fact_arrived, data), FIELD(cw_fact_arrived, repair),
             FIELD(cw_fact_arrived, state)),
      STRUCT(cw_fact_lost, FIELD(cw_fact_lost, message), FIELD(cw_fact_lost, first),
             FIELD(cw_fact_lost, count), FIELD(cw_fact_lost, path), FIELD(cw_fact_lost, stride),
             FIELD(cw_fact_lost, state)),
      STRUCT(cw_fact_note, FIELD(cw_fact_note, count), FIELD(cw_fact_note, reserved),
             FIELD(cw_fact_note, bytes)),
      STRUCT(cw_fact_coded, FIELD(cw_fact_coded, message), FIELD(cw_fact_coded, block),
             FIELD(cw_fact_coded, result), FIELD(cw_fact_coded, need),
             FIELD(cw_fact_coded, slot_first), FIELD(cw_fact_coded, repair_first),
             FIELD(cw_fact_coded, row_first), FIELD(cw_fact_coded, row_count),
             FIELD(cw_fact_coded, state)),
      STRUCT(cw_fact_expired, FIELD(cw_fact_expired, message), FIELD(cw_fact_expired, first),
             FIELD(cw_fact_expired, count), FIELD(cw_fact_expired, reserved),
             FIELD(cw_fact_expired, state)),
      ARRAY(cw_path_facts, FIELD(cw_path_facts, rtt_min_ns), FIELD(cw_path_facts, rtt_smooth_ns),
            FIELD(cw_path_facts, rtt_var_ns), FIELD(cw_path_facts, loss),
            FIELD(cw_path_facts, loss_low), FIELD(cw_path_facts, loss_high),
            FIELD(cw_path_facts, burst_mean), FIELD(cw_path_facts, reorder_ns),
            FIELD(cw_path_facts, queue_delay_ns), FIELD(cw_path_facts, mtu),
            FIELD(cw_path_facts, is_up)),
      STRUCT(cw_fact_link, FIELD(cw_fact_link, paths), FIELD(cw_fact_link, reserved),
             FIELD(cw_fact_link, rate_bps), FIELD(cw_fact_link, rtt_ns), FIELD(cw_fact_link, path)),
      STRUCT(cw_fact_budget, FIELD(cw_fact_budget, backlog_ns), FIELD(cw_fact_budget, slot_credit),
             FIELD(cw_fact_budget, repair_bytes)),
      STRUCT(cw_fact_step, FIELD(cw_fact_step, step), FIELD(cw_fact_step, message),
             FIELD(cw_fact_step, peer), FIELD(cw_fact_step, sources),
             FIELD(cw_fact_step, sources_done), FIELD(cw_fact_step, reserved),
             FIELD(cw_fact_step, expected_bytes), FIELD(cw_fact_step, received_bytes),
             FIELD(cw_fact_step, rate_bps), FIELD(cw_fact_step, deadline_ns),
             FIELD(cw_fact_step, state), FIELD(cw_fact_step, rtt_ns),
             FIELD(cw_fact_step, rtt_var_ns)),
      STRUCT(cw_fact_departed, FIELD(cw_fact_departed, message), FIELD(cw_fact_departed, slots),
             FIELD(cw_fact_departed, answered_ns), FIELD(cw_fact_departed, state)),
      STRUCT(cw_send, FIELD(cw_send, message), FIELD(cw_send, first), FIELD(cw_send, count),
             FIELD(cw_send, stride), FIELD(cw_send, kind), FIELD(cw_send, path_choice),
             FIELD(cw_send, path), FIELD(cw_send, reserved), FIELD(cw_send, not_before_ns),
             FIELD(cw_send, drop_after_ns)),
      STRUCT(cw_code, FIELD(cw_code, message), FIELD(cw_code, block), FIELD(cw_code, slots),
             FIELD(cw_code, rows), FIELD(cw_code, k), FIELD(cw_code, m), FIELD(cw_code, slot_first),
             FIELD(cw_code, repair_first), FIELD(cw_code, codec), FIELD(cw_code, row_first),
             FIELD(cw_code, row_count)),
      STRUCT(cw_note, FIELD(cw_note, offset), FIELD(cw_note, count), FIELD(cw_note, repeat)),
      STRUCT(cw_timer, FIELD(cw_timer, cookie), FIELD(cw_timer, at_ns)),
      STRUCT(cw_release, FIELD(cw_release, message), FIELD(cw_release, up_to)),
      STRUCT(cw_finish, FIELD(cw_finish, message), FIELD(cw_finish, first), FIELD(cw_finish, count),
             FIELD(cw_finish, status)),
      STRUCT(cw_layout, FIELD(cw_layout, codec), FIELD(cw_layout, rows), FIELD(cw_layout, k),
             FIELD(cw_layout, m)),
      STRUCT(cw_ask, FIELD(cw_ask, message), FIELD(cw_ask, peer), FIELD(cw_ask, first),
             FIELD(cw_ask, count)),
      ARRAY(cw_decision, FIELD(cw_decision, kind), FIELD(cw_decision, reserved),
            FIELD(cw_decision, u)),
      STRUCT(cw_out, FIELD(cw_out, decisions), FIELD(cw_out, note_bytes),
             FIELD(cw_out, decision_count), FIELD(cw_out, decision_capacity),
             FIELD(cw_out, note_count), FIELD(cw_out, note_capacity), FIELD(cw_out, more),
             FIELD(cw_out, reserved)),
      STRUCT(
          cw_policy_ops, FIELD(cw_policy_ops, abi), FIELD(cw_policy_ops, size),
          FIELD(cw_policy_ops, name), FIELD(cw_policy_ops, version), FIELD(cw_policy_ops, summary),
          FIELD(cw_policy_ops, params), FIELD(cw_policy_ops, param_count),
          FIELD(cw_policy_ops, wire_version), FIELD(cw_policy_ops, message_state_bytes),
          FIELD(cw_policy_ops, reserved), FIELD(cw_policy_ops, limits),
          FIELD(cw_policy_ops, create), FIELD(cw_policy_ops, destroy), FIELD(cw_policy_ops, opened),
          FIELD(cw_policy_ops, appended), FIELD(cw_policy_ops, block_closed),
          FIELD(cw_policy_ops, closed), FIELD(cw_policy_ops, sent), FIELD(cw_policy_ops, refused),
          FIELD(cw_policy_ops, arrived), FIELD(cw_policy_ops, lost), FIELD(cw_policy_ops, note),
          FIELD(cw_policy_ops, coded), FIELD(cw_policy_ops, timer), FIELD(cw_policy_ops, expired),
          FIELD(cw_policy_ops, link), FIELD(cw_policy_ops, budget), FIELD(cw_policy_ops, step),
          FIELD(cw_policy_ops, drain), FIELD(cw_policy_ops, resume), FIELD(cw_policy_ops, ended),
          FIELD(cw_policy_ops, departed)),
  };
}

std::vector<Value> policy_values() {
  return {VALUE(CW_UNKNOWN),         VALUE(CW_PATHS_MAX),
          VALUE(CW_PARAM_INT),       VALUE(CW_PARAM_REAL),
          VALUE(CW_PARAM_DURATION),  VALUE(CW_PARAM_CHOICE),
          VALUE(CW_SEAT_STREAM),     VALUE(CW_SEAT_ENDPOINT),
          VALUE(CW_SOURCE),          VALUE(CW_SINK),
          VALUE(CW_HINT_NONE),       VALUE(CW_HINT_BULK),
          VALUE(CW_HINT_STEP),       VALUE(CW_SEND_DATA),
          VALUE(CW_SEND_RESEND),     VALUE(CW_SEND_REPAIR),
          VALUE(CW_REFUSED_PATH),    VALUE(CW_REFUSED_EXPIRED),
          VALUE(CW_REFUSED_QUOTA),   VALUE(CW_REFUSED_RANGE),
          VALUE(CW_REFUSED_MESSAGE), VALUE(CW_REFUSED_FULL),
          VALUE(CW_REFUSED_CODEC),   VALUE(CW_REFUSED_PEER),
          VALUE(CW_REFUSED_SEAT),    VALUE(CW_CODED_OK),
          VALUE(CW_CODED_SINGULAR),  VALUE(CW_CODED_NEED_MORE),
          VALUE(CW_DECIDE_SEND),     VALUE(CW_DECIDE_CODE),
          VALUE(CW_DECIDE_NOTE),     VALUE(CW_DECIDE_TIMER),
          VALUE(CW_DECIDE_RELEASE),  VALUE(CW_DECIDE_FINISH),
          VALUE(CW_DECIDE_LAYOUT),   VALUE(CW_DECIDE_ASK),
          VALUE(CW_CHOOSE_ANY),      VALUE(CW_CHOOSE_ID),
          VALUE(CW_CHOOSE_NOT_LAST), VALUE(CW_FINISH_OK),
          VALUE(CW_FINISH_GIVEN_UP)};
}

std::vector<Struct> codec_structs() {
  return {
      STRUCT(cw_shape, FIELD(cw_shape, size), FIELD(cw_shape, k), FIELD(cw_shape, m),
             FIELD(cw_shape, shard_bytes)),
      STRUCT(cw_codec_sizes, FIELD(cw_codec_sizes, table_bytes),
             FIELD(cw_codec_sizes, scratch_bytes), FIELD(cw_codec_sizes, state_bytes)),
      ARRAY(cw_shard, FIELD(cw_shard, id), FIELD(cw_shard, window_first),
            FIELD(cw_shard, window_count), FIELD(cw_shard, reserved), FIELD(cw_shard, bytes)),
      STRUCT(cw_codec_ops, FIELD(cw_codec_ops, abi), FIELD(cw_codec_ops, size),
             FIELD(cw_codec_ops, name), FIELD(cw_codec_ops, version), FIELD(cw_codec_ops, summary),
             FIELD(cw_codec_ops, wire_version), FIELD(cw_codec_ops, traits),
             FIELD(cw_codec_ops, k_max), FIELD(cw_codec_ops, m_max), FIELD(cw_codec_ops, sizes),
             FIELD(cw_codec_ops, generate), FIELD(cw_codec_ops, encode),
             FIELD(cw_codec_ops, decode), FIELD(cw_codec_ops, start), FIELD(cw_codec_ops, take),
             FIELD(cw_codec_ops, give), FIELD(cw_codec_ops, forget)),
  };
}

std::vector<Value> codec_values() {
  return {VALUE(CW_REPAIR_ID),       VALUE(CW_NO_BOUND),      VALUE(CW_CODEC_MDS),
          VALUE(CW_CODEC_IN_STEPS),  VALUE(CW_CODEC_SLIDING), VALUE(CW_DECODE_DONE),
          VALUE(CW_DECODE_SINGULAR), VALUE(CW_DECODE_NEED)};
}

std::string to_text(uint32_t abi, const std::vector<Struct>& structs,
                    const std::vector<Value>& values) {
  std::ostringstream text;
  text << "abi " << (abi >> 16) << '.' << (abi & 0xffff) << '\n';
  for (const Struct& s : structs) {
    text << s.name << ' ' << s.bytes << (s.is_in_arrays ? " in arrays\n" : "\n");
    for (const Field& f : s.fields) {
      text << s.name << '.' << f.name << ' ' << f.offset << ' ' << f.bytes << '\n';
    }
  }
  for (const Value& v : values) text << v.name << ' ' << v.value << '\n';
  return text.str();
}

using Lines = std::map<std::string, std::string>;

/// First word of a line -> the rest.
Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const size_t space = line.find(' ');
    if (space != std::string::npos) lines[line.substr(0, space)] = line.substr(space + 1);
  }
  return lines;
}

struct Version {
  unsigned major = 0, minor = 0;
};
Version version_of(const Lines& lines) {
  Version version;
  const auto line = lines.find("abi");
  char dot;
  if (line != lines.end())
    std::istringstream(line->second) >> version.major >> dot >> version.minor;
  return version;
}

bool may_grow(const std::string& key, const std::string& rest) {
  return key.starts_with("cw_") && key.find('.') == std::string::npos &&
         rest.find("in arrays") == std::string::npos;
}

}  // namespace

Door policy_door() {
  return {"dataplane/policy.h", "tests/data/abi/policy_abi.txt",
          to_text(CW_POLICY_ABI, policy_structs(), policy_values())};
}

Door codec_door() {
  return {"dataplane/codec.h", "tests/data/abi/codec_abi.txt",
          to_text(CW_CODEC_ABI, codec_structs(), codec_values())};
}

std::optional<std::string> objection(const std::string& before, const std::string& layout) {
  if (before == layout) return std::nullopt;
  const Lines old_lines = lines_of(before), new_lines = lines_of(layout);
  const Version from = version_of(old_lines), to = version_of(new_lines);
  if (to.major > from.major) return std::nullopt;
  if (to.major < from.major || to.minor <= from.minor) {
    return "the layout changed: raise the minor version if it only grew, else the major";
  }
  for (const auto& [key, rest] : old_lines) {
    if (key == "abi") continue;
    const auto now = new_lines.find(key);
    if (now == new_lines.end()) return key + " is gone: raise the major version";
    const bool is_same = now->second == rest;
    const bool is_grown = may_grow(key, rest) && std::stoul(now->second) >= std::stoul(rest);
    if (!is_same && !is_grown) return key + " changed: raise the major version";
  }
  return std::nullopt;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<void> write_golden(const std::string& path, const std::string& layout) {
  const std::string before = read_text(path);
  if (!before.empty()) {
    if (const auto complaint = objection(before, layout)) return failure(path + ": " + *complaint);
  }
  std::ofstream file(path);
  file << layout << std::flush;
  if (!file) return failure(path + ": cannot be written");
  return {};
}

}  // namespace cw::plugins_test
