// Messages between any two members of a group, over one queue pair at each: the engine of CSA-UD
// (arXiv 2606.20582, of which the abstract is public; what is here is our design, SPEC.md 18.15).
//
//   source    post_send() -> windows of slots to the line -> STATUS -> completion
//             OFFER when nothing comes back; FETCH -> these slots again, by another path
//   receiver  post_receive(), post_pool() -> slots lie where they belong -> facts to the policy
//             policy: what is late is lost -> FETCH; all is there -> STATUS, completion
//
// Transmission and recovery are apart: a source keeps no packets and no timer for any, the policy
// in the endpoint's seat decides at the receiver what is asked for again.
//
//   messages.cc    posts, ends, what becomes of records
//   sending.cc     windows, rows to the line, offers
//   receiving.cc   what has come, facts, asks
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/memory/ring.h"
#include "dataplane/base/result.h"
#include "dataplane/core/path/paths.h"
#include "dataplane/datagram/datagram_endpoint.h"
#include "dataplane/message/early_slots.h"
#include "dataplane/message/open_messages.h"
#include "dataplane/message/peer_row.h"
#include "dataplane/message/postings.h"
#include "dataplane/message/steps.h"
#include "dataplane/sdr/seat/endpoint_seat.h"

namespace cw::group {

struct MessagesOptions {
  DatagramOptions datagrams;  ///< but for landings, boxes and digest, which follow from the rest
  std::string address;        ///< whom the group is at, as people write it; only compared
  uint32_t sends_max = 256, receives_max = 256;  ///< open at a time; at most 65,535
  uint64_t bytes_max = 0;                        ///< of a message
  uint64_t pool_bytes = 0;                       ///< of each posted memory for whoever comes
  sdr::PolicyChoice policy, fallback;
  sdr::PolicyQuota quota;
  Duration reorder;  ///< Q: by how much a packet may overtake another; at most a round trip
  Duration deadline = Duration::from_s(10);  ///< of a message that is posted without one
};

/// Thread: one worker. Nothing allocates after make(), but for the sentence of a failure.
class Messages final : public DatagramUser, private sdr::EndpointActions {
 public:
  /// Port and counters outlive it. Errors: the policy serves no endpoints, or refuses.
  static Result<std::unique_ptr<Messages>> make(WanPort& port, Counters& counters, Drops& drops,
                                                const MessagesOptions& options);
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  WanStation& station() { return endpoint_; }
  DatagramEndpoint& endpoint() { return endpoint_; }
  const Membership& membership() const { return endpoint_.membership(); }
  bool is_up() const { return membership().is_in_force() && failure_.empty(); }
  const std::string& failure() const { return failure_; }

  /// Errors: no room for more, no epoch yet (both: later); what cannot be; the group is over.
  struct Refusal {
    bool is_for_now = false;
    std::string why;
  };
  using Posted = std::expected<MessageTicket, Refusal>;
  Posted post_send(const SendPosting& posting, Instant now);
  Posted post_receive(const ReceivePosting& posting, Instant now);
  /// False: the pool has no room for more.
  bool try_post_pool(const PoolPosting& posting);
  /// Its completion comes, save where it is over already.
  void cancel(const MessageTicket& ticket, Instant now);

  /// Fills `out` with what has ended; returns how many. Each comes once.
  size_t poll(std::span<Completion> out);

  /// Slots that were asked for, by whomever it was decided.
  uint64_t asked_slots() const { return asked_slots_; }
  size_t open_sends() const { return sends_.size() - free_sends_.size(); }
  size_t open_receives() const { return receives_.size() - free_receives_.size(); }
  const sdr::PolicyHost& policy() const { return seat_->policy(); }

  void on_begun(Instant now) override;
  void on_anew(uint16_t rank, Instant now) override;
  void on_greeted(uint16_t from, Instant now) override;
  void on_record(uint16_t from, const RecordView& record, Instant now) override;
  bool try_open_pooled(const Header& header, Instant now) override;
  void on_closed(const Header& header) override;
  void on_placed(std::span<const Placed> placed, Instant now) override;
  bool write(const Word& word, EnvelopeWriter& writer, Instant now) override;
  void on_unsaid(const Word& word) override;
  void on_all_left(size_t nth, bool is_again, Instant now) override;
  bool on_time(Instant now) override;
  Instant next_wakeup() const override;
  void on_gap(Duration gap) override;

 private:
  using Clock = Instant;                          // of a machine that never stood still
  static constexpr size_t queued_slots_min = 64;  ///< at the line, or there is room for more

  Messages(WanPort& port, Counters& counters, Drops& drops, const MessagesOptions& options);

  // messages.cc
  Clock local(Instant now) const { return now - paused_; }
  uint16_t rank() const { return membership().rank(); }
  uint32_t payload_bytes() const { return membership().epoch().payload_bytes; }
  Rate line_rate() const { return Rate::from_bps(uint64_t{membership().epoch().rate_kbps} * 1000); }
  std::string refusal_of(uint16_t peer, uint64_t bytes) const;
  std::optional<Slots> slots_of(uint64_t bytes) const;
  Duration life(Duration wanted) const { return wanted == Duration() ? options_.deadline : wanted; }
  void complete(const Completion& completion);
  void note_ending(const Completion& completion);
  Reason reason_of(uint16_t peer, uint32_t message, bool is_send) const;
  void say(RecordType type, uint16_t to, uint32_t message, Instant now) {
    (void)endpoint_.try_say({type, to, message}, now);
  }
  void on_timers(Instant now);
  void fail_all(Instant now);

