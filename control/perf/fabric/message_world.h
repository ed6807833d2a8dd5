// Members of a group of messages on a fabric, in virtual time: the real endpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "control/perf/fabric/fabric_runner.h"
#include "dataplane/base/prng.h"
#include "dataplane/message/end/message_end.h"

namespace cw::group {

struct MessageWorldOptions {
  FabricShape shape;
  uint64_t bytes_max = 1 << 20, pool_bytes = 0;
  uint32_t sends_max = 256, receives_max = 256;
  sdr::PolicyChoice policy, fallback;  ///< their parameters outlive the world
  Duration reorder = Duration::from_us(20);
  Duration deadline = Duration::from_s(10);
  /// What one member is told otherwise.
  std::function<void(uint16_t rank, MessageEndOptions& options)> alter;
};

/// Thread: one.
class MessageWorld {
 public:
  /// Errors: as MessageEnd::make().
  static Result<std::unique_ptr<MessageWorld>> make(const MessageWorldOptions& options);
  MessageWorld(const MessageWorld&) = delete;
  MessageWorld& operator=(const MessageWorld&) = delete;

  FabricNetwork& network() { return runner_.network(); }
  Messages& messages(size_t rank) { return members_[rank]->messages(); }
  const Drops& drops(size_t rank) const { return members_[rank]->drops(); }
  const Counters& counters(size_t rank) const { return members_[rank]->counters(); }
  size_t members() const { return members_.size(); }
  uint16_t host_of(size_t rank) const { return runner_.hosts()[rank]; }
  Instant now() const { return runner_.now(); }

  void stop(size_t rank) { runner_.stop(static_cast<uint16_t>(rank)); }
  /// Something was posted, outside of a turn.
  void touch(size_t rank) { runner_.touch(static_cast<uint16_t>(rank)); }
  /// As FabricRunner::run().
  bool run(Duration limit, const std::function<bool()>& is_over) {
    return runner_.run(limit, is_over);
  }
  /// Until all are up.
  bool join(Duration limit = Duration::from_s(10));

 private:
  explicit MessageWorld(const MessageWorldOptions& options)
      : options_(options), prng_(options.shape.seed), runner_(options.shape, prng_) {}
  Result<void> make_members();
  MessageEndOptions options_of(uint16_t rank);

  MessageWorldOptions options_;
  Prng prng_;
  FabricRunner runner_;
  std::vector<std::unique_ptr<MessageEnd>> members_;
};

}  // namespace cw::group
