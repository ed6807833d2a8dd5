#include "tests/demo/page/line_door.h"

#include <stdexcept>
#include <utility>

#include "control/api/sockets.h"
#include "control/units/text.h"
#include "control/wan/socket/control_socket.h"

namespace cw::demo {
namespace {

constexpr double loss_max = 0.5, burst_max = 100;
constexpr double ns_per_ms = 1e6;

void set_line(const std::string& line, const Phase& phase) {
  const auto answer = wan::ask(line, request_of(phase));
  if (!answer) throw std::runtime_error("the line does not change: " + answer.error().sentence);
}

}  // namespace

Result<Phase> parse_line(const Json& order, Duration rtt_max) {
  std::string mistake;
  const auto number = [&](const char* name, double least, double most) {
    const Json its = order.is_object() ? order.value(name, Json()) : Json();
    const bool is_right =
        its.is_number() && its.get<double>() >= least && its.get<double>() <= most;
    if (!is_right && mistake.empty()) {
      mistake = text_of("\"%s\" must be a number from %g to %g", name, least, most);
    }
    return is_right ? its.get<double>() : least;
  };
  Phase phase{.name = "page"};
  phase.loss = number("loss", 0, loss_max);
  phase.burst = number("burst", 1, burst_max);
  phase.rtt =
      Duration::from_ns(static_cast<int64_t>(number("rtt_ms", 0, rtt_max.ms()) * ns_per_ms));
  if (!mistake.empty()) return failure(mistake);
  return phase;
}

LineDoor::LineDoor(const std::string& file, std::string line, const Phase& first, Duration rtt_max)
    : line_(std::move(line)),
      rtt_max_(rtt_max),
      now_(first),
      server_(
          {{.path = "/demo/line",
            .handle = [this](const api::Request&, const api::Reply& reply) { reply.send(show()); }},
           {.method = api::Method::Post,
            .path = "/demo/line",
            .needs = api::Role::Control,
            .handle = [this](const api::Request& request,
                             const api::Reply& reply) { reply.send(change(request.body)); }}},
          {}) {
  set_line(line_, now_);
  auto socket = api::listen_at(file, {});
  if (!socket) throw std::runtime_error(socket.error().sentence);
  const auto added =
      server_.add({.socket = std::move(*socket), .role = api::Role::Control, .tls = std::nullopt});
  if (!added) throw std::runtime_error(added.error().sentence);
  server_.start();
}

api::Response LineDoor::show() const {
  return api::json_response({{"loss", now_.loss},
                             {"burst", now_.burst},
                             {"rtt_ms", now_.rtt.ms()},
                             {"rtt_ms_max", rtt_max_.ms()}});
}

api::Response LineDoor::change(const std::string& body) {
  const auto wanted = parse_line(Json::parse_or_null(body), rtt_max_);
  if (!wanted) return api::error_response(400, "mistakes", wanted.error().sentence);
  const auto answer = wan::ask(line_, request_of(*wanted));
  if (!answer) return api::error_response(503, "no_line", answer.error().sentence);
  now_ = *wanted;
  return show();
}

}  // namespace cw::demo
