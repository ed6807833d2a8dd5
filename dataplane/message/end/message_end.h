// What a process has of a group of messages: the member behind its port, what it counts, and the
// worker that gives it turns.
//
//     auto end = MessageEnd::make(port, options);
//     while (...) (*end)->turn(clock.read());
#pragma once

#include <cstdint>
#include <memory>

#include "dataplane/base/result.h"
#include "dataplane/core/turn/worker.h"
#include "dataplane/datagram/end/member_port.h"
#include "dataplane/message/messages.h"

namespace cw::group {

struct MessageEndOptions : MemberOptions {
  uint64_t bytes_max = 0, pool_bytes = 0;        ///< as MessagesOptions
  uint32_t sends_max = 256, receives_max = 256;  ///< likewise
  uint32_t paths = 1;                            ///< at most as many as the port has
  sdr::PolicyChoice policy, fallback;            ///< their parameters outlive it
  Duration deadline = Duration::from_s(10);
};

/// Thread: one. Nothing allocates after it is made, save the sentence of a failure.
class MessageEnd {
 public:
  /// `port` outlives it; random's state too. Errors: as Messages::make().
  static Result<std::unique_ptr<MessageEnd>> make(AnyWanPort port,
                                                  const MessageEndOptions& options);

  Messages& messages() { return *messages_; }
  const Messages& messages() const { return *messages_; }
  WanPort& port() { return member_.port(); }
  Worker& worker() { return *worker_; }
  const Counters& counters() const { return member_.counters(); }
  const Drops& drops() const { return member_.drops(); }
  bool turn(Instant now) { return worker_->turn(now); }

 private:
  MessageEnd(AnyWanPort port, const MessageEndOptions& options) : member_(port, options.key) {}

  MemberPort member_;
  std::unique_ptr<Messages> messages_;
  std::unique_ptr<Worker> worker_;  // goes first: it gives packets back
};

}  // namespace cw::group
