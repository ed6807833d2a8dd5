#include "control/api/server.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "control/api/admission.h"
#include "control/api/who.h"

namespace cw::api {
namespace {

using Clock = std::chrono::steady_clock;

/// Of a program like others: packets' threads are before it, and its end is waited for.
constexpr int niceness = 0;
constexpr const char* tls_versions = "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

/// Whether there is something to be read yet; whether there will never be.
bool has_come(int fd) {
  char byte = 0;
  return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}
bool has_gone(int fd) {
  char byte = 0;
  return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace

class Server::Inside {
 public:
  Inside(std::vector<Route> routes, std::vector<std::string> hosts, const ServerLimits& limits)
      : admission_(std::move(routes), std::move(hosts)), limits_(limits) {
    watch(wake_.get(), EPOLLIN);
  }

  void end_soon() {
    stop_ = true;
    nudge();
  }

  ~Inside() {
    end_soon();
    if (thread_.joinable()) thread_.join();
    end_waiting();
    for (Door& door : doors_) MHD_stop_daemon(door.daemon);
  }

  Result<void> add(Listener listener);
  void start() {
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "api");
  }
  ServerCounts counts() const {
    return {.connections = connections_count_,
            .open = open_count_,
            .questions = questions_,
            .refused = refused_,
            .ended_for_time = ended_for_time_};
  }

 private:
  /// Whom a listener lets in, and how.
  struct Door {
    Inside* inside = nullptr;
    MHD_Daemon* daemon = nullptr;
    Role role = Role::Read;
    std::optional<TlsOptions> tls;
    bool is_full = false;
  };
  struct Connection {
    int fd = -1;
    const Door* door = nullptr;
    Clock::time_point since, deadline;
    bool has_asked = false, is_ended = false;
    uint64_t call = 0;  // 0: it asks nothing
  };
  /// One question and its answer; the library's from its first line to the last byte sent.
  struct Call {
    MHD_Connection* connection = nullptr;
    const Route* route = nullptr;
    Request request;
    std::optional<Response> answer;
    std::optional<Reply> reply;  // once it is asked
    bool is_asked = false, is_suspended = false;
  };
  struct Arrival {
    uint64_t call = 0;
    Response response;
  };

  // What the library calls.
  static MHD_Result on_question(void* cls, MHD_Connection* connection, const char* url,
                                const char* method, const char* version, const char* body,
                                size_t* body_bytes, void** memory);
  static void on_connection(void* cls, MHD_Connection* connection, void** memory,
                            MHD_ConnectionNotificationCode code);
  static void on_completed(void* cls, MHD_Connection* connection, void** memory,
                           MHD_RequestTerminationCode code);

  MHD_Daemon* make_daemon(Door& door, int socket) const;
  /// Ours is the shorter one: the library counts from a client's last byte.
  intptr_t silent_seconds() const {
    return std::chrono::ceil<std::chrono::seconds>(limits_.question_time).count();
  }
  uint64_t begin(const Door& door, MHD_Connection* connection, const char* url, const char* method);
  /// An answer where the question may not be asked.
  std::optional<Response> refusal(const Door& door, Call& call, std::string_view method,
                                  const char* url);
  std::optional<Role> role_of(const Door& door, Call& call) const;
  void ask(uint64_t number);
  MHD_Result queue(Call& call);

  void run();
  void turn(Door& door);
  bool is_full(const Door& door) const;
  void watch(int fd, uint32_t events) const {
    epoll_event event{.events = events, .data = {.fd = fd}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }
  void nudge() const {
    const uint64_t one = 1;
    (void)!write(wake_.get(), &one, sizeof(one));
  }
  void take_arrivals();
  static void resume(Call& call);
  static Response end_of_all();
  void end_late();
  void end_waiting_if_late(const Connection& connection, Call& call, Clock::time_point now);
  void end_waiting();
  int wait_ms() const;

  const Admission admission_;
  const ServerLimits limits_;
  OwnedFd epoll_{epoll_create1(EPOLL_CLOEXEC)};
  OwnedFd wake_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::deque<Door> doors_;
  std::thread thread_;
  std::atomic<bool> stop_ = false;

  // The thread's own.
  std::map<MHD_Connection*, Connection> connections_;
  std::map<uint64_t, Call> calls_;  // by number, which no two share
  uint64_t last_call_ = 0;

  std::mutex mutex_;
  std::vector<Arrival> arrivals_;  // replies from other threads
  std::atomic<uint64_t> connections_count_ = 0, open_count_ = 0, questions_ = 0, refused_ = 0,
                        ended_for_time_ = 0;
};

// ---- listeners ----

MHD_Daemon* Server::Inside::make_daemon(Door& door, int socket) const {
  std::vector<MHD_OptionItem> options = {
      {MHD_OPTION_LISTEN_SOCKET, socket, nullptr},
      {MHD_OPTION_CONNECTION_LIMIT, limits_.connections, nullptr},
      {MHD_OPTION_CONNECTION_MEMORY_LIMIT, static_cast<intptr_t>(headers_bytes_max), nullptr},
      {MHD_OPTION_CONNECTION_TIMEOUT, silent_seconds(), nullptr},
      {MHD_OPTION_STRICT_FOR_CLIENT, 1, nullptr},
      {MHD_OPTION_NOTIFY_CONNECTION, reinterpret_cast<intptr_t>(&on_connection), &door},
      {MHD_OPTION_NOTIFY_COMPLETED, reinterpret_cast<intptr_t>(&on_completed), &door},
  };
  unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME;
  if (door.tls) {
    flags |= MHD_USE_TLS;
    const auto text = [&](MHD_OPTION option, const std::string& value) {
      options.push_back({option, 0, const_cast<char*>(value.c_str())});
    };
    options.push_back({MHD_OPTION_PER_IP_CONNECTION_LIMIT, connections_per_address_max, nullptr});
    options.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(tls_versions)});
    text(MHD_OPTION_HTTPS_MEM_CERT, door.tls->certificate);
    text(MHD_OPTION_HTTPS_MEM_KEY, door.tls->key);
    text(MHD_OPTION_HTTPS_MEM_TRUST, door.tls->client_ca);
  }
  options.push_back({MHD_OPTION_END, 0, nullptr});
  return MHD_start_daemon(flags, 0, nullptr, nullptr, &on_question, &door, MHD_OPTION_ARRAY,
                          options.data(), MHD_OPTION_END);
}

Result<void> Server::Inside::add(Listener listener) {
  Door& door = doors_.emplace_back();
  door.inside = this;
  door.role = listener.role;
  door.tls = std::move(listener.tls);
  // The library closes the socket with its daemon.
  const int socket = fcntl(listener.socket.get(), F_DUPFD_CLOEXEC, 0);
  door.daemon = make_daemon(door, socket);
  if (door.daemon == nullptr) {
    close(socket);
    const bool has_tls = door.tls.has_value();
    doors_.pop_back();
    return failure(has_tls ? "certificate, key or authority cannot be read, or the key is another "
                             "certificate's"
                           : "the HTTP server cannot be started");
  }
  watch(MHD_get_daemon_info(door.daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, EPOLLIN);
  return {};
}

// ---- a question ----

void Server::Inside::on_connection(void* cls, MHD_Connection* connection, void** /*memory*/,
                                   MHD_ConnectionNotificationCode code) {
  const Door& door = *static_cast<Door*>(cls);
  Inside& self = *door.inside;
  if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
    self.connections_.erase(connection);
  } else {
    const auto* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const auto now = Clock::now();
    self.connections_[connection] = {info->connect_fd, &door, now,
                                     now + self.limits_.question_time};
    ++self.connections_count_;
  }
  self.open_count_ = self.connections_.size();
}

MHD_Result Server::Inside::on_question(void* cls, MHD_Connection* connection, const char* url,
                                       const char* method, const char* /*version*/,
                                       const char* body, size_t* body_bytes, void** memory) {
  const Door& door = *static_cast<Door*>(cls);
  Inside& self = *door.inside;
  if (*memory == nullptr) {
    const uint64_t number = self.begin(door, connection, url, method);
    *memory = reinterpret_cast<void*>(number);
    Call& call = self.calls_.at(number);
    // An answer before the body is read ends the connection: nobody need take in what is refused.
    return call.answer ? self.queue(call) : MHD_YES;
  }
  const auto number = reinterpret_cast<uint64_t>(*memory);
  Call& call = self.calls_.at(number);
  if (*body_bytes > 0) {
    // A body may be any length on its way; what is kept is bounded.
    const size_t room = body_bytes_max + 1 - call.request.body.size();
    call.request.body.append(body, std::min(*body_bytes, room));
    *body_bytes = 0;
    return MHD_YES;
  }
  if (!call.is_asked) self.ask(number);
  if (call.answer) return self.queue(call);
  call.is_suspended = true;
  MHD_suspend_connection(connection);
  return MHD_YES;
}

uint64_t Server::Inside::begin(const Door& door, MHD_Connection* connection, const char* url,
                               const char* method) {
  const uint64_t number = ++last_call_;
  Call& call = calls_[number];
  call.connection = connection;
  call.answer = refusal(door, call, method, url);
  ++questions_;
  if (call.answer) ++refused_;
  if (const auto found = connections_.find(connection); found != connections_.end()) {
    found->second.has_asked = true;
    found->second.call = number;
    if (call.route != nullptr && call.route->seconds_max > 0) {
      found->second.deadline = Clock::now() + std::chrono::seconds(call.route->seconds_max);
    }
  }
  return number;
}

std::optional<Role> Server::Inside::role_of(const Door& door, Call& call) const {
  if (!door.tls) {
    call.request.who = user_behind(connections_.at(call.connection).fd);
    return door.role;
  }
  const auto* const info =
      MHD_get_connection_info(call.connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  const auto name = verified_client(info == nullptr ? nullptr : info->tls_session);
  if (!name) return std::nullopt;
  call.request.who = "certificate " + *name;
  const bool may_control =
      std::ranges::find(door.tls->controllers, *name) != door.tls->controllers.end();
  return may_control ? door.role : Role::Read;
}

std::optional<Response> Server::Inside::refusal(const Door& door, Call& call,
                                                std::string_view method, const char* url) {
  if (stop_) return end_of_all();
  call.request.path = url;
  const std::optional<Role> role = role_of(door, call);
  call.request.role = role.value_or(Role::Read);
  auto verdict =
      admission_.judge(call.connection, role, door.tls.has_value(), method, call.request);
  call.route = verdict.route;
  return std::move(verdict.refusal);
}

void Server::Inside::ask(uint64_t number) {
  Call& call = calls_.at(number);
  call.is_asked = true;
  // Nobody may be suspended any more, and none would be answered.
  if (stop_) return void(call.answer = end_of_all());
  if (call.request.body.size() > body_bytes_max) {
    ++refused_;
    call.answer =
        error_response(413, "too_long",
                       "at most " + std::to_string(body_bytes_max) + " bytes of body are accepted");
    return;
  }
  call.reply.emplace([this, number](Response response) {
    const std::lock_guard lock(mutex_);
    arrivals_.push_back({number, std::move(response)});
    nudge();
  });
  call.route->handle(call.request, *call.reply);
  take_arrivals();  // most answer at once
}

MHD_Result Server::Inside::queue(Call& call) {
  const Response& answer = *call.answer;
  // The library frees the body when the last byte has gone, or nobody wants it any more.
  auto* const body = new std::string(std::move(call.answer->body));
  MHD_Response* const response = MHD_create_response_from_buffer_with_free_callback_cls(
      body->size(), body->data(), [](void* text) { delete static_cast<std::string*>(text); }, body);
  if (response == nullptr) {
    delete body;
    return MHD_NO;
  }
  MHD_add_response_header(response, "Content-Type", answer.type.c_str());
  MHD_add_response_header(response, "Cache-Control", "no-store");
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
  for (const auto& [name, value] : answer.headers) {
    MHD_add_response_header(response, name.c_str(), value.c_str());
  }
  if (const auto its = connections_.find(call.connection); its != connections_.end()) {
    // For the way back, of long answers as long as a slow line needs.
    constexpr size_t bytes_per_s = 512 << 10;
    its->second.deadline =
        Clock::now() + limits_.question_time + std::chrono::seconds(body->size() / bytes_per_s);
  }
  const auto status = static_cast<unsigned>(answer.status);
  const MHD_Result is_queued = MHD_queue_response(call.connection, status, response);
  MHD_destroy_response(response);
  return is_queued;
}

void Server::Inside::on_completed(void* cls, MHD_Connection* connection, void** memory,
                                  MHD_RequestTerminationCode /*code*/) {
  Inside& self = *static_cast<Door*>(cls)->inside;
  const auto call = self.calls_.find(reinterpret_cast<uint64_t>(*memory));
  if (call != self.calls_.end() && call->second.reply) call->second.reply->is_over();
  if (call != self.calls_.end()) self.calls_.erase(call);
  *memory = nullptr;
  const auto found = self.connections_.find(connection);
  if (found == self.connections_.end()) return;
  found->second.call = 0;
  found->second.since = Clock::now();
  found->second.deadline = found->second.since + self.limits_.question_time;
}

// ---- the thread ----

void Server::Inside::run() {
  // Whoever carries packets goes first.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), niceness);
  while (!stop_) {
    epoll_event event;
    (void)epoll_wait(epoll_.get(), &event, 1, wait_ms());
    take_arrivals();
    for (Door& door : doors_) turn(door);
    end_late();
  }
}

/// A listener that was full takes connections again from the library's next turn on, for which
/// nothing would wake us.
void Server::Inside::turn(Door& door) {
  MHD_run(door.daemon);
  const bool was_full = std::exchange(door.is_full, is_full(door));
  if (was_full && !door.is_full) MHD_run(door.daemon);
}

bool Server::Inside::is_full(const Door& door) const {
  const auto* const info = MHD_get_daemon_info(door.daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
  return info->num_connections >= limits_.connections;
}

int Server::Inside::wait_ms() const {
  constexpr MHD_UNSIGNED_LONG_LONG look_ms = 100;  // for those who are late
  MHD_UNSIGNED_LONG_LONG wait = connections_.empty() ? 10'000 : look_ms;
  for (const Door& door : doors_) {
    MHD_UNSIGNED_LONG_LONG its = 0;
    if (MHD_get_timeout(door.daemon, &its) == MHD_YES) wait = std::min(wait, its);
  }
  return static_cast<int>(wait);
}

void Server::Inside::take_arrivals() {
  uint64_t count = 0;
  (void)!read(wake_.get(), &count, sizeof(count));
  std::vector<Arrival> arrivals;
  {
    const std::lock_guard lock(mutex_);
    arrivals.swap(arrivals_);
  }
  for (Arrival& each : arrivals) {
    const auto found = calls_.find(each.call);
    if (found == calls_.end() || found->second.answer) continue;
    Call& call = found->second;
    call.answer = std::move(each.response);
    if (call.is_suspended) resume(call);
  }
}

void Server::Inside::resume(Call& call) {
  call.is_suspended = false;
  MHD_resume_connection(call.connection);
}

void Server::Inside::end_late() {
  const auto now = Clock::now();
  for (Door& door : doors_) {
    const bool is_all_taken = is_full(door);
    for (auto& [connection, each] : connections_) {
      if (each.door != &door || each.is_ended) continue;
      const auto call = calls_.find(each.call);
      if (call != calls_.end() && call->second.is_suspended) {
        end_waiting_if_late(each, call->second, now);
        continue;
      }
      const bool hesitates = is_all_taken && !each.has_asked && !has_come(each.fd) &&
                             now - each.since > limits_.hesitation_time;
      if (!hesitates && now < each.deadline) continue;
      ++ended_for_time_;
      each.is_ended = true;
      shutdown(each.fd, SHUT_RDWR);  // the library closes it
    }
  }
}

/// The library looks at no connection that is suspended, so nobody else sees that it has gone.
void Server::Inside::end_waiting_if_late(const Connection& connection, Call& call,
                                         Clock::time_point now) {
  const bool has_left = has_gone(connection.fd);
  if (!has_left && now < connection.deadline) return;
  if (!has_left) ++ended_for_time_;
  call.answer = error_response(503, "silent", "the gateway does not answer; ask again later");
  resume(call);
}

Response Server::Inside::end_of_all() { return error_response(503, "ends", "this gateway ends"); }

/// Before the library's daemons end, which they may not while somebody is suspended.
void Server::Inside::end_waiting() {
  for (auto& [number, call] : calls_) {
    if (!call.is_suspended) continue;
    call.answer = end_of_all();
    resume(call);
  }
  for (const Door& door : doors_) MHD_run(door.daemon);
}

Server::Server(std::vector<Route> routes, std::vector<std::string> hosts,
               const ServerLimits& limits)
    : inside_(std::make_unique<Inside>(std::move(routes), std::move(hosts), limits)) {}

Server::~Server() = default;

Result<void> Server::add(Listener listener) { return inside_->add(std::move(listener)); }

void Server::start() { inside_->start(); }

void Server::end_soon() { inside_->end_soon(); }

ServerCounts Server::counts() const { return inside_->counts(); }

}  // namespace cw::api
