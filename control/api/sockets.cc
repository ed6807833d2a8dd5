#include "control/api/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>

namespace cw::api {
namespace {

constexpr mode_t socket_mode = 0660, folder_mode = 0755;
constexpr int backlog = 16;

std::unexpected<Error> fail(const std::string& what) {
  return failure(what + ": " + std::strerror(errno));
}

Result<uid_t> user_id(const std::string& user) {
  if (user.empty()) return getuid();
  const passwd* const entry = getpwnam(user.c_str());
  if (entry == nullptr) return failure("there is no user \"" + user + "\" here");
  return entry->pw_uid;
}

/// -1: left as it is.
Result<gid_t> group_id(const std::string& group) {
  if (group.empty()) return static_cast<gid_t>(-1);
  const ::group* const entry = getgrnam(group.c_str());
  if (entry == nullptr) return failure("there is no group \"" + group + "\" here");
  return entry->gr_gid;
}

Result<sockaddr_un> address_of(const std::string& file) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (file.size() >= sizeof(address.sun_path)) {
    return failure(file + " is too long for a socket: at most " +
                   std::to_string(sizeof(address.sun_path) - 1) + " characters are accepted");
  }
  std::ranges::copy(file, address.sun_path);
  return address;
}

const sockaddr* plain(const auto& address) { return reinterpret_cast<const sockaddr*>(&address); }

/// Whether a process takes connections there.
bool is_answered(const sockaddr_un& address) {
  const OwnedFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return connect(probe.get(), plain(address), sizeof(address)) == 0 || errno == EAGAIN;
}

struct TcpAddress {
  std::string host;
  uint16_t port = 0;
};

std::optional<TcpAddress> parse_tcp(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  TcpAddress address{text.substr(0, colon)};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc() || stop != end || address.port == 0) return std::nullopt;
  std::string& host = address.host;
  const bool is_v6 = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (is_v6) host = host.substr(1, host.size() - 2);
  return address;
}

/// A socket bound to it; its errno tells.
OwnedFd bind_tcp(const TcpAddress& address) {
  sockaddr_in v4{
      .sin_family = AF_INET, .sin_port = htons(address.port), .sin_addr = {}, .sin_zero = {}};
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(address.port);
  const bool is_v4 = inet_pton(AF_INET, address.host.c_str(), &v4.sin_addr) == 1;
  const bool is_v6 = inet_pton(AF_INET6, address.host.c_str(), &v6.sin6_addr) == 1;
  errno = EINVAL;
  if (!is_v4 && !is_v6) return OwnedFd();
  OwnedFd fd(socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const int bound =
      is_v4 ? bind(fd.get(), plain(v4), sizeof(v4)) : bind(fd.get(), plain(v6), sizeof(v6));
  return bound == 0 ? std::move(fd) : OwnedFd();
}

}  // namespace

std::string folder_of(std::string_view shared_folder, std::string_view site) {
  std::string name(site);
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  std::ranges::replace_if(name, [&](unsigned char c) { return !is_plain(c); }, '_');
  if (name == "." || name == "..") name = "_";
  return std::string(shared_folder) + "/" + name;
}

std::string read_socket_of(const std::string& folder) { return folder + "/read.sock"; }

std::string control_socket_of(const std::string& folder) { return folder + "/control.sock"; }

Result<void> make_folder(const std::string& folder) {
  const std::string parent = std::filesystem::path(folder).parent_path().string();
  std::error_code error;
  if (std::filesystem::create_directories(parent, error)) chmod(parent.c_str(), folder_mode);
  if (mkdir(folder.c_str(), folder_mode) != 0 && errno != EEXIST) {
    return fail("cannot make the folder " + folder);
  }
  // It may be an earlier life's, given to its user, who may have put anything in its place.
  const OwnedFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const bool is_ours = fd.get() >= 0 && fchown(fd.get(), getuid(), static_cast<gid_t>(-1)) == 0 &&
                       fchmod(fd.get(), folder_mode) == 0;
  if (!is_ours) return fail("cannot take the folder " + folder);
  return {};
}

Result<void> give_folder(const std::string& folder, const std::string& user) {
  const auto id = user_id(user);
  if (!id) return std::unexpected(id.error());
  if (*id == getuid() || lchown(folder.c_str(), *id, static_cast<gid_t>(-1)) == 0) return {};
  return fail("cannot give the folder " + folder + " to " + user);
}

Result<OwnedFd> listen_at(const std::string& file, const SocketRights& rights) {
  const auto address = address_of(file);
  const auto user = user_id(rights.user);
  const auto group = group_id(rights.group);
  if (!address) return std::unexpected(address.error());
  if (!user) return std::unexpected(user.error());
  if (!group) return std::unexpected(group.error());
  if (is_answered(*address)) return failure("another process listens at " + file);
  unlink(file.c_str());
  OwnedFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Nobody gets in before the rights are what they are to be.
  fchmod(fd.get(), 0);
  if (bind(fd.get(), plain(*address), sizeof(*address)) != 0) {
    return fail("cannot make the socket " + file);
  }
  if (lchown(file.c_str(), *user, *group) != 0 || chmod(file.c_str(), socket_mode) != 0) {
    const auto failed = fail("cannot give the socket " + file + " to its group");
    unlink(file.c_str());
    return failed;
  }
  if (listen(fd.get(), backlog) != 0) return fail("cannot listen at " + file);
  return fd;
}

Result<OwnedFd> listen_on(const std::string& address) {
  const auto parsed = parse_tcp(address);
  if (!parsed) return failure("\"" + address + "\" is no address with a port, as 192.0.2.1:9443");
  OwnedFd fd = bind_tcp(*parsed);
  if (fd.get() < 0 || listen(fd.get(), backlog) != 0) return fail("cannot listen at " + address);
  return fd;
}

std::string host_of(const std::string& address) {
  const size_t colon = address.rfind(':');
  return address.substr(0, colon);
}

}  // namespace cw::api
