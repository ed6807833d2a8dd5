// An HTTP server for few, who may be slow or hostile: bounded in size, time and number, one thread,
// which nobody else waits for. The protocol is libmicrohttpd's.
//
//     Server server(std::move(routes), {"localhost"});
//     server.add({.socket = ..., .role = Role::Read});     // before rights are given up
//     server.start();
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/api/request.h"
#include "dataplane/base/result.h"
#include "dataplane/kernel/owned_fd.h"

namespace cw::api {

/// What clients have at most.
struct ServerLimits {
  uint32_t connections = 64;  ///< of one listener
  /// From the first byte of a question, or of a connection, to its last; see Route::seconds_max.
  std::chrono::milliseconds question_time{10'000};
  /// Where all places are taken, who has not asked by then makes room.
  std::chrono::milliseconds hesitation_time{1'000};
};
inline constexpr uint32_t connections_per_address_max = 16;  ///< of those by TCP
inline constexpr size_t headers_bytes_max = 64 << 10;
inline constexpr size_t body_bytes_max = 64 << 10;

/// TLS, and a certificate of every client.
struct TlsOptions {
  std::string certificate, key, client_ca;  ///< PEM texts, not files
  /// Common names of those that may control; the rest may read.
  std::vector<std::string> controllers;
};

struct Listener {
  OwnedFd socket;                 ///< listens; not blocking
  Role role = Role::Read;         ///< of all who come here
  std::optional<TlsOptions> tls;  ///< then by certificate, at most `role`
};

/// How many connections there are and were; questions by answer.
struct ServerCounts {
  uint64_t connections = 0, open = 0, questions = 0, refused = 0, ended_for_time = 0;
};

class Server {
 public:
  /// `hosts`: what a client may call this server in Host, besides this machine's names for itself.
  Server(std::vector<Route> routes, std::vector<std::string> hosts,
         const ServerLimits& limits = {});
  /// Stops; whoever still waits for a reply is told so.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Before start(). Errors: a certificate or key that cannot be read, in one sentence.
  Result<void> add(Listener listener);
  /// Its thread, as urgent as any program's.
  void start();
  /// Takes no more questions; its thread ends while the caller does something else.
  void end_soon();
  /// Thread: any.
  ServerCounts counts() const;

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace cw::api
