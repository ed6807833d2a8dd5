#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "control/api/server.h"
#include "control/api/sockets.h"
#include "control/ctl/ask/client.h"
#include "control/ctl/exits.h"
#include "tests/unit/api/clients.h"

namespace cw::api {
namespace {

/// Of the loopback's sixteen million one that no other process has: cases run beside each other.
std::string own_ip() {
  const auto pid = static_cast<unsigned>(getpid());
  return "127." + std::to_string(pid >> 16 & 255) + "." + std::to_string(pid >> 8 & 255) + "." +
         std::to_string(pid & 255);
}
const std::string address = own_ip() + ":19444";

std::string text_of_file(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// Two authorities, of which the server knows the first; keys and certificates by openssl.
class ApiTls : public testing::Test {
 protected:
  void SetUp() override {
    make_authority("ca");
    make_authority("stranger");
    issue("server", "ca", "serverAuth", "subjectAltName=IP:" + own_ip());
    issue("alice", "ca", "clientAuth");
    issue("bob", "ca", "clientAuth");
    issue("mallory", "stranger", "clientAuth");
    const auto echo = [](const Request& request, const Reply& reply) {
      reply.send(json_response({{"who", request.who}}));
    };
    std::vector<Route> routes = {
        {.path = "/read", .handle = echo},
        {.method = Method::Post, .path = "/order", .needs = Role::Control, .handle = echo}};
    server_ = std::make_unique<Server>(std::move(routes), std::vector<std::string>{own_ip()});
    TlsOptions tls = {.certificate = text_of_file(folder_.file("server.pem")),
                      .key = text_of_file(folder_.file("server.key")),
                      .client_ca = text_of_file(folder_.file("ca.pem")),
                      .controllers = {"alice"}};
    auto socket = listen_on(address);
    ASSERT_TRUE(socket) << socket.error().sentence;
    const auto added =
        server_->add({.socket = std::move(*socket), .role = Role::Control, .tls = std::move(tls)});
    ASSERT_TRUE(added) << added.error().sentence;
    server_->start();
  }

  void run(const std::string& arguments) const {
    const std::string command = "cd " + folder_.path() + " && openssl " + arguments + " 2>errors";
    ASSERT_EQ(std::system(command.c_str()), 0) << text_of_file(folder_.file("errors"));
  }
  void make_authority(const std::string& name) const {
    run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=" + name +
        " -keyout " + name + ".key -out " + name + ".pem");
  }
  void issue(const std::string& name, const std::string& by, const std::string& use,
             const std::string& more = "") const {
    std::ofstream(folder_.file("extensions")) << "extendedKeyUsage=" << use << "\n" << more << "\n";
    run("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + name + " -keyout " +
        name + ".key -out " + name + ".csr");
    run("x509 -req -days 2 -in " + name + ".csr -CA " + by + ".pem -CAkey " + by +
        ".key -CAcreateserial -extfile extensions -out " + name + ".pem");
  }
  ctl::Place place_of(const std::string& name) const {
    return {.url = "https://" + address,
            .certificate = name.empty() ? "" : folder_.file(name + ".pem"),
            .key = name.empty() ? "" : folder_.file(name + ".key"),
            .ca = folder_.file("ca.pem")};
  }

  TestFolder folder_;
  std::unique_ptr<Server> server_;
};

TEST_F(ApiTls, lets_in_whom_its_authority_knows_and_lets_order_whom_it_names) {
  ctl::Client alice(place_of("alice")), bob(place_of("bob"));
  EXPECT_EQ(alice.get("/read").json["who"], "certificate alice");
  EXPECT_EQ(bob.get("/read").json["who"], "certificate bob");
  EXPECT_EQ(alice.post("/order", Json::object()).status, 200);
  const ctl::Answer refused = bob.post("/order", Json::object());
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.exit_code, ctl::exit_not_allowed);
}

TEST_F(ApiTls, lets_in_nobody_else) {
  ctl::Client nobody(place_of("")), mallory(place_of("mallory")), server(place_of("server"));
  EXPECT_FALSE(nobody.get("/read").is_good()) << "no certificate";
  EXPECT_FALSE(mallory.get("/read").is_good()) << "of another authority";
  EXPECT_FALSE(server.get("/read").is_good()) << "not for clients";
}

TEST_F(ApiTls, outlives_those_who_speak_no_tls) {
  for (int i = 0; i < 20; ++i) {
    ctl::Client plain({.url = "http://" + address});
    EXPECT_FALSE(plain.get("/read").is_good());
  }
  ctl::Client alice(place_of("alice"));
  EXPECT_TRUE(alice.get("/read").is_good());
}

TEST_F(ApiTls, refuses_a_key_of_another_certificate) {
  Server server({}, {});
  auto socket = listen_on(own_ip() + ":19445");
  ASSERT_TRUE(socket);
  TlsOptions tls = {.certificate = text_of_file(folder_.file("server.pem")),
                    .key = text_of_file(folder_.file("alice.key")),
                    .client_ca = text_of_file(folder_.file("ca.pem")),
                    .controllers = {}};
  const auto added =
      server.add({.socket = std::move(*socket), .role = Role::Read, .tls = std::move(tls)});
  ASSERT_FALSE(added);
  EXPECT_NE(added.error().sentence.find("the key is another certificate's"), std::string::npos);
}

}  // namespace
}  // namespace cw::api
