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
#include "dataplane/pass/sealed_port.h"
#include "dataplane/sdr/beside/endpoint_pair.h"
#include "dataplane/sdr/endpoint.h"
#include "offload/mac.h"

namespace cw::sdr {

/// Thread: the worker's, except for what counters and the worker's mailbox let others do.
class Shard {
 public:
  /// `port` outlives it. `random` draws the nonces and keys of all links.
  Shard(AnyWanPort port, const RandomSource& random, const CodingOptions& coding = {})
      : Shard(port, nullptr, random, coding) {}
  /// What crosses is sealed. The sealer outlives it.
  Shard(AnyWanPort port, seal::Sealer* sealer, const RandomSource& random,
        const CodingOptions& coding);

  /// One more link. What the port decides of `options` (ICRC, numbers) it decides here;
  /// `key`, the pair's, is copied. Errors: as Endpoint::add_link().
  Result<Link*> add_link(LinkOptions options, const cw_mac& key, Instant now);

  /// A second endpoint on the port: its links have numbers from limits::links_max on where the
  /// first one's lie below, or the other way round. It is turned while it has joined. Thread: any.
  std::unique_ptr<Endpoint> make_endpoint(const CodingOptions& coding);
  /// As add_link(), of an endpoint that has not joined. Thread: any, one at a time.
  Result<Link*> add_link(Endpoint& endpoint, LinkOptions options, const cw_mac& key, Instant now);
  /// Between two turns: `other`, which may be none, is turned beside endpoint(), and who was is
  /// `other`.
  void exchange_beside(std::unique_ptr<Endpoint>& other) {
    beside_.swap(other);
    pair_.set(*endpoint_, beside_.get());
  }
  /// Between two turns: endpoint() and beside() change places.
  void exchange() {
    CW_ASSERT(beside_ != nullptr);
    beside_.swap(endpoint_);
    pair_.set(*endpoint_, beside_.get());
  }
  /// Null: there is none.
  Endpoint* beside() { return beside_.get(); }
  const Endpoint* beside() const { return beside_.get(); }
  /// Of either.
  bool wants_care() const {
    return endpoint_->wants_care() || (beside_ != nullptr && beside_->wants_care());
  }

  /// Before the first turn. `others` are served before the endpoint, in each turn.
  void begin(std::span<const Worker::Side> others = {});

  /// A turn of the worker, and after it what of policies is made and destroyed outside of turns:
  /// for who has one thread. Returns whether there was anything to do.
  bool turn(Instant now) {
    const bool has_worked = worker_->turn(now);
    if (endpoint_->wants_care()) endpoint_->care(now);
    if (beside_ != nullptr && beside_->wants_care()) beside_->care(now);
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
  Endpoint& endpoint() { return *endpoint_; }
  const Endpoint& endpoint() const { return *endpoint_; }
  Counters& counters() { return counters_; }
  const Counters& counters() const { return counters_; }
  Drops& drops() { return drops_; }
  const Drops& drops() const { return drops_; }

 private:
  std::unique_ptr<RawPort> raw_;        // where the port moves bytes
  std::unique_ptr<SealedPort> sealed_;  // where it posts, and there is a sealer
  WanPort& port_;
  RandomSource random_;
  std::deque<cw_mac> keys_;  // links point at them
  Counters counters_;
  Drops drops_;
  std::unique_ptr<Endpoint> endpoint_, beside_;
  EndpointPair pair_;
  std::optional<Worker> worker_;  // goes first: it gives packets back
};

}  // namespace cw::sdr
