// Asks a gateway, over HTTP as libcurl speaks it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "control/ctl/ask/place.h"
#include "control/json/json.h"

namespace cw::ctl {

struct Answer {
  int status = 0;  ///< of HTTP; 0: there was none
  Json json;       ///< null where the body is none
  std::string body;
  std::string why;    ///< without an answer, or with one that refuses: a sentence
  int exit_code = 0;  ///< what a program ends with that needed this
  bool is_good() const { return exit_code == 0; }
};

/// Thread: one.
class Client {
 public:
  explicit Client(Place place);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  static constexpr std::chrono::seconds patience_usual{10};
  Answer get(const std::string& path, std::chrono::seconds patience = patience_usual);
  /// What who may order alone may see.
  Answer get_as_controller(const std::string& path);
  Answer post(const std::string& path, const Json& body,
              std::chrono::seconds patience = patience_usual);

 private:
  Answer ask(const std::string& socket, const std::string& path, const std::string* body,
             std::chrono::seconds patience);

  const Place place_;
  struct Closer {
    void operator()(void* handle) const;
  };
  std::unique_ptr<void, Closer> handle_;  // of libcurl; keeps connections
};

}  // namespace cw::ctl
