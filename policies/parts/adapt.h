// How a policy is written in C++. A policy is a description and its ends: a source and a sink where
// it serves streams, an endpoint where it serves those.
//
//   class Source { explicit Source(const cw_env&); bool is_ready() const;
//                  void on_note(const cw_fact_note&, Instant now); ...
//                  void decide(Instant now, Out&); };
//   struct Mine  { using Source = ...; using Sink = ...;  // and or or: using Endpoint = ...;
//                  static constexpr const char *name, *version, *summary;
//                  static constexpr cw_param params[] = {...};
//                  static constexpr uint32_t wire_version, message_state_bytes;
//                  static void limits(const cw_env&, const cw_fact_link&, cw_policy_limits&);
//                  static const char* refusal(const cw_env&); };
//   CW_POLICY(Mine)
//
// The on_* methods take facts and change state; decide() turns state into decisions. It is called
// after every fact and again as `resume` while decisions did not fit, so no fact has to worry about
// room: what decide() could not say is still in the state, and is said next time.
//
// An end has only the methods it cares about. A method of the right name with the wrong arguments
// does not compile; a fact that no end knows is null in the table. A seat for which there is no end
// is refused in a sentence.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>

#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "policies/parts/instance.h"
#include "policies/parts/messages.h"
#include "policies/parts/out.h"

namespace cw::policy {

/// An instance as the core holds it.
using Handle = struct cw_policy;

/// The C table of a policy, made at compile time.
template <class Policy>
class Table {
  using Own = Instance<Policy>;
  using Source = typename Own::Source;
  using Sink = typename Own::Sink;
  using Endpoint = typename Own::Endpoint;
  static Own& own(Handle* policy) { return *reinterpret_cast<Own*>(policy); }

  static const char* refusal(const cw_env& env) {
    const bool is_endpoint = env.seat == CW_SEAT_ENDPOINT;
    if (is_endpoint && std::is_same_v<Endpoint, NoEnd>) return "serves streams only";
    if (!is_endpoint && std::is_same_v<Source, NoEnd>) return "serves endpoints only";
    return Policy::refusal(env);
  }
  static int create(const cw_env* env, Handle** policy, char* why, size_t capacity) {
    if (const char* sentence = refusal(*env); sentence != nullptr) {
      std::snprintf(why, capacity, "%s: %s", Policy::name, sentence);
      return -EINVAL;
    }
    std::unique_ptr<Own> made(new (std::nothrow) Own(*env));
    if (made == nullptr || !made->is_ready()) {
      std::snprintf(why, capacity, "%s: not enough memory for %u messages of %u slots",
                    Policy::name, env->messages, env->data_slots_max);
      return -ENOMEM;
    }
    *policy = reinterpret_cast<Handle*>(made.release());
    return 0;
  }
  static void destroy(Handle* policy) { delete &own(policy); }

  static void limits(const cw_env* env, const cw_fact_link* link, cw_policy_limits* out) {
    Policy::limits(*env, *link, *out);
  }

  static void decide(Handle* policy, int64_t now_ns, cw_out* raw) {
    Out out(*raw);
    own(policy).with_end([&](auto& end) { end.decide(Instant::from_ns(now_ns), out); });
  }

// One C function per fact: passes it to the end if the end has the method, then decides.
#define CW_ADAPT(fact_name)                                                                      \
  template <class End>                                                                           \
  static constexpr bool knows_##fact_name = requires { &End::on_##fact_name; };                  \
  static void fact_name(Handle* policy, const cw_fact_##fact_name* fact, int64_t now_ns,         \
                        cw_out* out) {                                                           \
    own(policy).with_end([&]<class End>(End& end) {                                              \
      if constexpr (knows_##fact_name<End>) end.on_##fact_name(*fact, Instant::from_ns(now_ns)); \
    });                                                                                          \
    decide(policy, now_ns, out);                                                                 \
  }                                                                                              \
  static constexpr auto fact_name##_or_null =                                                    \
      knows_##fact_name<Source> || knows_##fact_name<Sink> || knows_##fact_name<Endpoint>        \
          ? &fact_name                                                                           \
          : nullptr;

  CW_ADAPT(opened)
  CW_ADAPT(appended)
  CW_ADAPT(block_closed)
  CW_ADAPT(closed)
  CW_ADAPT(sent)
  CW_ADAPT(refused)
  CW_ADAPT(arrived)
  CW_ADAPT(lost)
  CW_ADAPT(note)
  CW_ADAPT(coded)
  CW_ADAPT(expired)
  CW_ADAPT(link)
  CW_ADAPT(budget)
  CW_ADAPT(step)
  CW_ADAPT(departed)
#undef CW_ADAPT

  static void timer(Handle* policy, uint64_t cookie, int64_t now_ns, cw_out* out) {
    own(policy).with_end([&]<class End>(End& end) {
      if constexpr (requires { &End::on_timer; }) end.on_timer(cookie, Instant::from_ns(now_ns));
    });
    decide(policy, now_ns, out);
  }
  static void drain(Handle* policy, int64_t by_ns, int64_t now_ns, cw_out* out) {
    own(policy).with_end([&]<class End>(End& end) {
      if constexpr (requires { &End::on_drain; }) {
        end.on_drain(Instant::from_ns(by_ns), Instant::from_ns(now_ns));
      }
    });
    decide(policy, now_ns, out);
  }
  static void ended(Handle* policy, uint32_t message, void* state, int64_t now_ns) {
    own(policy).with_end([&]<class End>(End& end) {
      if constexpr (requires { &End::on_ended; }) {
        end.on_ended(message, state, Instant::from_ns(now_ns));
      }
    });
  }

 public:
  static constexpr cw_policy_ops ops = {
      .abi = CW_POLICY_ABI,
      .size = sizeof(cw_policy_ops),
      .name = Policy::name,
      .version = Policy::version,
      .summary = Policy::summary,
      .params = std::data(Policy::params),
      .param_count = static_cast<uint32_t>(std::size(Policy::params)),
      .wire_version = Policy::wire_version,
      .message_state_bytes = Policy::message_state_bytes,
      .reserved = 0,
      .limits = &limits,
      .create = &create,
      .destroy = &destroy,
      .opened = opened_or_null,
      .appended = appended_or_null,
      .block_closed = block_closed_or_null,
      .closed = closed_or_null,
      .sent = sent_or_null,
      .refused = refused_or_null,
      .arrived = arrived_or_null,
      .lost = lost_or_null,
      .note = note_or_null,
      .coded = coded_or_null,
      .timer = &timer,
      .expired = expired_or_null,
      .link = link_or_null,
      .budget = budget_or_null,
      .step = step_or_null,
      .drain = &drain,
      .resume = &decide,
      .ended = &ended,
      .departed = departed_or_null,
  };
};

}  // namespace cw::policy

/// Defines the only symbol a policy exports: cw_policy_table in a plugin. Static libraries, of
/// which several are linked together, are compiled with a name of their own
/// (policies/CMakeLists.txt).
#ifndef CW_POLICY_SYMBOL
#define CW_POLICY_SYMBOL cw_policy_table
#endif
#define CW_POLICY(Policy)                                                                        \
  extern "C" __attribute__((visibility("default"))) const cw_policy_ops* CW_POLICY_SYMBOL(void); \
  const cw_policy_ops* CW_POLICY_SYMBOL(void) { return &::cw::policy::Table<Policy>::ops; }
