// Who a client is.
#pragma once

#include <optional>
#include <string>

namespace cw::api {

/// Its common name; nothing: it has shown none, or one that is not of our authority, not for
/// clients, or out of its time. `session` is a gnutls_session_t whose handshake is over.
std::optional<std::string> verified_client(void* session);

/// "uid 1000": who connected to a socket of this machine.
std::string user_behind(int fd);

}  // namespace cw::api
