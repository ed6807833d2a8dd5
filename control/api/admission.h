// Who may ask what: paths, methods, rights, and what keeps others' pages in browsers out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/api/request.h"

struct MHD_Connection;

namespace cw::api {

class Admission {
 public:
  /// `hosts`: what a client may call the server in Host, besides this machine's names for itself.
  Admission(std::vector<Route> routes, std::vector<std::string> hosts);

  struct Verdict {
    const Route* route = nullptr;  ///< null: there is none
    std::optional<Response> refusal;
  };
  /// Of a question whose headers are there; fills in what the query says. No role: nobody is let
  /// in. Over TLS readers may call us as they like. Thread: the server's.
  Verdict judge(MHD_Connection* connection, std::optional<Role> role, bool is_tls,
                std::string_view method, Request& request) const;

 private:
  Verdict find(std::string_view method, const std::string& path) const;
  bool is_known(const std::string& host) const;

  const std::vector<Route> routes_;
  std::vector<std::string> hosts_;
};

}  // namespace cw::api
