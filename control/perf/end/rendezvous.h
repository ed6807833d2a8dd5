// How client and server find each other: one TCP connection beside the measurement. The client says
// what is to be measured and later that it has ended; the server answers with a refusal or with
// what it saw. One JSON object a line.
//
//   client                         server
//     -- hello: the parameters -->
//     <-- ready, or a refusal ----
//          (the measurement, over UDP)
//     -- finish: messages posted ->
//     <-- report -----------------
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "control/json/json.h"
#include "control/perf/parameters.h"
#include "control/units/lines.h"
#include "dataplane/base/result.h"
#include "dataplane/base/units.h"

namespace cw::perf {

/// Set by Ctrl-C; every wait here ends soon after.
using StopFlag = std::atomic<bool>;

/// Owns a connection. Thread: one.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&&) = delete;
  ~Channel();

  int fd() const { return fd_; }
  /// The other end's IP address, as text.
  std::string peer_address() const;
  /// Whether packets to it travel over IPv6.
  bool is_v6() const;
  /// False when the other end has hung up.
  bool send(const Json& json);
  /// The next object, if it has come; never waits.
  std::optional<Json> try_receive();
  /// The next object. Errors: the other end has hung up, or said nothing for `patience`; stopped.
  Result<Json> receive(Duration patience, const StopFlag& stop);
  bool has_hung_up() const { return has_hung_up_; }

 private:
  void read_some();

  static constexpr size_t line_bytes_max = 64 << 10;

  int fd_ = -1;
  bool has_hung_up_ = false;
  Lines lines_{line_bytes_max};
};

/// Errors: no such host; nobody listens there.
Result<Channel> connect_to(const std::string& host, uint16_t tcp_port);

/// Waits for clients on every address of this machine.
class Listener {
 public:
  /// Errors: the TCP port is taken.
  static Result<Listener> make(uint16_t tcp_port);
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  /// Waits for the next client; nothing when stopped.
  std::optional<Channel> accept(const StopFlag& stop);

 private:
  explicit Listener(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace cw::perf
