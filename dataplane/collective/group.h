// A group at one member: operations that all of its members post alike, run over its datagram
// endpoint (arXiv 2408.13356: constant-time reliable Broadcast, and the Allgather built from it;
// chains, fetching from anybody and deadlines are ours).
//
//   group.cc      posts, opens and ends operations; what becomes of records
//   adding_up.cc  READY and DONE up the tree, GO and ALL_DONE down; who is silent for too long
//   sending.cc    the fast path: whose turn it is, and rows to the line
//   forwarding.cc where nothing is multicast: who passes slots on to whom
//   fetching.cc   which slots are missing, whom to ask, and what to answer
//   sum/          parts of all members, added up
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/collective/chains.h"
#include "dataplane/collective/operation.h"
#include "dataplane/collective/recovery/pace.h"
#include "dataplane/collective/sum/reducing.h"
#include "dataplane/collective/tree.h"
#include "dataplane/datagram/datagram_endpoint.h"

namespace cw::group {

struct GroupOptions {
  DatagramOptions datagrams;  ///< but for landings and digest, which follow from the rest
  std::string address;        ///< whom the group is at, as people write it; only compared
  /// Of the memory that one operation fills, at most; what is kept by slot goes by it.
  uint64_t bytes_max = 0;
  uint64_t sum_bytes_max = 0;  ///< of a part that is added up; 0: none is
  Algorithm algorithm = Algorithm::Multicast;
  uint32_t chains = 0;  ///< of sources that send at the same time; 0: as many as hide a turn
  Duration reorder;     ///< Q: by how much a packet may overtake another; at most a round trip
  Duration deadline = Duration::from_s(30);  ///< from posting to opening
  /// How much longer what comes from another site may take, as gateways recover what they lose.
  Duration recovery_worst;
};

/// How an operation is.
struct OperationView {
  Stage stage = Stage::Free;
  bool is_readable = false;  ///< all that it brings is there
  uint32_t slots = 0, placed = 0, fetched = 0;
  Instant posted, opened;
  std::string failure;  ///< why it failed
};

/// Thread: one worker. Nothing allocates after make(), but for the sentence of a failure.
class Group final : public DatagramUser {
 public:
  static constexpr size_t operations_max = 4;

  /// Port and counters outlive it.
  Group(WanPort& port, Counters& counters, Drops& drops, const GroupOptions& options);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  WanStation& station() { return endpoint_; }
  DatagramEndpoint& endpoint() { return endpoint_; }
  const Membership& membership() const { return endpoint_.membership(); }
  bool is_up() const { return membership().is_in_force(); }

  /// Posts the next operation, as all members do, in the same order. Errors: no room for more, no
  /// epoch yet (both: later); what cannot be; the group has failed.
  struct Refusal {
    bool is_for_now = false;
    std::string why;
  };
  std::expected<Step, Refusal> post(const Posting& posting, Instant now);
  OperationView view(Step step) const;
  Stage stage(Step step) const {
    const OperationState* const op = find(step);
    return op == nullptr ? Stage::Free : op->stage;
  }
  /// After it is done or has failed and nothing of its memory is under way: its memory is the
  /// caller's again. False: not yet.
  bool try_release(Step step);
  const std::string& failure() const { return failure_; }
  /// What a person should look after, though operations end; empty: nothing.
  std::string trouble() const;
  /// What is used of the rate, in thousandths: less than all while a member cannot follow.
  uint16_t pace() const { return pace_.value(); }

  void on_begun(Instant now) override;
  void on_anew(uint16_t rank, Instant now) override;
  void on_record(uint16_t from, const RecordView& record, Instant now) override;
  void on_placed(std::span<const Placed> placed, Instant now) override;
  bool write(const Word& word, EnvelopeWriter& writer, Instant now) override;
  bool on_time(Instant now) override;
  Instant next_wakeup() const override;
  void on_gap(Duration gap) override;

 private:
  using State = OperationState;

  // group.cc
  uint16_t rank() const { return membership().rank(); }
  uint16_t members() const { return membership().members(); }
  bool is_far(uint16_t who) const {
    return membership().site_of(who) != membership().site_of(rank());
  }
  bool has_sites() const { return tree_.neighbours().size() < members(); }
  State* find(Step step);
  const State* find(Step step) const { return const_cast<Group*>(this)->find(step); }
  uint8_t index_of(const State& op) const { return static_cast<uint8_t>(&op - ops_.data()); }
  Landing& landing_of(const State& op) { return endpoint_.landing(index_of(op)); }
  const Landing& landing_of(const State& op) const { return endpoint_.landing(index_of(op)); }
  std::optional<Slots::Shape> shape_of(const Posting& posting) const;
  void begin(State& op, const Posting& posting, Instant now);
  void open(State& op, Instant now);
  void end(State& op, Instant now);
  void close(State& op);
  void note_deafness(const State& op);
  std::string refusal_of(const Posting& posting) const;
  void fail(uint16_t whose, const std::string& why, Instant now);
  void tell_failure(Instant now);
  void sum(State& op, Instant now);
  Instant deadline_of(const State& op) const;
  Duration rtt() const;  // the assumed, or longest to whom we speak
  Rate whole_rate() const {
    return Rate::from_bps(uint64_t{membership().epoch().rate_kbps} * 1000);
  }
  Rate rate() const { return Rate::from_bps(whole_rate().bps() / Pace::whole * pace_.value()); }

