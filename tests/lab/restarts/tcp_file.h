// One TCP connection from host A to host B, over which A sends at a steady pace until it is told
// to end: every byte is looked at, and when each piece came.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/lab/sites.h"

namespace cw::lab {

struct TcpFileCounts {
  uint64_t sent = 0, received = 0;  ///< bytes
  bool is_wrong = false;            ///< something else came than was sent
  std::string trouble;              ///< of the connection; empty: none

  bool is_whole() const { return !is_wrong && trouble.empty() && received == sent; }
};

/// Thread: one, besides its own two.
class TcpFile {
 public:
  /// Connects; throws when it cannot.
  TcpFile(const Sites& sites, uint64_t bytes_per_second, uint16_t port = 7300);
  ~TcpFile();
  TcpFile(const TcpFile&) = delete;
  TcpFile& operator=(const TcpFile&) = delete;

  /// Sends no more, and waits for the rest to come.
  TcpFileCounts finish(std::chrono::milliseconds most);
  /// When bytes came, rising.
  std::vector<Time::time_point> arrivals() const;

 private:
  void send_all();
  void receive_all();

  const uint64_t bytes_per_second_;
  int from_ = -1, to_ = -1;
  std::atomic<bool> is_over_ = false, is_given_up_ = false;
  mutable std::mutex mutex_;
  TcpFileCounts counts_;
  std::vector<Time::time_point> arrivals_;
  std::thread sender_, receiver_;
};

}  // namespace cw::lab
