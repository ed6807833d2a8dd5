#include "control/api/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "control/api/sockets.h"
#include "tests/unit/api/clients.h"

namespace cw::api {
namespace {

using std::chrono::milliseconds;

/// Answers with what it was asked, or later, or never.
class ApiServer : public testing::Test {
 protected:
  void start(const ServerLimits& limits = {}) {
    server_ = std::make_unique<Server>(routes(), std::vector<std::string>{"gateway"}, limits);
    for (const Role role : {Role::Read, Role::Control}) {
      auto socket = listen_at(socket_of(role), {});
      ASSERT_TRUE(socket) << socket.error().sentence;
      ASSERT_TRUE(server_->add({.socket = std::move(*socket), .role = role, .tls = {}}));
    }
    server_->start();
  }
  std::string socket_of(Role role) const {
    return folder_.file(role == Role::Read ? "read" : "control");
  }
  std::string ask(const std::string& bytes, Role role = Role::Control) const {
    const RawClient client(socket_of(role));
    client.write(bytes);
    return client.read_answer();
  }
  std::vector<Route> routes() {
    const auto echo = [this](const Request& request, const Reply& reply) {
      ++asked_;
      Json json = {{"body", request.body},
                   {"who", request.who},
                   {"query", request.query},
                   {"may_order", request.role == Role::Control}};
      reply.send(json_response(json));
    };
    const auto later = [this](const Request&, const Reply& reply) {
      const std::lock_guard lock(mutex_);
      kept_.push_back(reply);
    };
    return {{.path = "/echo", .handle = echo},
            {.method = Method::Post, .path = "/order", .needs = Role::Control, .handle = echo},
            {.path = "/headers",
             .handle =
                 [](const Request&, const Reply& reply) {
                   reply.send({.body = "{}", .headers = {{"X-Own", "yes"}}});
                 }},
            {.path = "/later", .handle = later}};
  }
  /// Of those that wait for one, the first.
  Reply take_reply() {
    while (true) {
      const std::lock_guard lock(mutex_);
      if (kept_.empty()) continue;
      const Reply reply = kept_.front();
      kept_.pop_front();
      return reply;
    }
  }

