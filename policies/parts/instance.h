// One instance of a policy: which of its ends it is, by the seat and the role it was made for.
#pragma once

#include <cstdint>
#include <new>

#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "policies/parts/out.h"

namespace cw::policy {

/// Where a policy has no such end; none is ever made, because create() refuses the seat.
struct NoEnd {
  explicit NoEnd(const cw_env&) {}
  bool is_ready() const { return false; }
  void decide(Instant, Out&) {}
};

/// The ends of a policy, by the seats that it serves.
template <class Policy>
struct StreamEnds {
  using Source = NoEnd;
  using Sink = NoEnd;
};
template <class Policy>
  requires requires { typename Policy::Source; }
struct StreamEnds<Policy> {
  using Source = typename Policy::Source;
  using Sink = typename Policy::Sink;
};
template <class Policy>
struct EndpointEnd {
  using Endpoint = NoEnd;
};
template <class Policy>
  requires requires { typename Policy::Endpoint; }
struct EndpointEnd<Policy> {
  using Endpoint = typename Policy::Endpoint;
};

/// One instance: an end of a policy, told apart by the seat and the role it was made for.
template <class Policy>
class Instance {
 public:
  using Source = typename StreamEnds<Policy>::Source;
  using Sink = typename StreamEnds<Policy>::Sink;
  using Endpoint = typename EndpointEnd<Policy>::Endpoint;

  explicit Instance(const cw_env& env) : end_(end_of(env)) {
    with_end([&]<class Made>(Made& made) { new (&made) Made(env); });
  }
  ~Instance() {
    with_end([]<class Made>(Made& made) { made.~Made(); });
  }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  bool is_ready() {
    bool is_ready = false;
    with_end([&](auto& end) { is_ready = end.is_ready(); });
    return is_ready;
  }

  template <class Action>
  void with_end(Action&& action) {
    if (end_ == End::Source) {
      action(source_);
    } else if (end_ == End::Sink) {
      action(sink_);
    } else {
      action(endpoint_);
    }
  }

 private:
  enum class End : uint8_t { Source, Sink, Endpoint };
  static End end_of(const cw_env& env) {
    if (env.seat == CW_SEAT_ENDPOINT) return End::Endpoint;
    return env.role == CW_SOURCE ? End::Source : End::Sink;
  }

  const End end_;
  // NOLINTBEGIN(readability-identifier-naming): members of the instance, and private
  union {
    Source source_;
    Sink sink_;
    Endpoint endpoint_;
  };
  // NOLINTEND(readability-identifier-naming)
};

}  // namespace cw::policy
