// A large file from host to host, over one TCP connection.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "dataplane/base/prng.h"
#include "tests/demo/traffic.h"
#include "tests/lab/enclosure.h"

namespace cw::demo {
namespace {

using lab::At;

constexpr uint16_t tcp_port = 7008;
const std::string folder = lab::enclosure_folder;

/// Owns a file descriptor.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {
    if (fd < 0) throw std::runtime_error("no socket or file for the transfer");
  }
  ~Fd() { close(fd_); }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  operator int() const { return fd_; }

 private:
  int fd_;
};

void write_random(const std::string& path, uint64_t bytes) {
  std::ofstream file(path, std::ios::binary);
  Prng prng(bytes);
  std::array<uint64_t, 8192> block;
  for (uint64_t written = 0; written < bytes; written += sizeof(block)) {
    for (uint64_t& word : block) word = prng.next();
    const auto count = std::min<uint64_t>(sizeof(block), bytes - written);
    file.write(reinterpret_cast<const char*>(block.data()), static_cast<std::streamsize>(count));
  }
  if (!file) throw std::runtime_error(path + " cannot be written");
}

/// CUBIC, whatever this machine's default is: what most machines use.
void use_cubic(int socket) {
  const std::string name = "cubic";
  if (setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                 static_cast<socklen_t>(name.size())) != 0) {
    throw std::runtime_error("this kernel's TCP has no cubic");
  }
}

/// Sends the file until it is through or the other side has had enough.
void send_all(int socket, int file, uint64_t bytes) {
  const auto name = lab::socket_name(lab::site_b.host, tcp_port);
  if (connect(socket, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0) {
    for (off_t at = 0; static_cast<uint64_t>(at) < bytes;) {
      if (sendfile(socket, file, &at, bytes - static_cast<uint64_t>(at)) <= 0) break;
    }
  }
  shutdown(socket, SHUT_WR);
}

/// Writes what comes to `file`, until the end or until it takes too long.
uint64_t receive_all(int listener, int file, lab::Time::time_point end) {
  const auto set_timeout = [end](int socket) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end - lab::Time::now());
    const auto us = std::max<int64_t>(left.count(), 1000);
    const timeval most{us / 1'000'000, us % 1'000'000};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
  };
  set_timeout(listener);
  const Fd connection(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  std::vector<char> bytes(1 << 20);
  uint64_t total = 0;
  while (lab::Time::now() < end) {
    set_timeout(connection);
    const ssize_t count = recv(connection, bytes.data(), bytes.size(), 0);
    if (count <= 0) break;
    if (write(file, bytes.data(), static_cast<size_t>(count)) != count) break;
    total += static_cast<uint64_t>(count);
  }
  return total;
}

uint64_t differences(const std::string& one, const std::string& other) {
  std::ifstream a(one, std::ios::binary), b(other, std::ios::binary);
  uint64_t count = 0;
  std::vector<char> left(1 << 20), right(1 << 20);
  while (b.read(right.data(), static_cast<std::streamsize>(right.size())) || b.gcount() > 0) {
    a.read(left.data(), b.gcount());
    for (std::streamsize i = 0; i < b.gcount(); ++i) {
      count += left[static_cast<size_t>(i)] != right[static_cast<size_t>(i)];
    }
  }
  return count;
}

std::string checksum_of(const lab::Space& space, const std::string& path) {
  const std::string line = space.run({"sha256sum", path}).out;
  return line.substr(0, line.find(' '));
}

}  // namespace

FileResult send_file(const lab::Sites& sites, Bytes size, std::chrono::seconds most) {
  const std::string original = folder + "/file.a", copy = folder + "/file.b";
  write_random(original, size.count());
  const Fd listener(sites.space(At::HostB).socket(AF_INET, SOCK_STREAM));
  const Fd sender(sites.space(At::HostA).socket(AF_INET, SOCK_STREAM));
  const Fd from(open(original.c_str(), O_RDONLY | O_CLOEXEC));
  const Fd to(open(copy.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const auto name = lab::socket_name(lab::site_b.host, tcp_port);
  const int on = 1;
  use_cubic(sender);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listener, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0 ||
      listen(listener, 1) != 0) {
    throw std::runtime_error("nobody can listen at host B");
  }
  FileResult result;
  const auto start = lab::Time::now();
  std::thread sending([&] { send_all(sender, from, size.count()); });
  try {
    result.bytes = receive_all(listener, to, start + most);
  } catch (...) {
    shutdown(sender, SHUT_RDWR);
    sending.join();
    throw;
  }
  result.seconds = std::chrono::duration<double>(lab::Time::now() - start).count();
  shutdown(sender, SHUT_RDWR);
  sending.join();
  result.is_whole = result.bytes == size.count();
  result.checksum = checksum_of(sites.space(At::HostB), copy);
  result.bytes_wrong = differences(original, copy);
  const bool is_alike = result.checksum == checksum_of(sites.space(At::HostA), original);
  if (result.is_whole && !is_alike && result.bytes_wrong == 0) {
    throw std::runtime_error("the checksums differ and the bytes do not");
  }
  unlink(original.c_str());
  unlink(copy.c_str());
  return result;
}

}  // namespace cw::demo
