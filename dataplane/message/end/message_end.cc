#include "dataplane/message/end/message_end.h"

#include <utility>

namespace cw::group {
namespace {

MessagesOptions options_of(const MessageEndOptions& options, const MemberPort& member) {
  MessagesOptions messages;
  messages.datagrams = member.datagrams(options);
  messages.datagrams.paths = options.paths;
  messages.address = joined(options.addresses);
  messages.sends_max = options.sends_max;
  messages.receives_max = options.receives_max;
  messages.bytes_max = options.bytes_max;
  messages.pool_bytes = options.pool_bytes;
  messages.policy = options.policy;
  messages.fallback = options.fallback;
  messages.reorder = options.reorder;
  messages.deadline = options.deadline;
  return messages;
}

}  // namespace

Result<std::unique_ptr<MessageEnd>> MessageEnd::make(AnyWanPort port,
                                                     const MessageEndOptions& options) {
  std::unique_ptr<MessageEnd> end(new MessageEnd(port, options));
  MemberPort& member = end->member_;
  auto messages =
      Messages::make(member.port(), member.counters(), member.drops(), options_of(options, member));
  if (!messages) return std::unexpected(messages.error());
  end->messages_ = std::move(*messages);
  end->worker_ = std::make_unique<Worker>(
      std::span<const Worker::Side>(), Worker::WanSide{&member.port(), &end->messages_->station()});
  return end;
}

}  // namespace cw::group
