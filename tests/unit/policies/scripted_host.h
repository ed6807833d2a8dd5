// A small host for one policy: a source and a sink joined by a scripted line, in virtual time. It
// keeps the core's side of the ABI (state, bitmaps, departures, timers, `more`) and lets a test say
// which transmission is lost, late or doubled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "tests/unit/policies/scripted_codes.h"

namespace cw::policy_test {

struct Transmission {
  uint32_t message, slot;
  uint32_t attempt;  // 0: the first time this slot leaves
  uint16_t kind;
  Instant departed;
};

struct Line {
  Duration rtt = Duration::from_ms(25);
  Duration slot_time = Duration::from_us(1);
  Duration reorder = {};  // what the link fact says of every path
  uint32_t paths = 1;
  Duration skew = {};   // the second path is this much slower
  uint32_t burst = 32;  // slots per departure
  std::function<bool(const Transmission&)> is_lost = [](auto&) { return false; };
  std::function<Duration(const Transmission&)> lateness = [](auto&) { return Duration(); };
  std::function<bool(const Transmission&)> is_doubled = [](auto&) { return false; };
  std::function<bool(uint64_t, bool)> is_note_lost = [](uint64_t, bool) { return false; };
  std::function<bool(const cw_send&)> is_refused = [](const cw_send&) { return false; };
  cw_refusal refusal = CW_REFUSED_FULL;
  bool is_coded = true;             // for policies that code; false: they get no blocks
  double loss = 0, burst_mean = 1;  // what the link fact says of every path
  std::function<bool(const cw_code&)> is_code_refused = [](const cw_code&) { return false; };
  cw_refusal code_refusal = CW_REFUSED_FULL;
  Duration code_time = {};  // from a code decision to its result
  /// How late the sink hears that a block is closed, beside half an RTT.
  std::function<Duration(uint32_t)> block_lateness = [](uint32_t) { return Duration(); };
};

class Host {
 public:
  Host(const cw_policy_ops& ops, std::map<std::string, double> values = {}, Line line = {},
       uint32_t messages = 16, uint32_t slots_max = 4096, uint32_t decision_capacity = 64);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // ---- what the application does ----------------------------------------------------------------
  void open(uint32_t message);
  void append(uint32_t message, uint32_t first, uint32_t count);
  /// CLOSED reaches the sink half an RTT after the last slot that was decided by now has left.
  void close(uint32_t message, uint32_t slots);
  void close_sink(uint32_t message, uint32_t slots);
  void send(uint32_t message, uint32_t slots);
  void note(uint32_t role, const std::vector<uint8_t>& bytes);
  void expire(uint32_t role, uint32_t message, uint32_t first, uint32_t count);
  void lost(uint32_t message, uint32_t first, uint32_t count);
  /// As the core does it: nothing is said of the state when the message is not open, nor when the
  /// refusal is for quota.
  void refuse(const cw_send& send, cw_refusal reason);
  void drain(Duration by);
  /// Closes the block that is filling, as its age would.
  void close_block(uint32_t message);
  void link_says(double loss, double burst_mean);

  // ---- time -------------------------------------------------------------------------------------
  void at(Instant when, std::function<void()> action) { events_.emplace(when, std::move(action)); }
  /// Runs until nothing is left to happen, or `until`.
  void run(Instant until = Instant::from_ns(3'600'000'000'000));
  Instant now() const { return now_; }
  /// Of the messages that are opened from now on, as their application wants it.
  Instant deadline = Instant::never();

  // ---- what was seen ----------------------------------------------------------------------------
  std::vector<Transmission> sent;
  std::map<uint32_t, Instant> finished_at_source, finished_at_sink;
  std::map<uint32_t, uint32_t> status_at_source, status_at_sink;
  std::vector<Transmission> repairs;  // not in `sent`; their slots count from D
  std::vector<cw_send> sends, repair_sends;
  std::vector<cw_code> encodes, decodes;
  std::vector<cw_layout> layouts;
  uint64_t rebuilt = 0;
  uint64_t codes_out_of_bounds = 0;  // decisions that break the rule of policy.h; nothing is coded
  uint64_t finished_with_holes = 0;  // messages that the sink called repaired
  uint64_t notes = 0, note_bytes_sent = 0, decisions = 0, arrivals = 0;
  uint32_t released_up_to = 0;

  std::vector<Transmission> resent() const;
  bool has_timer() const;
  bool has_blocks() const { return needs_.k > 0; }
  /// What the policy has said it needs, and the core never grants less than 16.
  uint32_t notes_per_rtt() const { return std::max(needs_.notes_per_rtt, 16u); }
  size_t open_count(uint32_t role) const { return ends_[role].messages.size(); }

 private:
  struct Message {
    std::vector<uint8_t> state;
    std::vector<uint64_t> bits, repair;
    ScriptedCodes codes;                       // the source's
    std::vector<cw_fact_block_closed> blocks;  // closed
    uint32_t appended = 0, closed_end = 0;
    cw_layout layout{};  // of the block that is filling
    std::map<uint32_t, uint32_t> attempts;
    uint32_t slots = CW_UNKNOWN;
    uint32_t highest = 0;
  };
  struct End {
    cw_env env{};
    struct cw_policy* policy = nullptr;
    std::map<uint32_t, Message> messages;
    std::map<uint64_t, Instant> timers;
    std::vector<cw_decision> decisions;
    std::vector<uint8_t> note_bytes;
  };

  cw_env make_env(uint32_t role, uint32_t messages) const;
  void tell_link();
  void* state(uint32_t role, uint32_t message);
  const ScriptedCodes& codes_of(uint32_t message) {
    End& source = ends_[CW_SOURCE];
    return source.messages.contains(message) ? source.messages[message].codes
                                             : ended_codes_[message];
  }

  template <class Fact>
  void tell(End& end, void (*function)(struct cw_policy*, const Fact*, int64_t, cw_out*),
            const Fact& fact) {
    if (function == nullptr) return;
    call(end, [&](cw_out* out) { function(end.policy, &fact, now_.ns(), out); });
  }
  /// Calls into the policy, resumes it while it asks for more, and acts on what it decided.
  void call(End& end, const std::function<void(cw_out*)>& function);
  void act(End& end, const cw_decision& d);
  void act_note(End& end, std::vector<uint8_t> bytes);
  void act_finish(End& end, const cw_finish& finish);
  static bool has_holes(const Message& message);
  void end_message(End& end, uint32_t message);
  void act_code(End& end, const cw_code& code);
  void encode(const cw_code& code);
  void decode(const cw_code& code);
  void tell_coded(End& end, const cw_code& code, cw_coded_result result, uint32_t need);
  void fill_blocks(uint32_t sequence, bool is_over);
  void tell_block(uint32_t sequence, const cw_fact_block_closed& block);
  void tell_arrived(uint32_t sequence, const std::vector<uint32_t>& slots);
  void act_send(const cw_send& send);
  void leave(const cw_send& send);
  void depart(const cw_send& send, uint32_t first, uint32_t count);
  void arrive(uint32_t sequence, const std::vector<uint32_t>& slots);
  void fire_timers();

  Line line_;
  cw_policy_limits needs_{};
  cw_layout layout_{};
  std::map<uint32_t, ScriptedCodes> ended_codes_;
  const cw_policy_ops& ops_;
  uint32_t slots_max_;
  std::vector<double> params_;
  End ends_[2];
  std::multimap<Instant, std::function<void()>> events_;
  Instant now_ = Instant::from_ns(1'000'000);
  Instant line_free_;
};

}  // namespace cw::policy_test
