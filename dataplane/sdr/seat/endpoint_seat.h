// The seat of a policy at an endpoint that has no stream: what many peers send to it in datagrams,
// message by message in steps, and one instance that says what is asked for again.
//
//   endpoint:  opened  step  arrived  closed  ...  ended         try_ask   on_finish
//                 v      v      v       v            v              ^          ^
//   seat:       places of messages, state, timers         is it open, who, which slots
//                 v      v      v       v            v              ^          ^
//   policy:     facts ------------------------------------>       ask       finish   timer
//
// What leaves is the endpoint's own affair, so the other decisions are refused. An instance that
// keeps exceeding its quota is replaced by the fallback, as at a stream, and the endpoint tells
// that one the whole story again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/options.h"
#include "dataplane/sdr/seat/policy_host.h"
#include "dataplane/sdr/seat/policy_instance.h"

namespace cw::sdr {

/// Who sits there, and what it is told of its endpoint.
struct EndpointSeatOptions {
  PolicyChoice policy, fallback;
  PolicyQuota quota;
  uint32_t peers = 1;
  uint32_t messages = 1;  ///< open at once, of all peers; a power of two
  uint32_t data_slots_max = 1;
  uint32_t payload_bytes = 1024, slot_wire_bytes = 1024;
  uint32_t paths = 1;
  Rate rate = Rate::from_gbps(1);
};

/// What an endpoint does with decisions. Their messages are open, their peers and slots exist.
class EndpointActions {
 public:
  virtual ~EndpointActions() = default;
  /// False when too much is being asked for already.
  virtual bool try_ask(const cw_ask& ask, Instant now) = 0;
  virtual void on_finish(const cw_finish& finish, Instant now) = 0;
  /// The instance was replaced: end nothing, and tell everything again, from opened on.
  virtual void on_quarantine(Instant now) = 0;
};

/// Thread: the endpoint's owner. Nothing allocates, save make() and make_instance().
class EndpointSeat final : private PolicyActions {
 public:
  /// Errors: as PolicyInstance::make(); most policies serve streams only. `actions` lives longer.
  static Result<std::unique_ptr<EndpointSeat>> make(const EndpointSeatOptions& options,
                                                    EndpointActions& actions, Instant now);

  // ---- facts, as in policy.h; `state` is filled in here. A message's place is its number modulo
  //      EndpointSeatOptions::messages, and no two open messages have the same ----
  void opened(uint32_t message, uint32_t slots, Instant now);
  void closed(uint32_t message, uint32_t slots, Instant now);
  void arrived(cw_fact_arrived fact, Instant now);
  void departed(cw_fact_departed fact, Instant now);
  void lost(cw_fact_lost fact, Instant now);
  void expired(cw_fact_expired fact, Instant now);
  void step(cw_fact_step fact, Instant now);
  void link(const cw_fact_link& fact, Instant now) { host_->link(fact, now); }
  void ended(uint32_t message, Instant now);

  void on_time(Instant now) { host_->on_time(now); }
  Instant next_due() const { return host_->next_due(); }
  void rebase(Duration shift) { host_->rebase(shift); }

  // ---- instances, made and destroyed outside the turn ----
  Result<std::unique_ptr<PolicyInstance>> make_instance(const PolicyChoice& policy) const;
  /// A new group: nothing is open, `next` begins, and who was there is returned.
  std::unique_ptr<PolicyInstance> restart(std::unique_ptr<PolicyInstance> next, Instant now);
  /// Who takes over in the next quarantine; the last has used up the one before.
  void set_relief(std::unique_ptr<PolicyInstance> relief) { host_->set_relief(std::move(relief)); }
  /// What was replaced in quarantine; else null.
  std::unique_ptr<PolicyInstance> take_relieved() { return host_->take_relieved(); }

  bool is_open(uint32_t message) const { return places_[place_of(message)].is(message); }
  const PolicyHost& policy() const { return *host_; }

 private:
  struct Place {
    uint32_t message = 0;
    uint32_t slots = CW_UNKNOWN;
    bool is_open = false;

    bool is(uint32_t wanted) const { return is_open && message == wanted; }
  };

  EndpointSeat(const EndpointSeatOptions& options, EndpointActions& actions)
      : options_(options), actions_(actions), places_(options.messages) {}

  // What the instance decides.
  bool try_ask(const cw_ask& ask, Instant now) override;
  void on_finish(const cw_finish& finish, Instant now) override;
  void on_send(const cw_send& send, Instant now) override;
  void on_code(const cw_code& code, Instant now) override;
  void on_note(const cw_note& note, std::span<const uint8_t> bytes, uint16_t policy_epoch) override;
  void on_release(const cw_release& release, Instant now) override;
  void on_quarantine(PolicyHost& host, Instant now) override;

  uint32_t place_of(uint32_t message) const { return message & (options_.messages - 1); }
  void* state_of(uint32_t message) { return host_->state_of(place_of(message)); }
  bool has_slots(const Place& place, const cw_ask& ask) const;
  void refuse(const cw_ask& ask, cw_refusal reason);
  void refuse_at_this_seat(cw_decision_kind kind, uint32_t message);

  EndpointSeatOptions options_;
  EndpointActions& actions_;
  std::unique_ptr<PolicyHost> host_;
  std::vector<Place> places_;
};

}  // namespace cw::sdr
