// The places where the admin API is found, opened while the process still has its rights.
#pragma once

#include <string>
#include <string_view>

#include "dataplane/base/result.h"
#include "dataplane/kernel/owned_fd.h"

namespace cw::api {

/// What [api] folder is unless the file says otherwise.
inline constexpr const char* default_folder = "/run/causeway";

/// The folder of one gateway's sockets, below the one that all of a machine share: its name, with
/// "_" for what is no letter, digit, "-", "_" or ".".
std::string folder_of(std::string_view shared_folder, std::string_view site);
std::string read_socket_of(const std::string& folder);
std::string control_socket_of(const std::string& folder);

/// Makes it, and the one above it, or takes it from whoever had it: nobody else may change anything
/// in it while sockets are made there. Errors: one sentence.
Result<void> make_folder(const std::string& folder);
/// Afterwards, to who will have to remove what is in it (empty: whoever this is).
Result<void> give_folder(const std::string& folder, const std::string& user);

/// Who may connect to a socket: its owner and one group.
struct SocketRights {
  std::string user, group;  ///< empty: whose the process is
};

/// Listens at a file of mode 0660, in a folder that nobody else may write to. One that nobody
/// listens at any more is replaced. Errors: one sentence; another process listens there.
Result<OwnedFd> listen_at(const std::string& file, const SocketRights& rights);
/// Listens at "192.0.2.1:9443" or "[2001:db8::1]:9443". Errors: one sentence.
Result<OwnedFd> listen_on(const std::string& address);

/// The address without its port, as a client names it in Host.
std::string host_of(const std::string& address);

}  // namespace cw::api
