// Brings a browser of this machine to a gateway's socket, as `ssh -L 8080:SOCKET` would: what it
// asks goes there as it is, one question for each connection. What is below /demo goes elsewhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <string>
#include <thread>

#include "dataplane/base/result.h"
#include "dataplane/kernel/owned_fd.h"

namespace cw::demo {

/// Where questions go: sockets of HTTP servers.
struct Behind {
  std::string gateway, demo;
};

class Forwarder {
 public:
  /// Listens at 127.0.0.1 in this network namespace. Port 0: 8080, or any where that is taken.
  /// Errors: one sentence.
  static Result<Forwarder> open(uint16_t port);
  Forwarder(Forwarder&&) noexcept = default;
  Forwarder& operator=(Forwarder&&) = delete;

  uint16_t port() const { return port_; }
  /// Forwards until `is_ended`, on the caller's thread and one for each connection.
  void run(const Behind& behind, const std::atomic<bool>& is_ended) const;

 private:
  Forwarder(OwnedFd listener, uint16_t port) : listener_(std::move(listener)), port_(port) {}

  OwnedFd listener_;
  uint16_t port_;
};

}  // namespace cw::demo