  TestFolder folder_;
  std::mutex mutex_;
  std::deque<Reply> kept_;
  std::atomic<int> asked_ = 0;
  std::unique_ptr<Server> server_;
};

TEST_F(ApiServer, answers_with_path_query_and_who_asks) {
  start();
  const std::string answer = ask(get("/echo?order=12&name=a%20b"));
  EXPECT_EQ(status_of(answer), 200);
  const Json json = Json::parse(answer.substr(answer.find("\r\n\r\n")));
  EXPECT_EQ(json["query"]["order"], "12");
  EXPECT_EQ(json["query"]["name"], "a b");
  EXPECT_EQ(json["who"], "uid " + std::to_string(getuid()));
}

TEST_F(ApiServer, keeps_a_connection_for_the_next_question) {
  start();
  const RawClient client(socket_of(Role::Read));
  for (int i = 0; i < 3; ++i) {
    client.write(get("/echo"));
    EXPECT_EQ(status_of(client.read_answer()), 200);
  }
  EXPECT_EQ(server_->counts().connections, 1u);
}

TEST_F(ApiServer, says_what_there_is_not) {
  start();
  EXPECT_EQ(status_of(ask(get("/nowhere"))), 404);
  EXPECT_EQ(status_of(ask(get("/order"))), 405);
  EXPECT_EQ(status_of(ask(post("/echo", "{}", order_headers))), 405);
  EXPECT_EQ(status_of(ask("DELETE /echo HTTP/1.1\r\nHost: localhost\r\n\r\n")), 405);
}

TEST_F(ApiServer, lets_nobody_order_who_may_only_read) {
  start();
  EXPECT_EQ(status_of(ask(post("/order", "{}", order_headers), Role::Read)), 403);
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(status_of(ask(post("/order", "{}", order_headers))), 200);
}

/// A name that a page elsewhere has made mean this machine is in Host; none of ours is such a name.
TEST_F(ApiServer, answers_nobody_who_calls_it_by_another_name) {
  start();
  const auto called = [&](const std::string& host, const std::string& path = "/echo") {
    return status_of(ask("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n"));
  };
  for (const char* const known :
       {"localhost", "localhost:8080", "127.0.0.1:8080", "[::1]:8080", "[::1]", "gateway:1"}) {
    EXPECT_EQ(called(known), 200) << known;
  }
  for (const char* const other : {"evil.example", "evil.example:8080", "localhost.evil.example",
                                  "127.0.0.2", "[::2]:8080", "127.0.0.1.evil.example"}) {
    EXPECT_EQ(called(other), 403) << other;
    EXPECT_EQ(called(other, "/nowhere"), 403) << other;
  }
  EXPECT_EQ(asked_, 6);
}

TEST_F(ApiServer, tells_a_handler_what_the_client_may_do) {
  start();
  const auto may = [&](Role role) {
    const std::string answer = ask(get("/echo"), role);
    return Json::parse(answer.substr(answer.find("\r\n\r\n")))["may_order"].get<bool>();
  };
  EXPECT_FALSE(may(Role::Read));
  EXPECT_TRUE(may(Role::Control));
}

TEST_F(ApiServer, sends_the_headers_of_an_answer) {
  start();
  const std::string answer = ask(get("/headers"));
  for (const char* const header :
       {"X-Own: yes\r\n", "Cache-Control: no-store\r\n", "X-Content-Type-Options: nosniff\r\n",
        "Cross-Origin-Resource-Policy: same-origin\r\n"}) {
    EXPECT_NE(answer.find(header), std::string::npos) << header << answer;
  }
}

/// A page in a browser can make it send such requests, but not with these headers.
TEST_F(ApiServer, takes_no_order_that_a_page_elsewhere_could_send) {
  start();
  EXPECT_EQ(status_of(ask(post("/order", "{}", "Content-Type: text/plain\r\nX-Causeway: 1\r\n"))),
            415);
  EXPECT_EQ(status_of(ask(post("/order", "{}", "Content-Type: application/json\r\n"))), 403);
  const auto called = [&](const std::string& host) {
    return status_of(ask("POST /order HTTP/1.1\r\nHost: " + host + "\r\n" + order_headers +
                         "Content-Length: 2\r\n\r\n{}"));
  };
  EXPECT_EQ(called("evil.example"), 403);
  EXPECT_EQ(called("gateway"), 200);
  EXPECT_EQ(called("gateway:9443"), 200);
  EXPECT_EQ(asked_, 2);
}

TEST_F(ApiServer, bounds_a_body_however_it_comes) {
  start();
  EXPECT_EQ(status_of(ask(post("/order", std::string(body_bytes_max, 'x'), order_headers))), 200);
  EXPECT_EQ(status_of(ask(post("/order", std::string(body_bytes_max + 1, 'x'), order_headers))),
            413);
  std::string chunks = "POST /order HTTP/1.1\r\nHost: localhost\r\n" + order_headers +
                       "Transfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 100; ++i) chunks += "1000\r\n" + std::string(4096, 'x') + "\r\n";
  EXPECT_EQ(status_of(ask(chunks + "0\r\n\r\n")), 413);
  EXPECT_EQ(asked_, 1);
}

TEST_F(ApiServer, bounds_headers_and_outlives_garbage) {
  start({.question_time = milliseconds(300)});
  const std::string long_header = "X-Long: " + std::string(2 * headers_bytes_max, 'x') + "\r\n\r\n";
  const int status = status_of(ask("GET /echo HTTP/1.1\r\nHost: localhost\r\n" + long_header));
  EXPECT_TRUE(status == 431 || status == 413 || status == 0) << status;
  for (const std::string& garbage :
       {std::string("\0\1\2\3\r\n\r\n", 8), std::string("GET\r\n\r\n"), std::string("\r\n\r\n\r\n"),
        std::string("GET /echo HTTP/9.9\r\n\r\n"), std::string("GET /echo HTTP/1.1\r\n\r\n"),
        std::string("POST /order HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"),
        std::string("POST /order HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
                    "chunked\r\n\r\nZZ\r\n")}) {
    EXPECT_NE(status_of(ask(garbage)), 200);
  }
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(status_of(ask(get("/echo"))), 200);
}

TEST_F(ApiServer, takes_a_reply_from_another_thread_and_only_the_first) {
  start();
  const RawClient client(socket_of(Role::Read));
  client.write(get("/later"));
  std::jthread([&] {
    const Reply reply = take_reply();
    reply.send(json_response({{"at", "last"}}));
    reply.send(json_response({{"at", "never"}}));
  }).join();
  const std::string answer = client.read_answer();
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_NE(answer.find("last"), std::string::npos);
}

TEST_F(ApiServer, outlives_who_leaves_before_the_reply) {
  start();
  for (int i = 0; i < 10; ++i) {
    std::optional<RawClient> client(socket_of(Role::Read));
    client->write(get("/later"));
    const Reply reply = take_reply();
    client.reset();
    reply.send(json_response({{"nobody", "hears"}}));
  }
  EXPECT_EQ(status_of(ask(get("/echo"))), 200);
}

TEST_F(ApiServer, tells_those_who_wait_that_it_ends) {
  start();
  const RawClient client(socket_of(Role::Read));
  client.write(get("/later"));
  const Reply reply = take_reply();
  server_.reset();
  EXPECT_EQ(status_of(client.read_to_end()), 503);
}

TEST_F(ApiServer, ends_beside_those_who_ask_all_the_time) {
  for (int life = 0; life < 20; ++life) {
    start();
    std::vector<std::jthread> crowd;
    for (int i = 0; i < 8; ++i) {
      crowd.emplace_back([this, i](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          const RawClient client(socket_of(Role::Read));
          client.write(get(i % 2 == 0 ? "/echo" : "/later"));
          client.read_answer(milliseconds(20));
        }
      });
    }
    std::this_thread::sleep_for(milliseconds(5));
    server_.reset();
    const std::lock_guard lock(mutex_);
    kept_.clear();
  }
}

/// Those whose answer does not come have their places no longer than others.
TEST_F(ApiServer, ends_who_waits_in_vain_and_takes_others) {
  start({.connections = 4, .question_time = milliseconds(300)});
  std::deque<RawClient> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back(socket_of(Role::Read));
    waiting.back().write(get("/later"));
  }
  for (const RawClient& each : waiting) EXPECT_EQ(status_of(each.read_answer()), 503);
  waiting.clear();
  EXPECT_EQ(status_of(ask(get("/echo"), Role::Read)), 200);
}

