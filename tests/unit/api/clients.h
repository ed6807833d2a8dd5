// Clients that write what they like, and a server that counts.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "control/api/server.h"
#include "dataplane/kernel/owned_fd.h"

namespace cw::api {

/// A folder of this test's own, gone with this object.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// One connection, in bytes.
class RawClient {
 public:
  explicit RawClient(const std::string& socket);
  bool is_connected() const { return is_connected_; }
  void write(const std::string& bytes) const;
  /// All that comes until the server ends the connection, or `most` is over.
  std::string read_to_end(std::chrono::milliseconds most = std::chrono::seconds(20)) const;
  /// Until this many bytes of body have come, as Content-Length says.
  std::string read_answer(std::chrono::milliseconds most = std::chrono::seconds(20)) const;

 private:
  bool read_some(std::string& text, std::chrono::steady_clock::time_point end) const;

  OwnedFd fd_;
  bool is_connected_ = false;
};

/// "HTTP/1.1 200 OK..." -> 200; 0: none.
int status_of(const std::string& answer);
std::string get(const std::string& path);
std::string post(const std::string& path, const std::string& body, const std::string& headers);
/// What a program that may order sends.
inline const std::string order_headers = "Content-Type: application/json\r\nX-Causeway: 1\r\n";

}  // namespace cw::api
