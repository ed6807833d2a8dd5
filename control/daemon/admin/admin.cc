#include "control/daemon/admin/admin.h"

#include <unistd.h>

#include <utility>

#include "control/api/sockets.h"
#include "control/config/text/file.h"
#include "control/daemon/admin/openapi.h"
#include "control/daemon/admin/orders.h"
#include "control/daemon/admin/swap_order.h"
#include "control/daemon/admin/views.h"
#include "control/daemon/capture/flows.h"
#include "control/daemon/capture/tracing.h"
#include "control/daemon/page/page.h"
#include "control/gateway/plan.h"

namespace cw::daemon {
namespace {

using api::Method;
using api::Request;
using api::Response;
using api::Role;

/// The daemon's thread looks at its site five times a second.
constexpr Duration silence_max = Duration::from_s(2);
/// Who waits for us is told so rather than kept.
constexpr size_t questions_max = 256;
/// In a row; the daemon has more to do than to answer.
constexpr Duration work_time = Duration::from_ms(20);
/// Of an order's body: a reader of JSON takes its time over many members.
constexpr size_t order_bytes_max = 4096;
/// A reload asks the kernel and the workers, who may take long.
constexpr uint32_t order_seconds_max = 60;

constexpr const char* flows_path = "/v1/flows";
constexpr const char* trace_path = "/v1/trace";

/// Of a listener that tells nothing else.
api::Route for_scrapers(api::Route route) {
  route.needs = Role::Scrape;
  return route;
}

/// Looks alone, and shows where on the machine files lie.
api::Route for_controllers(api::Route route) {
  route.needs = Role::Control;
  return route;
}

std::vector<std::string> hosts_of(const site::ApiPlan& plan) {
  std::vector<std::string> hosts = plan.hosts;
  if (!plan.listen.empty()) hosts.push_back(api::host_of(plan.listen));
  return hosts;
}

std::unexpected<Error> with_key(const char* key, const Error& error) {
  return failure(std::string(key) + ": " + error.sentence);
}

}  // namespace

// ---- sockets ----

Admin::Admin(const site::Plan& plan) : site_(plan.site) {
  server_ = std::make_unique<api::Server>(routes(), hosts_of(plan.api));
}

Admin::~Admin() {
  // While we still listen: a successor would find others' sockets gone.
  if (!folder_.empty()) {
    unlink(api::read_socket_of(folder_).c_str());
    unlink(api::control_socket_of(folder_).c_str());
    rmdir(folder_.c_str());
  }
  server_.reset();
}

void Admin::end_soon() {
  watching_.reset();
  server_->end_soon();
}

Result<std::unique_ptr<Admin>> Admin::open(const site::Plan& plan) {
  const site::ApiPlan& api = plan.api;
  if (api.folder.empty() && api.listen.empty() && api.metrics.empty()) return nullptr;
  std::unique_ptr<Admin> admin(new Admin(plan));
  if (!plan.api.folder.empty()) {
    if (const auto done = admin->listen(plan); !done) return with_key("api.folder", done.error());
  }
  if (!plan.api.listen.empty()) {
    const auto done = admin->listen_over_tcp(plan);
    if (!done) return with_key("api.listen", done.error());
  }
  if (!plan.api.metrics.empty()) {
    const auto done = admin->listen_for_scrapers(plan);
    if (!done) return with_key("api.metrics", done.error());
  }
  return admin;
}

Result<void> Admin::listen(const site::Plan& plan) {
  const std::string folder = api::folder_of(plan.api.folder, plan.site);
  if (const auto made = api::make_folder(folder); !made) return made;
  const auto add = [&](const std::string& file, const std::string& group, Role role) {
    auto socket = api::listen_at(file, {.user = plan.user, .group = group});
    if (!socket) return Result<void>(std::unexpected(socket.error()));
    folder_ = folder;  // ours to clean up, from here on
    return server_->add({.socket = std::move(*socket), .role = role, .tls = {}});
  };
  auto done = add(api::read_socket_of(folder), plan.api.read_group, Role::Read);
  if (done) done = add(api::control_socket_of(folder), plan.api.control_group, Role::Control);
  return done ? api::give_folder(folder, plan.user) : done;
}

/// In the clear, to this machine alone.
Result<void> Admin::listen_for_scrapers(const site::Plan& plan) {
  auto socket = api::listen_on(plan.api.metrics);
  if (!socket) return std::unexpected(socket.error());
  return server_->add({.socket = std::move(*socket), .role = Role::Scrape, .tls = {}});
}

Result<void> Admin::listen_over_tcp(const site::Plan& plan) {
  api::TlsOptions tls;
  const std::pair<const std::string&, std::string&> files[] = {
      {plan.api.certificate_file, tls.certificate},
      {plan.api.key_file, tls.key},
      {plan.api.client_ca_file, tls.client_ca}};
  for (const auto& [file, text] : files) {
    auto read = config::text_of_file(file);
    if (!read) return std::unexpected(read.error());
    text = std::move(*read);
  }
  tls.controllers = plan.api.controllers;
  auto socket = api::listen_on(plan.api.listen);
  if (!socket) return std::unexpected(socket.error());
  return server_->add({.socket = std::move(*socket), .role = Role::Control, .tls = std::move(tls)});
}

// ---- questions ----

api::Route Admin::route(Method method, const char* path, Answer answer) {
  const bool is_order = method == Method::Post;
  return {.method = method,
          .path = path,
          .needs = is_order ? Role::Control : Role::Read,
          .handle =
              [this, answer, is_order](const Request& request, const api::Reply& reply) {
                if (request.body.size() > order_bytes_max) {
                  return reply.send(api::error_response(413, "too_long", "an order is shorter"));
                }
                const std::lock_guard lock(mutex_);
                if (wake_ == nullptr || questions_.size() >= questions_max) {
                  return reply.send(api::error_response(503, "busy", "ask again in a moment"));
                }
                questions_.push_back({answer, is_order, request, reply});
                wake_();
              },
          // Who watches is answered when that is over.
          .seconds_max = answer == nullptr ? CaptureOrder::seconds_max + 10
                         : is_order        ? order_seconds_max
                                           : 0};
}

std::vector<api::Route> Admin::routes() {
  return {
      {.path = "/",
       .handle = [](const Request&, const api::Reply& reply) { reply.send(page_response()); }},
      {.path = "/healthz",
       .needs = Role::Scrape,
       .handle = [this](const Request&, const api::Reply& reply) { healthz(reply); }},
      for_scrapers(route(Method::Get, "/metrics", views::metrics)),
      {.path = "/v1/openapi.json",
       .handle = [](const Request&,
                    const api::Reply& reply) { reply.send({.body = std::string(openapi_text)}); }},
      {.path = "/v1/who",
       .handle = [](const Request& request,
                    const api::Reply& reply) { reply.send(views::who(request)); }},
      route(Method::Get, "/v1/status", views::status),
      route(Method::Get, "/v1/links", views::links),
      route(Method::Get, "/v1/paths", views::paths),
      route(Method::Get, "/v1/classes", views::classes),
      route(Method::Get, "/v1/drops", views::drops),
      route(Method::Get, "/v1/swaps", views::swaps),
      route(Method::Get, "/v1/adaptive", views::adaptive),
      route(Method::Get, "/v1/policies", views::policies),
      route(Method::Get, "/v1/log", views::log),
      route(Method::Get, "/v1/config", orders::config),
      for_controllers(route(Method::Get, "/v1/config/in_force", orders::in_force)),
      route(Method::Post, "/v1/plan", orders::plan),
      route(Method::Post, "/v1/reload", orders::reload),
      route(Method::Post, "/v1/swap", orders::swap),
      route(Method::Post, "/v1/adapt", orders::adapt),
      route(Method::Post, "/v1/drain", orders::drain),
      route(Method::Post, "/v1/capture", nullptr),
      route(Method::Get, flows_path, nullptr),
      route(Method::Post, trace_path, nullptr),
      route(Method::Get, "/v1/streams", views::streams),
      route(Method::Get, "/v1/bars", views::bars),
      route(Method::Post, "/v1/forgive", orders::forgive),
  };
}

void Admin::begin(const Doors& doors, std::function<void()> wake) {
  doors_.emplace(doors);
  {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
  }
  server_->start();
}

std::optional<Admin::Question> Admin::next_question() {
  const std::lock_guard lock(mutex_);
  if (questions_.empty()) return std::nullopt;
  Question question = std::move(questions_.front());
  questions_.pop_front();
  return question;
}

void Admin::work() {
  const Instant end = clock_.read() + work_time;
  while (const auto question = next_question()) {
    question->answer == nullptr ? begin_watch(*question) : reply_to(*question);
    if (clock_.read() < end) continue;
    wake_();  // soon again, after what else the daemon does
    break;
  }
  look_at_watch();
}

void Admin::reply_to(const Question& question) {
  Response response;
  try {
    response = question.answer(*doors_, question.request);
  } catch (const std::exception& error) {
    response = api::error_response(500, "failed", error.what());
  }
  if (question.is_order) {
    doors_->log.info("ordered", {{"path", question.request.path},
                                 {"by", question.request.who},
                                 {"status", response.status}});
  }
  question.reply.send(std::move(response));
}

Result<std::unique_ptr<Watch>> Admin::watch_of(const Request& request) const {
  site::Site& site = doors_->site;
  if (request.path == flows_path) {
    const auto time = orders::parse_flows(request);
    if (!time) return std::unexpected(time.error());
    return std::make_unique<Flows>(site, *time, clock_.read(), answer_patience);
  }
  if (request.path == trace_path) {
    const auto order = parse_trace_order(Json::parse_or_null(request.body), site);
    if (!order) return std::unexpected(order.error());
    return std::make_unique<Tracing>(site, *order, clock_.read(), answer_patience);
  }
  const auto order = orders::parse_capture(*doors_, request);
  if (!order) return std::unexpected(order.error());
  return std::make_unique<Capture>(site, *order, clock_.read(), answer_patience);
}

void Admin::begin_watch(const Question& question) {
  // Flows are a glance: a capture does not wait for one.
  const bool may_end = watching_ && watching_->is_flows && question.request.path != flows_path;
  if (may_end) end_watch();
  if (watching_) {
    return question.reply.send(api::error_response(409, "busy", "somebody watches already"));
  }
  auto watch = watch_of(question.request);
  if (!watch) {
    return question.reply.send(api::error_response(400, "mistakes", watch.error().sentence));
  }
  doors_->log.info("watches", {{"path", question.request.path}, {"by", question.request.who}});
  watching_.emplace(std::move(*watch), question.reply, question.request.path == flows_path);
}

void Admin::end_watch() {
  watching_->reply.send(watching_->watch->finish());
  watching_.reset();
}

void Admin::look_at_watch() {
  if (!watching_) return;
  if (!watching_->reply.is_wanted()) return watching_.reset();
  if (watching_->watch->look(clock_.read())) end_watch();
}

void Admin::beat(Health health) {
  health_ = health;
  beat_ = clock_.read();
}

void Admin::healthz(const api::Reply& reply) const {
  constexpr const char* names[] = {"starting", "running", "draining", "worker stuck"};
  const Health health = health_;
  const bool is_silent = clock_.read() - beat_.load() > silence_max;
  const bool is_well = health == Health::Running && !is_silent;
  const char* const state = is_silent ? "silent" : names[static_cast<size_t>(health)];
  reply.send(api::json_response({{"site", site_}, {"state", state}}, is_well ? 200 : 503));
}

}  // namespace cw::daemon
