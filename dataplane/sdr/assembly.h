// The one way to put SDR on a port: an endpoint, the keys of its links, what all of it counts, and
// the worker that gives it turns. Gateway, SDK, perf, simulator, tests and benches stand on one.
//
//     Assembly site(port, random);
//     Link* link = *site.add_link(options, key, now);
//     site.begin();
//     while (...) site.turn(clock.read());
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "dataplane/base/result.h"
#include "dataplane/core/counters.h"
#include "dataplane/core/worker.h"
#include "dataplane/pass/raw_port.h"
#include "dataplane/sdr/endpoint.h"
#include "offload/mac.h"

namespace cw::sdr {

/// Thread: the worker's, except for what counters and the worker's mailbox let others do.
class Assembly {
 public:
  /// `port` outlives it. `random` draws the nonces and keys of all links.
  Assembly(WanPort& port, const RandomSource& random, const CodingOptions& coding = {});
  /// On a port that moves bytes.
  Assembly(Port& wire, const RandomSource& random, const CodingOptions& coding = {});

  /// The link to one more peer. What the port decides of `options` (ICRC, numbers) it decides here;
  /// `key`, the pair's, is copied. Errors: as Endpoint::add_link().
  Result<Link*> add_link(LinkOptions options, const cw_mac& key, Instant now);

  /// Before the first turn. `others` are served before the endpoint, in each turn.
  void begin(std::span<const Worker::Side> others = {});

  /// A turn of the worker, and after it what of policies is made and destroyed outside of turns:
  /// for who has one thread. Returns whether there was anything to do.
  bool turn(Instant now) {
    const bool has_worked = worker_->turn(now);
    if (endpoint_.wants_care()) endpoint_.care(now);
    return has_worked;
  }

  WanPort& port() { return port_; }
  Worker& worker() { return *worker_; }
  const Worker& worker() const { return *worker_; }
  Endpoint& endpoint() { return endpoint_; }
  const Endpoint& endpoint() const { return endpoint_; }
  Counters& counters() { return counters_; }
  const Counters& counters() const { return counters_; }
  Drops& drops() { return drops_; }
  const Drops& drops() const { return drops_; }

 private:
  Assembly(std::unique_ptr<RawPort> raw, const RandomSource& random, const CodingOptions& coding);

  std::unique_ptr<RawPort> raw_;  // where the port is one
  WanPort& port_;
  RandomSource random_;
  std::deque<cw_mac> keys_;  // links point at them
  Counters counters_;
  Drops drops_;
  Endpoint endpoint_;
  std::optional<Worker> worker_;  // goes first: it gives packets back
};

}  // namespace cw::sdr
