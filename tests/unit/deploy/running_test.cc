// What a gateway tells of itself, beside a file.
#include "control/deploy/site/running.h"

#include <gtest/gtest.h>

#include "tests/unit/deploy/sites.h"

namespace cw::deploy {
namespace {

Running as_the_file() {
  Running it;
  it.is_reached = true;
  it.site = "s1";
  it.state = "running";
  for (const char* const far : {"s2", "s3"}) {
    it.peers.push_back({{"name", far}, {"link", "up"}, {"why", ""}});
    it.policies.push_back({{"class", "all"}, {"peer", far}, {"out", "hybrid"}});
  }
  return it;
}

Node tree() {
  return files_of(deployment_text(3, "[[class]]\nname = \"all\"\npolicy = \"hybrid\"\n"))[0].tree;
}

using Sentences = std::vector<std::string>;

TEST(Running, as_its_file_says_differs_in_nothing) {
  EXPECT_EQ(differences(as_the_file(), tree()), Sentences());
}

TEST(Running, otherwise_is_told_in_a_sentence_each) {
  Running it = as_the_file();
  it.state = "draining";
  it.peers = Json::array();
  it.peers.push_back({{"name", "s2"}, {"link", "down"}, {"why", "no answer"}});
  it.peers.push_back({{"name", "s9"}, {"link", "up"}, {"why", ""}});
  it.policies = Json::array();
  it.policies.push_back({{"class", "all"}, {"peer", "s2"}, {"out", "erasure"}});
  it.policies.push_back({{"class", "old"}, {"peer", "s2"}, {"out", "erasure"}});
  EXPECT_EQ(differences(it, tree()),
            Sentences({"class \"all\" sends to s2 by erasure, not hybrid", "it has class \"old\"",
                       "it has no peer \"s3\" yet", "it has peer \"s9\"", "it is draining",
                       "its link with s2 is down: no answer"}));
}

TEST(Running, somebody_else_is_told) {
  Running it = as_the_file();
  it.site = "north";
  EXPECT_EQ(differences(it, tree()), Sentences({"who answers calls itself \"north\""}));
}

TEST(Running, is_asked_by_its_sockets_or_by_tls_where_there_are_papers) {
  const Papers papers{.certificate = "me.pem", .key = "me.key", .ca = "ca.pem"};
  Node here = tree();
  EXPECT_EQ(place_of(here, "", "sites", {}).read_socket, "/run/causeway/s1/read.sock");
  EXPECT_EQ(place_of(here, "https://h:1", "sites", papers).url, "https://h:1");
  put(here, "api", config::parse_toml("folder = \"api\"\nlisten = \"192.0.2.1:9443\"").value());
  EXPECT_EQ(place_of(here, "", "sites", {}).control_socket, "sites/api/s1/control.sock");
  const ctl::Place by_tls = place_of(here, "", "sites", papers);
  EXPECT_EQ(by_tls.url, "https://192.0.2.1:9443");
  EXPECT_EQ(by_tls.ca, "ca.pem");
}

TEST(Running, nobody_there_is_told) {
  ctl::Client client(place_of(tree(), "", "/nowhere", {}));
  const Running it = ask(client);
  EXPECT_FALSE(it.is_reached);
  EXPECT_TRUE(it.why.contains("no gateway answers")) << it.why;
}

}  // namespace
}  // namespace cw::deploy
