// The daemon's side of the admin API. Questions come in on the server's thread and are answered on
// the daemon's, which alone knows the site: nobody else asks a worker anything.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/api/server.h"
#include "control/daemon/admin/doors.h"
#include "control/daemon/capture/watch.h"
#include "control/daemon/log.h"
#include "dataplane/base/result.h"
#include "dataplane/core/turn/clock.h"

namespace cw::site {
struct Plan;
}

namespace cw::daemon {

/// What /healthz says.
enum class Health : uint8_t { Starting, Running, Draining, Stuck };

class Admin {
 public:
  /// Opens its sockets: while the process has its rights. Null where the plan wants none. Errors:
  /// one sentence with the key's name.
  static Result<std::unique_ptr<Admin>> open(const site::Plan& plan);
  /// Whoever waits for an answer is told that the gateway ends; the sockets are removed.
  ~Admin();
  Admin(const Admin&) = delete;
  Admin& operator=(const Admin&) = delete;

  /// From now on there are answers. `wake` makes the daemon's thread call work() soon; thread: any.
  /// What `doors` names outlives this.
  void begin(const Doors& doors, std::function<void()> wake);
  /// Answers all that has been asked. Thread: the daemon's.
  void work();
  /// Whether work() is wanted a hundred times a second.
  bool is_hasty() const { return watching_.has_value(); }
  /// Thread: the daemon's, several times a second: who has not called for a while is stuck.
  void beat(Health health);
  /// Before workers end, who would have to take part: there are no more answers, and what the end
  /// takes begins. Thread: the daemon's.
  void end_soon();
  /// Where its sockets are.
  const std::string& folder() const { return folder_; }

 private:
  using Answer = api::Response (*)(const Doors&, const api::Request&);
  struct Question {
    Answer answer = nullptr;  // null: it watches, and is answered when that is over
    bool is_order = false;
    api::Request request;
    api::Reply reply;
  };
  struct Watching {
    std::unique_ptr<Watch> watch;
    api::Reply reply;
    bool is_flows = false;
  };

  explicit Admin(const site::Plan& plan);
  Result<void> listen(const site::Plan& plan);
  Result<void> listen_over_tcp(const site::Plan& plan);
  Result<void> listen_for_scrapers(const site::Plan& plan);
  /// The route of a question that the daemon's thread answers.
  api::Route route(api::Method method, const char* path, Answer answer);
  std::vector<api::Route> routes();
  void healthz(const api::Reply& reply) const;
  void reply_to(const Question& question);
  void begin_watch(const Question& question);
  Result<std::unique_ptr<Watch>> watch_of(const api::Request& request) const;
  void look_at_watch();
  void end_watch();
  std::optional<Question> next_question();

  std::string folder_, site_;
  std::function<void()> wake_;
  std::optional<Doors> doors_;
  std::optional<Watching> watching_;
  MonotonicClock clock_;
  std::mutex mutex_;
  std::deque<Question> questions_;
  std::atomic<Health> health_ = Health::Starting;
  std::atomic<Instant> beat_ = Instant();
  std::unique_ptr<api::Server> server_;  // goes first
};

}  // namespace cw::daemon
