// What a client of the admin API asked for, and the answer, which may come later.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/json/json.h"

namespace cw::api {

enum class Method : uint8_t { Get, Post };
/// What a client may do; each may what those before it may.
enum class Role : uint8_t { Scrape, Read, Control };

struct Request {
  std::string path;                          ///< without what follows "?"
  std::map<std::string, std::string> query;  ///< decoded
  std::string body;                          ///< at most body_bytes_max
  std::string who;                           ///< for the log: "uid 1000", "certificate alice"
  Role role = Role::Read;                    ///< what they may do
};

struct Response {
  int status = 200;  ///< of HTTP
  std::string body;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< more of them
};

/// With an end of line, for people with curl.
Response json_response(const Json& json, int status = 200);
/// {"error": {"code": CODE, "sentence": SENTENCE}}; `code` is for programs and never changes.
Response error_response(int status, std::string_view code, std::string_view sentence);

/// Where the answer goes. A copy refers to the same request. Thread: any.
class Reply {
 public:
  using Send = std::function<void(Response)>;
  explicit Reply(Send send) : state_(std::make_shared<State>(std::move(send))) {}
  /// Once; what comes later is dropped.
  void send(Response response) const { state_->send(std::move(response)); }
  /// False: whoever asked has gone, or has been answered.
  bool is_wanted() const { return state_->is_wanted; }
  void is_over() const { state_->is_wanted = false; }  ///< the server's

 private:
  struct State {
    explicit State(Send its) : send(std::move(its)) {}
    const Send send;
    std::atomic<bool> is_wanted = true;
  };
  std::shared_ptr<State> state_;
};

/// Called on the server's thread, which waits for it: what takes longer than a millisecond is for
/// another thread, which sends the reply.
using Handler = std::function<void(const Request&, const Reply&)>;

struct Route {
  Method method = Method::Get;
  std::string path;
  Role needs = Role::Read;
  Handler handle;
  /// How long an answer may take, once the question is known; 0: as long as any question.
  uint32_t seconds_max = 0;
};

}  // namespace cw::api
