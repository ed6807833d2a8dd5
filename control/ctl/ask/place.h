// Where a gateway is asked.
#pragma once

#include <string>

#include "dataplane/base/result.h"

namespace cw::ctl {

/// A socket of each right, or an address of TLS.
struct Place {
  std::string read_socket, control_socket;
  std::string url;                   ///< "https://192.0.2.1:9443"; then no sockets
  std::string certificate, key, ca;  ///< files of PEM, with url
};

/// Of the gateway that runs by this file: from its [api] folder and its site's name. Whatever else
/// is in the file may be wrong. Errors: one sentence.
Result<Place> place_of_config(const std::string& file);
/// One socket for all.
Place place_of_socket(const std::string& file);

}  // namespace cw::ctl
