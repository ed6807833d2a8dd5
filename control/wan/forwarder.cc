#include "control/wan/forwarder.h"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>

#include "control/wan/socket/frame.h"

namespace cw::wan {
namespace {

constexpr size_t arrivals_max = 256;                      // per turn and side
constexpr Duration sleep_max = Duration::from_ms(50);     // a stop is noticed at least so often
constexpr Duration control_every = Duration::from_ms(1);  // a look costs a system call
constexpr Duration full_pause = Duration::from_us(100);   // until a full interface is tried again

Duration wall_clock() {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return Duration::from_s(time.tv_sec) + Duration::from_ns(time.tv_nsec);
}

DirectionLimits limits_of(const Options& options, const std::array<Interface, 2>& interfaces) {
  const size_t frame_bytes =
      std::max(interfaces[0].mtu, interfaces[1].mtu) + ethernet_header_bytes + 2 * vlan_tag_bytes;
  const size_t frames = options.memory.count() / 2 / (frame_bytes + sizeof(ReleaseQueue::Entry));
  return {
      .frames_max = frames, .frame_bytes_max = frame_bytes, .may_change = !options.control.empty()};
}

}  // namespace

Result<std::unique_ptr<Forwarder>> Forwarder::make(const Options& options) {
  std::array<Interface, 2> interfaces;
  for (size_t i = 0; i < 2; ++i) {
    auto found = Interface::find(options.interfaces[i]);
    if (!found) return failure(found.error().sentence);
    interfaces[i] = *found;
  }
  const auto open = [](const Interface& interface) -> Result<Side> {
    auto output = FrameOutput::open(interface);
    if (!output) return failure(output.error().sentence);
    auto input = FrameInput::open(interface);
    if (!input) return failure(input.error().sentence);
    return Side{std::move(*input), std::move(*output)};
  };
  auto a = open(interfaces[0]);
  if (!a) return failure(a.error().sentence);
  auto b = open(interfaces[1]);
  if (!b) return failure(b.error().sentence);
  std::optional<ControlSocket> control;
  if (!options.control.empty()) {
    auto opened = ControlSocket::open(options.control);
    if (!opened) return failure("--control: " + opened.error().sentence);
    control.emplace(std::move(*opened));
  }
  return std::unique_ptr<Forwarder>(
      new Forwarder(options, interfaces, std::move(*a), std::move(*b), std::move(control)));
}

Forwarder::Forwarder(const Options& options, std::array<Interface, 2> interfaces, Side a, Side b,
                     std::optional<ControlSocket> control)
    : options_(options),
      start_(clock_.read()),
      sides_{std::move(a), std::move(b)},
      directions_([&]() -> std::array<Direction, 2> {
        Prng prng(options.seed);
        const DirectionLimits limits = limits_of(options, interfaces);
        const auto& of = options.directions;
        return {Direction(of[0].impairment, prng.split(), limits, options.impairs_arp),
                Direction(of[1].impairment, prng.split(), limits, options.impairs_arp)};
      }()),
      link_(options.directions),
      control_(std::move(control)) {}

Progress Forwarder::progress() const {
  return {.elapsed = now() - Instant(),
          .directions = {&directions_[0], &directions_[1]},
          .lateness = &lateness_,
          .link = &link_,
          .changes = changes_};
}

void Forwarder::run(const std::atomic<bool>& stop, const Watcher& watcher) {
  start_ = clock_.read();
  const bool is_watched = options_.stats_every > Duration();
  const Instant end =
      options_.duration == Duration::max() ? Instant::never() : Instant() + options_.duration;
  Instant next_report = is_watched ? Instant() + options_.stats_every : Instant::never();
  for (Instant time = now(); time < end && !stop.load(std::memory_order_relaxed); time = now()) {
    serve(time);
    size_t moved = admit_burst(0, time) + admit_burst(1, time);
    moved += send_due(0, time) + send_due(1, time);
    if (time >= next_report) {
      collect_missed();
      watcher(progress());
      next_report = std::max(next_report + options_.stats_every, time);
    }
    if (moved > 0) {
      gather();
    } else {
      wait(time, std::min(end, next_report));
    }
  }
  collect_missed();
}

void Forwarder::serve(Instant now) {
  if (!control_ || now < control_due_) return;
  control_due_ = now + control_every;
  while (const auto request = control_->try_receive()) control_->answer(change(*request));
}

/// Returns the answer.
std::string Forwarder::change(const std::string& request) {
  if (request.find_first_not_of(" \t\r") == std::string::npos) return settings_of(link_) + "ok\n";
  const auto made = changed(link_, request);
  if (!made) return "error: " + made.error().sentence + "\n";
  link_ = *made;
  for (size_t i = 0; i < 2; ++i) directions_[i].change(link_[i].impairment);
  ++changes_;
  return "ok\n";
}

/// From the wall clock, in which the kernel stamps arrivals, to the link's.
Duration Forwarder::wall_offset() const { return wall_clock() - (now() - Instant()); }

size_t Forwarder::admit_burst(size_t direction, Instant now) {
  FrameInput& input = sides_[direction].input;
  Arrival arrival;
  int64_t wall_ns = 0;
  if (!input.try_front(arrival, wall_ns)) return 0;
  const Duration offset = wall_offset();
  size_t count = 0;
  do {
    // The wall clock may be set at any time; what it says must lie between the last and now.
    Instant& latest = latest_arrival_[direction];
    latest = std::clamp(Instant::from_ns(wall_ns) - offset, latest, std::max(latest, now));
    arrival.at = latest;
    directions_[direction].admit(arrival);
    input.pop();
  } while (++count < arrivals_max && input.try_front(arrival, wall_ns));
  return count;
}

size_t Forwarder::send_due(size_t direction, Instant now) {
  Direction& from = directions_[direction];
  std::array<Direction::Due, FrameOutput::burst_frames_max> due;
  const size_t count = from.take_due(now, due);
  if (count == 0) return 0;
  const std::span<const Direction::Due> frames(due.data(), count);
  const auto sent = sides_[1 - direction].output.send(frames);
  settle(from, frames, sent);
  return sent.count + sent.is_refused;
}

/// Every frame that was taken is gone, refused or held again.
void Forwarder::settle(Direction& direction, std::span<const Direction::Due> due,
                       const FrameOutput::Sent& sent) {
  const Instant left = now();
  for (const Direction::Due& each : due.first(sent.count)) {
    lateness_.add(left - each.entry.at);
    direction.sent(each);
  }
  size_t done = sent.count;
  if (sent.is_refused) direction.refused(due[done++]);
  for (const Direction::Due& each : due.subspan(done)) direction.put_back(each);
  is_output_full_ |= done == 0;
}

void Forwarder::collect_missed() {
  for (size_t i = 0; i < 2; ++i) directions_[i].add_missed(sides_[i].input.take_missed());
}

/// Where frames come in a row, waking for each costs more than carrying it.
void Forwarder::gather() const {
  if (options_.gather <= Duration()) return;
  const timespec time{0, static_cast<long>(options_.gather.ns())};
  nanosleep(&time, nullptr);
}

/// Sleeps until a frame arrives or the next one is due, or returns at once to spin.
void Forwarder::wait(Instant now, Instant until) {
  const Instant due = is_output_full_
                          ? now + full_pause
                          : std::min(directions_[0].next_due(), directions_[1].next_due());
  is_output_full_ = false;
  const Instant wake = std::min({until, now + sleep_max, due});
  const Duration sleep = wake - now - options_.spin;
  if (sleep <= Duration()) return;
  // The kernel skips a negative one.
  std::array<pollfd, 3> fds{pollfd{sides_[0].input.fd(), POLLIN, 0},
                            pollfd{sides_[1].input.fd(), POLLIN, 0},
                            pollfd{control_ ? control_->fd() : -1, POLLIN, 0}};
  const timespec timeout{0, static_cast<long>(sleep.ns())};
  if (ppoll(fds.data(), fds.size(), &timeout, nullptr) <= 0) return;
  if (fds[2].revents != 0) control_due_ = now;
  for (const pollfd& fd : std::span(fds).first(2)) {
    if ((fd.revents & POLLERR) == 0) continue;
    int error = 0;  // an interface went down; asking clears it, and it may come up again
    socklen_t bytes = sizeof(error);
    getsockopt(fd.fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
  }
}

}  // namespace cw::wan
