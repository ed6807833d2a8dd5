// The loop between two interfaces: what has arrived is judged, what is due leaves, and between the
// two it sleeps. One thread.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "control/wan/link/direction.h"
#include "control/wan/link/lateness.h"
#include "control/wan/options.h"
#include "control/wan/socket/control_socket.h"
#include "control/wan/socket/packet_socket.h"
#include "dataplane/base/result.h"
#include "dataplane/core/turn/clock.h"

namespace cw::wan {

/// A run so far.
struct Progress {
  Duration elapsed;
  std::array<const Direction*, 2> directions;  ///< A to B, B to A
  const Lateness* lateness;
  const BothDirections* link;  ///< as it is now
  uint64_t changes;            ///< of the link since it began
};

class Forwarder {
 public:
  using Watcher = std::function<void(const Progress&)>;

  static Result<std::unique_ptr<Forwarder>> make(const Options& options);

  /// Forwards until the time is over or `stop` is set (by a signal handler), and calls `watcher`
  /// every options.stats_every. The link's clock, which blackouts follow, starts here.
  void run(const std::atomic<bool>& stop, const Watcher& watcher);

  Progress progress() const;

 private:
  struct Side {
    FrameInput input;
    FrameOutput output;
  };
  Forwarder(const Options& options, std::array<Interface, 2> interfaces, Side a, Side b,
            std::optional<ControlSocket> control);

  Instant now() const { return Instant() + (clock_.read() - start_); }
  size_t admit_burst(size_t direction, Instant now);
  size_t send_due(size_t direction, Instant now);
  void settle(Direction& direction, std::span<const Direction::Due> due,
              const FrameOutput::Sent& sent);
  Duration wall_offset() const;
  void serve(Instant now);
  std::string change(const std::string& request);
  void collect_missed();
  void gather() const;
  void wait(Instant now, Instant until);

  const Options& options_;
  MonotonicClock clock_;
  Instant start_;
  std::array<Side, 2> sides_;
  std::array<Direction, 2> directions_;
  BothDirections link_;
  uint64_t changes_ = 0;
  std::optional<ControlSocket> control_;
  Instant control_due_;
  std::array<Instant, 2> latest_arrival_{};
  bool is_output_full_ = false;
  Lateness lateness_;
};

}  // namespace cw::wan