TEST_F(ApiServer, knows_who_has_gone_before_the_answer) {
  start();
  std::optional<RawClient> client(socket_of(Role::Read));
  client->write(get("/later"));
  const Reply reply = take_reply();
  EXPECT_TRUE(reply.is_wanted());
  client.reset();
  while (reply.is_wanted()) {
  }
}

/// A byte now and then keeps no place.
TEST_F(ApiServer, ends_who_is_slow) {
  start({.connections = 8, .question_time = milliseconds(300)});
  const RawClient client(socket_of(Role::Read));
  const std::string question = get("/echo");
  std::jthread writer([&](const std::stop_token& stop) {
    for (size_t i = 0; !stop.stop_requested(); ++i) {
      client.write(question.substr(i % 4, 1));
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  client.read_to_end();
  EXPECT_EQ(asked_, 0);
  EXPECT_GE(server_->counts().ended_for_time, 1u);
}

/// A thousand who connect and say nothing: whoever has a question is heard all the same.
TEST_F(ApiServer, hears_a_question_behind_a_thousand_silent_clients) {
  start({.connections = 8, .hesitation_time = milliseconds(100)});
  std::deque<RawClient> silent;
  std::jthread crowd([&](const std::stop_token& stop) {
    for (int i = 0; i < 1000 && !stop.stop_requested(); ++i) {
      silent.emplace_back(socket_of(Role::Read));
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  while (server_->counts().open < 8) {
  }
  for (int i = 0; i < 5; ++i) EXPECT_EQ(status_of(ask(get("/echo"), Role::Read)), 200);
  EXPECT_LE(server_->counts().open, 8u + 8u) << "of two listeners";
}

}  // namespace
}  // namespace cw::api
