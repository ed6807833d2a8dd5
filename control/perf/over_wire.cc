#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "control/json/json.h"
#include "control/perf/measure.h"
#include "control/perf/report/figures.h"
#include "control/perf/report/words.h"
#include "control/perf/wire.h"
#include "dataplane/base/assert.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/core/turn/idle.h"

namespace cw::perf {
namespace {

constexpr Duration hello_patience = Duration::from_s(5);
constexpr Duration up_patience = Duration::from_s(10);
constexpr Duration report_patience = Duration::from_s(30);      // the server may wait for holes
constexpr Duration interrupted_patience = Duration::from_s(2);  // a person waits
constexpr Duration look_every = Duration::from_ms(5);           // into the rendezvous
constexpr Duration leave_time = Duration::from_ms(20);
constexpr uint32_t overhead_v4 = 14 + 20 + 8 + 4, overhead_v6 = 14 + 40 + 8 + 4;

uint64_t fresh_bits(void*) {
  uint64_t bits = 0;
  // Up to 256 bytes come whole once the pool is filled, which waiting ensures.
  CW_ASSERT(getrandom(&bits, sizeof(bits), 0) == sizeof(bits));
  return bits;
}

/// A UDP port that nobody uses just now.
uint16_t free_udp_port() {
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  socklen_t bytes = sizeof(name);
  const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool is_bound = bind(fd, reinterpret_cast<const sockaddr*>(&name), bytes) == 0 &&
                        getsockname(fd, reinterpret_cast<sockaddr*>(&name), &bytes) == 0;
  close(fd);
  return is_bound ? ntohs(name.sin6_port) : uint16_t{0};
}

/// An end over its wire, in real time.
class LiveEnd {
 public:
  explicit LiveEnd(Wire wire) : wire_(std::move(wire)) {}

  Result<void> join(plugins::Registry& policies, Role role, const Options& options,
                    const Parameters& parameters) {
    EndOptions end;
    end.role = role;
    end.parameters = parameters;
    end.key = options.key;
    end.random = {nullptr, fresh_bits};
    end.packet_overhead_bytes = wire_.is_v6 ? overhead_v6 : overhead_v4;
    auto made = End::make(wire_.any(), policies, end, now());
    if (!made) return failure(made.error().sentence);
    end_ = std::move(*made);
    PortBase* const ports[] = {&wire_.any().base()};
    idle_.emplace(IdleOptions{}, ports);
    return {};
  }

  /// Turns the end and its program until `is_over`, asked after every turn.
  template <class Program, class IsOver>
  void turn_until(Program& program, IsOver is_over) {
    while (true) {
      const Instant now = this->now();
      const bool has_moved = end_->turn(now);
      const bool has_worked = program.turn(now) || has_moved;
      if (is_over(now)) return;
      const Instant next = std::min(end_->next_wakeup(), program.next_deadline());
      const Instant wake = std::min(idle_->plan(has_worked, now, next), now + look_every);
      if (wake <= now) continue;
      end_->sleeps_until(wake);
      idle_->wait(wake - now);
    }
  }

  /// Tells the other end that this one goes.
  void leave() {
    end_->link().leave(now());
    for (const Instant end = now() + leave_time; now() < end;) end_->turn(now());
  }

  Instant now() const { return clock_.read(); }
  End& end() { return *end_; }
  const Wire& wire() const { return wire_; }

 private:
  MonotonicClock clock_;
  Wire wire_;
  std::unique_ptr<End> end_;
  std::optional<IdleWait> idle_;
};

/// Looks into the rendezvous now and then: a look is a system call.
class Ear {
 public:
  explicit Ear(Channel& channel) : channel_(channel) {}

  std::optional<Json> listen(Instant now) {
    if (now < next_) return std::nullopt;
    next_ = now + look_every;
    return channel_.try_receive();
  }