  // adding_up.cc
  static constexpr Duration probe_interval_min = Duration::from_ms(64);
  std::optional<size_t> child_of(uint16_t rank) const;
  void take_early(State& op, size_t child, Instant now);
  bool is_alike(const State& op, const Ready& ready, uint16_t child, Instant now);
  void add_up(State& op, Instant now);
  void on_ready(uint16_t from, const Ready& ready, Instant now);
  void on_go(uint16_t from, const Go& go, Instant now);
  void on_done(uint16_t from, const Done& done, Instant now);
  void answer_of_old(uint16_t from, Step step, Instant now);
  void on_all_done(const AllDone& done, Instant now);
  void say(uint16_t to, RecordType type, Step step, Instant now) {
    (void)endpoint_.try_say({type, to, step.value()}, now);
  }
  bool may_go(const State& op) const;
  void say_to_children(const State& op, RecordType type, Instant now);
  void say_again(State& op, Instant now);
  void probe(State& op, size_t child, Instant now);
  bool is_silent(const Repeat& repeat, uint16_t rank, Instant now) const;
  void fail_silent(const State& op, uint16_t who, Instant now);
  Duration patience_with(uint16_t rank) const;
  Duration repeat_first(uint16_t to) const;
  uint16_t share_fetched(const State& op) const;
  void choose_pace(State& op);
  Ready ready_of(const State& op) const;
  Done done_of(const State& op) const;

  // sending.cc
  bool is_source(const State& op, uint16_t rank) const;
  uint32_t chain_of(const State& op, uint16_t rank) const;
  uint32_t place_of(const State& op, uint16_t rank) const;
  std::optional<uint16_t> successor_of(const State& op, uint16_t rank) const;
  void plan(State& op);
  Instant start_of(const State& op, uint16_t source) const;
  Instant cutoff_of(const State& op, uint16_t source) const;
  Instant last_cutoff(const State& op) const;
  Instant send_due(const State& op) const;
  uint32_t longest_chain(const State& op) const;
  Duration slack() const;  // J
  Duration far_slack() const;
  Duration reorder_of(uint16_t source) const;
  void take_turn(State& op, Instant now);
  void send(State& op, Instant now);
  void set_line(const State& op);
  void note_part(State& op, const Placed& placed, Instant now);
  Instant silent_at(const State& op, const Watch& watch) const;
  Instant watch_due(const State& op, const Watch& watch) const;

  // forwarding.cc
  bool is_forwarded(const State& op) const {
    return options_.algorithm != Algorithm::Multicast && op.posting.has_landing();
  }
  bool is_tree(const State& op) const;
  uint32_t distance_from(uint16_t root) const;
  size_t next_hops(const State& op, uint16_t source, std::span<uint16_t> hops) const;
  bool is_next_hop(const State& op, uint16_t source, uint16_t to) const;
  std::optional<uint16_t> previous_hop(const State& op, uint16_t source) const;
  Instant forwarded_by(const State& op, uint16_t source) const;
  void greet_previous(const State& op, Instant now);
  void forward(State& op, Instant now);
  bool try_forward(State& op, uint32_t first, uint32_t end, Instant now);
  Instant forward_due(const State& op) const;
  void note_forwarded(State& op, const Placed& placed, Instant now);

  // fetching.cc
  uint32_t settled_of(State& op, uint32_t part, Instant now);
  void look_for_holes(State& op, Instant now);
  bool try_gather(State& op, Ask& ask, uint32_t& from, uint32_t end) const;
  void ask(State& op, Ask& ask, Instant now);
  static Instant asks_due(const State& op);
  void settle_asks(State& op, Instant now);
  void on_timeout(State& op, Ask& ask, Instant now);
  static Ask* free_ask(State& op);
  size_t runs_max() const;
  bool answer(State& op, uint16_t to, const Run& run, Lack* lack, Instant now);
  Demand::Answer answer_to(State& op, uint16_t to, uint32_t slot, Instant now);
  bool has_sent(const State& op, uint16_t to, uint32_t slot) const;
  bool try_answer(State& op, std::optional<uint16_t> to, uint32_t first, uint32_t count,
                  Instant now);
  void answer_wanted(State& op, uint32_t slot, Instant now);
  uint16_t owner_of(const State& op, uint32_t slot) const;
  uint16_t candidate(const State& op, const Ask& ask) const;
  uint16_t asked_first(const State& op, uint32_t slot) const;
  uint32_t window() const;
  void on_fetch(uint16_t from, const Fetch& fetch, Instant now);
  void on_message_fetch(State& op, uint16_t from, const Fetch& fetch, Instant now);
  void on_miss(uint16_t from, const Miss& miss, Instant now);
  void split(State& op, const Ask& asked, const Miss& miss, Instant now);
  uint32_t missing_in(const State& op, const Ask& ask) const;

  GroupOptions options_;
  Tree tree_;
  Chains chains_;
  Pace pace_;
  std::vector<State> ops_;
  Step next_step_, oldest_;  // to be posted; not yet released
  std::string failure_;
  uint32_t deaf_operations_ = 0;  // in a row, of which nothing came by multicast
  uint16_t failure_rank_ = 0;
  Step failure_step_;
  Repeat failure_said_;
  DatagramEndpoint endpoint_;
  Reducing reducing_;
};

}  // namespace cw::group