  // sending.cc
  void begin_sending(Outgoing& out, Instant now);
  uint32_t window_of(uint16_t to) const;
  MessageMarks marks_of(const SendPosting& posting, uint32_t slots) const;
  Duration probe_first(const Outgoing& out, Instant now) const;
  uint32_t allowed(const Outgoing& out) const;
  void list(Outgoing& out);
  void send_rows(Instant now);
  void on_probe(Outgoing& out, Instant now);
  void arm(Outgoing& out);
  void expect_answer(Outgoing& out, Instant now);
  void end_send(Outgoing& out, const Completion& how, Instant now);
  void leave(Outgoing& out);
  void leave_all();
  void wake_waiting(uint16_t from, Instant now);
  void forget_waiting(const Outgoing& out);
  void on_status(uint16_t from, const Status& status, Instant now);
  void note_rtt(uint16_t from, const Status& status, Instant now);
  void on_fetch(uint16_t from, const Fetch& fetch, Instant now);
  bool try_resend(Outgoing& out, const Run& run, Instant now);
  void on_refuse(uint16_t from, const Refuse& refuse, Instant now);
  bool write_offer(const Word& word, EnvelopeWriter& writer) const;
  Outgoing* find_send(uint16_t to, uint32_t message);
  uint32_t place_of(const Outgoing& out) const {
    return static_cast<uint32_t>(&out - sends_.data());
  }

  // receiving.cc
  Incoming& open_incoming(const MessageName& name, uint8_t* memory, uint64_t bytes, Duration time,
                          Instant now);
  void tell_opened(const Incoming& in, Instant now);
  void tell_source(const Incoming& in, Instant now);
  void tell_step(uint32_t step_place, Instant now);
  void tell_link(Instant now);
  void note_placed(Incoming& in, const Placed& placed, Instant now);
  void end_burst(Incoming& in, Instant now);
  void tell_arrived(const Incoming& in, const SlotSpan& changed, Instant now);
  void tell_departed(const Incoming& in, uint32_t slots, uint16_t answered, Instant now);
  void note_past(const Incoming& in, bool is_whole);
  uint64_t missing_bytes(const Incoming& in) const;
  void end_receive(Incoming& in, const Completion& how, Instant now);
  void end_given_up(Instant now);
  bool try_open_offered(uint16_t from, uint32_t message, Step step, uint64_t bytes, Instant now);
  void say_status(Incoming& in, Instant now);
  void on_offer(uint16_t from, const Offer& offer, Instant now);
  void on_cancel(uint16_t from, const Cancel& cancel, Instant now);
  Duration link_rtt() const { return rtt_.has_sample() ? rtt_.smoothed() : options_.datagrams.rtt; }
  Duration link_deviation() const {
    return rtt_.has_sample() ? rtt_.variance() : options_.datagrams.rtt / 2;
  }
  /// Of whom we have sent nothing, what others take at least: at a busy port queues are most of it.
  Duration rtt_to(uint16_t peer) const {
    const bool is_measured = membership().row(peer).is_rtt_measured();
    return is_measured ? endpoint_.rtt(peer) : std::max(link_rtt(), endpoint_.rtt(peer));
  }
  Duration deviation_to(uint16_t peer) const {
    const bool is_measured = membership().row(peer).is_rtt_measured();
    return is_measured ? endpoint_.deviation(peer)
                       : std::max(link_deviation(), endpoint_.deviation(peer));
  }
  bool has_come(uint16_t from, uint32_t message) const;
  bool is_past(uint16_t from, uint32_t message) const;
  bool write_status(const Word& word, EnvelopeWriter& writer, Instant now);
  bool write_fetch(const Word& word, EnvelopeWriter& writer, Instant now);
  Incoming* find_receive(uint16_t from, uint32_t message);
  uint32_t place_of(const Incoming& in) const {
    return static_cast<uint32_t>(&in - receives_.data());
  }
  /// What the policy calls it.
  uint32_t policy_number(const Incoming& in) const {
    return in.generation * numbers_ + place_of(in);
  }
  Landing& landing_of(const Incoming& in) { return endpoint_.inbox(place_of(in)); }
  const Landing& landing_of(const Incoming& in) const { return endpoint_.inbox(place_of(in)); }
  bool try_ask(const cw_ask& ask, Instant now) override;
  void on_finish(const cw_finish& finish, Instant now) override;
  void on_quarantine(Instant now) override;

  /// What ended otherwise than whole, for who asks.
  struct Ending {
    uint32_t message = 0;
    uint16_t peer = 0;
    bool is_send = false;
    Reason reason = Reason::Unknown;
  };

  MessagesOptions options_;
  uint32_t numbers_;  // of the policy: a power of two, at least receives_max
  std::vector<PeerRow> peers_;
  std::vector<Outgoing> sends_;
  std::vector<Incoming> receives_;
  std::vector<uint32_t> free_sends_, free_receives_;
  MessageIndex send_index_, receive_index_;
  Ring<uint32_t> listed_;          // sends that may send
  std::vector<uint32_t> leaving_;  // sends whose memory is named by packets
  std::vector<PoolPosting> pool_;
  std::vector<uint32_t> touched_, given_up_, touched_steps_;
  AskedPool asked_pool_;
  Ring<Completion> completions_;
  uint32_t unpolled_sends_ = 0, unpolled_receives_ = 0;
  Steps steps_;
  ArrivalRate arrival_rate_;
  TimerWheel timers_;
  EarlySlots early_;
  std::array<Ending, 64> endings_;
  size_t ending_next_ = 0;
  Duration paused_;
  RttEstimator rtt_;  // over all peers
  Duration told_rtt_;
  uint64_t asked_slots_ = 0;
  std::string failure_;
  DatagramEndpoint endpoint_;
  std::unique_ptr<sdr::EndpointSeat> seat_;
};

}  // namespace cw::group