 private:
  Channel& channel_;
  Instant next_;
};

/// The server agrees, or says why not.
Result<void> introduce(Channel& channel, const Parameters& parameters, const StopFlag& stop) {
  channel.send(hello(parameters));
  const auto answer = channel.receive(hello_patience, stop);
  if (!answer) return failure("no answer from the server: " + answer.error().sentence);
  return consent_in(*answer);
}

/// Why the sender's loop ended.
struct Ending {
  std::string error;  // it never came up
  const char* word = ended_done;
};

Ending drive(Sender& sender, LiveEnd& live, Channel& channel, const Parameters& parameters,
             const StopFlag& stop) {
  Progress progress;
  Ending ending;
  Ear ear(channel);
  const Instant start = live.now();
  live.turn_until(sender, [&](Instant now) {
    progress.show(sender, parameters, live.end(), now);
    const auto word = ear.listen(now);
    if (sender.posted() == 0 && now - start > up_patience) {
      ending.error = "the link does not come up: " + live.end().link().why();
    } else if (!sender.mistake().empty()) {
      ending.error = sender.mistake();
    } else if (sender.has_lost_peer() || word || channel.has_hung_up()) {
      ending.word = ended_lost;
    } else if (stop) {
      ending.word = ended_interrupted;
    } else {
      return sender.is_done();
    }
    return true;
  });
  progress.clear();
  return ending;
}

/// Null when the server has no more to say.
Json ask_for_report(Sender& sender, LiveEnd& live, Channel& channel, bool is_whole) {
  channel.send(finish(sender.posted(), is_whole));
  sender.stop_posting();
  Json figures;
  Ear ear(channel);
  const Instant end = live.now() + (is_whole ? report_patience : interrupted_patience);
  live.turn_until(sender, [&](Instant now) {
    if (const auto word = ear.listen(now)) figures = figures_in(*word);
    return figures.is_object() || channel.has_hung_up() || now >= end;
  });
  return figures;
}

/// What a client wants; the port towards it; and whether that can be.
Result<Parameters> hear_hello(Channel& channel, const StopFlag& stop) {
  auto hello = channel.receive(hello_patience, stop);
  if (!hello) return failure("a client that says nothing: " + hello.error().sentence);
  return parameters_in(*hello);
}

}  // namespace

Result<Outcome> run_client(const Options& options, plugins::Registry& policies,
                           const StopFlag& stop) {
  auto channel = connect_to(options.host, options.udp_port);
  if (!channel) return std::unexpected(channel.error());
  Parameters parameters = options.parameters;
  parameters.client_udp_port = free_udp_port();
  auto wire = make_wire(options, parameters.client_udp_port,
                        {channel->peer_address(), options.udp_port, channel->is_v6()});
  if (!wire) return std::unexpected(wire.error());
  const uint32_t most = wire->any().facts().payload_max;
  if (parameters.payload_bytes > most) {
    return failure("--payload is " + std::to_string(parameters.payload_bytes) +
                   " and the MTU of the route allows " + std::to_string(most));
  }
  if (parameters.payload_bytes == 0) parameters.payload_bytes = most / 4 * 4;
  LiveEnd live(std::move(*wire));
  if (auto joined = live.join(policies, Role::Sender, options, parameters); !joined) {
    return failure(joined.error().sentence);
  }
  if (auto met = introduce(*channel, parameters, stop); !met) return failure(met.error().sentence);
  Payload payload(parameters.size, parameters.seed);
  if (const auto kept = live.end().register_memory(payload.memory()); !kept) {
    return std::unexpected(kept.error());
  }
  Sender sender(live.end().link(), parameters, payload, options.phases);
  const Ending ending = drive(sender, live, *channel, parameters, stop);
  if (!ending.error.empty()) return failure(ending.error);
  const bool is_whole = ending.word == ended_done;
  const Json server = ask_for_report(sender, live, *channel, is_whole);
  const Json report = report_of(parameters, sender, figures_of(live.end(), live.wire().counts()),
                                server, ending.word);
  live.leave();
  return Outcome{report, is_whole && server.is_object()};
}

Result<Outcome> serve(Channel& channel, const Options& options, plugins::Registry& policies,
                      const StopFlag& stop) {
  const auto refuse = [&](const std::string& sentence) {
    channel.send(refusal(sentence));
    return failure(channel.peer_address() + ": " + sentence);
  };
  const auto parameters = hear_hello(channel, stop);
  if (!parameters) return refuse(parameters.error().sentence);
  auto wire = make_wire(options, options.udp_port,
                        {channel.peer_address(), parameters->client_udp_port, channel.is_v6()});
  if (!wire) return refuse(wire.error().sentence);
  const uint32_t most = wire->any().facts().payload_max;
  if (parameters->payload_bytes > most) {
    return refuse("--payload is " + std::to_string(parameters->payload_bytes) +
                  " and the MTU of the server's route allows " + std::to_string(most));
  }
  LiveEnd live(std::move(*wire));
  if (auto joined = live.join(policies, Role::Receiver, options, *parameters); !joined) {
    return refuse(joined.error().sentence);
  }
  const Payload payload(parameters->size, parameters->seed);
  Receiver receiver(live.end().link(), *parameters, payload);
  channel.send(ready());

  std::optional<uint64_t> awaited;  // messages, once the client says how many it has posted
  Ear ear(channel);
  live.turn_until(receiver, [&](Instant now) {
    const auto word = ear.listen(now);
    if (const auto posted = word ? finish_in(*word) : std::nullopt) awaited = posted;
    return stop || channel.has_hung_up() || receiver.has_lost_peer() ||
           (awaited && receiver.received() >= *awaited);
  });
  const Json figures = figures_of(receiver, live.end(), live.wire().counts());
  channel.send(report(figures));
  return Outcome{figures, awaited.has_value() && !stop};
}

}  // namespace cw::perf
