// What one core owns: the port or its queue, the endpoint on it with links and memory, their keys,
// what all of it counts, and the worker that gives it turns. The one way to put SDR on a port:
// gateway, SDK, perf, simulator, tests and benches stand on one.
//
//     Shard shard(port, random);
//     Link* link = *shard.add_link(options, key, now);
//     shard.begin();
//     while (...) shard.turn(clock.read());
//
// A site has several where a pair has several links: each lives in one shard, and shards share
// nothing but the grants of their links (core/rate/grants.h).
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/base/result.h"
#include "dataplane/core/counters.h"
#include "dataplane/core/turn/worker.h"
#include "dataplane/pass/raw_port.h"
#include "dataplane/sdr/endpoint.h"
#include "offload/mac.h"

namespace cw::sdr {

/// Thread: the worker's, except for what counters and the worker's mailbox let others do.
class Shard {
 public:
  /// `port` outlives it. `random` draws the nonces and keys of all links.
  Shard(WanPort& port, const RandomSource& random, const CodingOptions& coding = {});
  /// On a port that moves bytes.
  Shard(Port& wire, const RandomSource& random, const CodingOptions& coding = {});

  /// One more link. What the port decides of `options` (ICRC, numbers) it decides here;
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

  /// Of a port that moves bytes: see RawPort. False: there are none to be seen.
  bool set_tap(PacketTap* tap) {
    if (raw_ != nullptr) raw_->set_tap(tap);
    return raw_ != nullptr;
  }

  WanPort& port() { return port_; }
  const WanPort& port() const { return port_; }
  Worker& worker() { return *worker_; }
  const Worker& worker() const { return *worker_; }
  Endpoint& endpoint() { return endpoint_; }
  const Endpoint& endpoint() const { return endpoint_; }
  Counters& counters() { return counters_; }
  const Counters& counters() const { return counters_; }
  Drops& drops() { return drops_; }
  const Drops& drops() const { return drops_; }

 private:
  Shard(std::unique_ptr<RawPort> raw, const RandomSource& random, const CodingOptions& coding);

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
