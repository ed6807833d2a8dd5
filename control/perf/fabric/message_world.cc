#include "control/perf/fabric/message_world.h"

#include <algorithm>
#include <utility>

namespace cw::group {
Result<std::unique_ptr<MessageWorld>> MessageWorld::make(const MessageWorldOptions& options) {
  std::unique_ptr<MessageWorld> world(new MessageWorld(options));
  if (const auto made = world->make_members(); !made) return std::unexpected(made.error());
  return world;
}

Result<void> MessageWorld::make_members() {
  for (uint16_t rank = 0; rank < options_.shape.hosts; ++rank) {
    auto end = MessageEnd::make(runner_.port(rank), options_of(rank));
    if (!end) return std::unexpected(end.error());
    members_.push_back(std::move(*end));
    runner_.set_worker(rank, &members_.back()->worker());
  }
  return {};
}

MessageEndOptions MessageWorld::options_of(uint16_t rank) {
  MessageEndOptions end{runner_.member(rank, prng_)};
  end.bytes_max = options_.bytes_max;
  end.pool_bytes = options_.pool_bytes;
  end.sends_max = options_.sends_max;
  end.receives_max = options_.receives_max;
  end.paths = options_.shape.paths;
  end.reorder = options_.reorder;
  end.policy = options_.policy;
  end.fallback = options_.fallback;
  end.deadline = options_.deadline;
  if (options_.alter) options_.alter(rank, end);
  return end;
}

bool MessageWorld::join(Duration limit) {
  return run(limit, [&] {
    return std::ranges::all_of(members_, [](const auto& each) { return each->messages().is_up(); });
  });
}

}  // namespace cw::group
