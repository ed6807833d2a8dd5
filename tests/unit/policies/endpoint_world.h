// A small world around one policy at an endpoint: the real seat, and simulated peers whose
// datagrams share the receiver's line, in virtual time. A test says what is sent when, and what is
// lost, late or doubled; the world answers asks as an endpoint does, and keeps account of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "dataplane/base/units.h"
#include "dataplane/sdr/seat/endpoint_seat.h"

namespace cw::policy_test {

/// A datagram as it leaves its source.
struct Datagram {
  uint32_t message, peer, slot;
  uint32_t attempt;  // 0: the first time this slot leaves
  Instant departed;
};

struct Surroundings {
  uint32_t peers = 8;
  uint32_t messages = 64;
  uint32_t slots_max = 4096;
  Rate line = Rate::from_gbps(10);        // of the receiver, shared by all
  Duration rtt = Duration::from_us(100);  // to every peer, without queues
  Duration rtt_var = Duration::from_us(5);
  Duration reorder = Duration::from_us(10);  // what the link fact says
  std::function<bool(const Datagram&)> is_lost = [](auto&) { return false; };
  std::function<Duration(const Datagram&)> lateness = [](auto&) { return Duration(); };
  std::function<bool(const Datagram&)> is_doubled = [](auto&) { return false; };
  std::function<bool(const cw_ask&)> is_ask_lost = [](auto&) { return false; };
  /// Sources say what has left, behind the last slot and behind answers.
  bool tells_departed = false;
  std::function<bool(const cw_ask&)> is_ask_refused = [](auto&) { return false; };
  std::map<std::string, double> params;
  sdr::PolicyQuota quota;
};

/// What a peer sends: `slots` slots from `begins` on, one each `pace` (zero: as fast as the line).
struct Sending {
  uint32_t message, peer, slots;
  Instant begins;
  Duration pace;
};

class EndpointWorld final : public sdr::EndpointActions {
 public:
  static constexpr uint32_t payload_bytes = 4096, wire_bytes = 4200;

  EndpointWorld(const cw_policy_ops& ops, Surroundings around, const cw_policy_ops& fallback);
  EndpointWorld(const EndpointWorld&) = delete;
  EndpointWorld& operator=(const EndpointWorld&) = delete;

  // ---- what happens ----
  /// Posts the receives of a step now: each message is opened, and told with its step.
  void open_step(uint32_t step, const std::vector<Sending>& messages,
                 Instant deadline = Instant::never(), bool tells_slots = true);
  void send(const Sending& sending);
  /// Cancels it.
  void end(uint32_t message);
  /// A new instance of the same policy takes its seat, as in a new group: nothing is open.
  void restart();
  void at(Instant when, std::function<void()> action) { events_.emplace(when, std::move(action)); }
  /// Until nothing is left to happen, or `until`.
  void run(Instant until = Instant::from_ns(600'000'000'000));
  void run_for(Duration time) { run(now + time); }
  /// Everything by one call: a step, whose messages all begin at once.
  void run_step(uint32_t step, uint32_t peers, uint32_t slots);

  Duration slot_time() const { return around.line.time_for(Bytes(wire_bytes)); }
  bool is_idle() const { return seat->next_due() == Instant::never(); }

  // ---- what was seen ----
  Instant now = Instant::from_ns(1'000'000);
  Surroundings around;
  std::unique_ptr<sdr::EndpointSeat> seat;
  struct Asked {
    cw_ask ask;
    Instant at;
    uint32_t missing;  // of the slots that it names, as they were
  };
  std::vector<Asked> asks;
  std::map<uint32_t, Instant> finished;
  std::set<uint32_t> open;
  uint64_t asked_slots = 0, resent = 0, copies = 0, arrivals = 0, lost = 0;
  uint64_t asks_for_nothing = 0;  // every slot was in place
  uint64_t asks_of_others = 0;    // of a peer that does not send this message
  uint64_t outstanding = 0, outstanding_most = 0;
  /// An ask counts as outstanding for so long, by the slots that have not come.
  Duration answer_time = Duration::from_us(120);
  int quarantines = 0;

 private:
  struct Message {
    uint32_t peer = 0, slots = 0, step = 0;
    uint32_t sent_end = 0;  // at the source
    bool tells_slots = true, is_whole = false;
    std::vector<uint64_t> bits;
    uint32_t in_place = 0, first_missing = 0, highest = 0;
    std::map<uint32_t, uint32_t> attempts;
    std::map<uint32_t, Instant> asked;  // slots that count as outstanding
    // of this burst
    uint32_t word_first = 0, word_end = 0, duplicates = 0;
  };
  struct Step {
    uint64_t expected = 0, received = 0;
    uint32_t sources = 0, done = 0;
    Instant deadline;
  };

  bool try_ask(const cw_ask& ask, Instant) override;
  void on_finish(const cw_finish& finish, Instant) override;
  void on_quarantine(Instant) override;

  void leave(uint32_t message, uint32_t slot);
  void arrive(uint32_t message, uint32_t slot);
  void answer(uint32_t number, const std::vector<uint32_t>& wanted, Instant asked_at);
  void say_departed(uint32_t number, Instant answered);
  void settle_outstanding();
  void tell_link();
  void tell_burst();
  void tell_arrived(uint32_t number, Message& message);
  void tell_message_step(uint32_t number);
  void tell_step(uint32_t number);
  void end_finished();
  sdr::PolicyChoice choice() const { return {&ops_, params_}; }

  const cw_policy_ops& ops_;
  std::vector<double> params_, fallback_params_;
  std::multimap<Instant, std::function<void()>> events_;
  std::map<uint32_t, Message> messages_;
  std::map<uint32_t, Step> steps_;
  std::set<uint32_t> touched_, moved_steps_;
  std::vector<uint32_t> to_end_;
  std::multimap<Instant, std::pair<uint32_t, uint32_t>> overdue_;  // of asked slots
  Instant line_free_;
};

}  // namespace cw::policy_test
