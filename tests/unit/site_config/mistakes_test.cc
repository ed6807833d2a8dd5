// What a person may write into a gateway's file by mistake, and the exact sentence that says so.
#include <gtest/gtest.h>
#include <unistd.h>

#include "control/gateway/plan.h"
#include "tests/unit/site_config/folder.h"
#include "tests/unit/site_config/mistakes.h"

namespace cw::site {
namespace {

constexpr const char* roce = "[[class]]\nname = 'rdma'\nmatch = [{kind = 'roce'}]\n";
constexpr const char* rest = "[[class]]\nname = 'all'\n";

TEST(GatewayFile, without_a_mistake_is_taken) { expect_all({{"", "", "", ""}}); }

TEST(GatewayFile, names_what_is_wrong_with_this_site) {
  expect_all({
      {"[site]", "[sight]", "",
       "f:1:2: sight is not known; known here: site, lan, wan, offload, api, pair, peer, "
       "class, group"},
      {"[site]", "[site]\nidel = 'poll'", "", "f:2:1: site.idel is not known; did you mean idle?"},
      {"[site]", "[site]\nidle = 'adaptiv'", "",
       "f:2:8: site.idle is \"adaptiv\"; it must be \"poll\" or \"adaptive\": did you mean "
       "\"adaptive\"?"},
      {"[site]", "[site]\nuser = 'nobody-at-all'", "",
       "f:2:8: site.user \"nobody-at-all\" does not exist here; `useradd --system nobody-at-all` "
       "makes it"},
      {"[site]", "[site]\nplugins = ['none.so']", "",
       "f:2:11: site.plugins: plugin none.so cannot be opened: No such file or directory"},
      {"[site]", "[site]\nplugins = ['" CW_ENDPOINT_PLUGIN "']", "",
       "f:2:11: site.plugins: csa_ud serves endpoints only, and what a class has is streams"},
      {"name = \"south\"", "name = ''", "", "f:2:8: site.name must have 1 to 63 characters"},
  });
}

TEST(GatewayFile, names_what_is_wrong_with_an_api) {
  const std::string all = "listen = '192.0.2.1:9443'\ncertificate = 'c'\ncertificate_key = 'k'\n";
  const std::string no_authority = "[api]\n" + all + "[site]";
  expect_all({
      {"[site]", no_authority.c_str(), "",
       "f:2:10: api.listen takes TLS with certificates of clients, and api.client_ca is missing"},
      {"[site]", "[api]\ncertificate = 'c'\n[site]", "",
       "f:2:15: api.certificate is of api.listen, which is missing"},
      {"[site]", "[api]\nfolder = 7\n[site]", "", "f:2:10: api.folder is 7; it must be a text"},
      {"[site]", "[api]\nfolder = ''\n[site]", "", ""},
  });
}

TEST(GatewayFile, names_what_is_wrong_with_an_offload) {
  const std::string machine = "f:2:9: offload.cores names core 4000; this machine has cores 0 to " +
                              std::to_string(sysconf(_SC_NPROCESSORS_CONF) - 1);
  expect_all({
      {"[site]", "[offload]\nexecutor = 'cores'\n[site]", "",
       "f:2:12: offload.executor is \"cores\" and offload.cores is missing; such as [6, 7]"},
      {"[site]", "[offload]\nexecutor = 'cores'\ncores = [0]\n[site]", "",
       "f:1:1: offload.executor is \"cores\", and wan.port \"udp\" moves bytes: the worker copies "
       "them and has the bits as well; set it to \"turn\""},
      {"[site]", "[offload]\nexecutor = 'dpa'\n[site]", "",
       "f:1:1: offload.executor is \"dpa\", and wan.port \"udp\" moves bytes: the worker copies "
       "them and has the bits as well; set it to \"turn\""},
      {"[site]", "[offload]\ncores = [4000]\n[site]", "", machine.c_str()},
      {"[site]", "[offload]\ncores = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n[site]",
       "", "f:2:9: offload.cores has 17 cores; at most 16 are accepted"},
  });
}

TEST(GatewayFile, names_what_is_wrong_with_several_cores) {
  expect_all({
      {"[site]", "[site]\ncores = [0, 0]", "",
       "f:1:1: site.cores has 2 cores and pair.links is 1: each core needs a link of its own; set "
       "pair.links = 2 at all sites"},
      {"[site]", "[site]\ncore = 0\ncores = [0]", "",
       "f:3:9: site.core and site.cores are both there; one core is site.core, several are "
       "site.cores"},
      {"[site]\n",
       "[site]\nmemory = '64 GiB'\ncores = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n",
       "", "f:3:9: site.cores has 17 cores; at most 16 are accepted, as many as pair.links may be"},
      {"rtt =", "links = 17\nrtt =", "", "f:9:9: pair.links is 17; 1 to 16 is accepted"},
      {"rtt =", "links = 2\nrtt =",
       "[[peer]]\nname = 'west'\naddress = '192.0.2.2'\nudp_port = 4807\nroutes = "
       "['10.9.0.0/16']\n",
       "f:18:12: peer \"west\" and peer \"north\" at 192.0.2.2 have udp_port 4807 and 4791, and "
       "each "
       "sends from 17 ports from there on, by wan.paths and pair.links; they must not overlap"},
      {"rtt =", "links = 2\nrtt =",
       "[[peer]]\nname = 'west'\naddress = '192.0.2.2'\nudp_port = 5000\nsource_port = 4807\n"
       "routes = ['10.9.0.0/16']\n",
       "f:19:15: peer \"west\" and peer \"north\" at 192.0.2.2 send from 4807 and 4791, and each "
       "sends from 17 ports from there on, by wan.paths and pair.links; they must not overlap"},
      {"rtt =", "links = 2\nrtt =",
       "[[peer]]\nname = 'west'\naddress = '192.0.2.2'\nudp_port = 4800\nsource_port = 4808\n"
       "routes = ['10.9.0.0/16']\n",
       ""},
      {"rtt =", "links = 2\nrtt =", "source_port = 65520\n",
       "f:11:1: peer \"north\": source_port 65520 leaves no room for pair.links 2, which need 17 "
       "ports from there"},
  });
}

TEST(GatewayFile, names_the_memory_that_is_needed) {
  const Folder folder;
  const auto plan = read_plan("f", file_with("", ""));
  ASSERT_TRUE(plan);
  const auto needed = std::to_string((plan->memory.count() + (1 << 20) - 1) >> 20);
  EXPECT_EQ(verdict(file_with("[site]", "[site]\nmemory = '16 MiB'")),
            "f:1:1: site.memory is 16 MiB and " + needed +
                " MiB are needed: for 1 peer and 1 class, each way, twice what 1 Gbit/s carry in "
                "hold and two pair.rtt_max of 80 ms; raise site.memory, or lower pair.rate or "
                "hold");
  EXPECT_EQ(verdict(file_with("[site]", "[site]\nmemory = '" + needed + " MiB'")), "");
}

TEST(GatewayFile, names_the_longest_route_that_memory_is_enough_for) {
  const Folder folder;
  const auto verdict_at = [](const char* rtt_max) {
    const std::string text = file_with("rtt =", std::string("rtt_max = ") + rtt_max + "\nrtt =");
    return verdict("[site]\nmemory = '240 MiB'\n" + text.substr(text.find('\n') + 1));
  };
  const std::string sentence = verdict_at("'80 ms'");
  const std::string before =
      "pair.rtt_max of 80 ms; raise site.memory, or lower pair.rtt_max at all sites (";
  const size_t found = sentence.find(before), start = found + before.size();
  const size_t end = sentence.find(" fits), pair.rate or", start);
  ASSERT_TRUE(found != sentence.npos && end != sentence.npos) << sentence;
  EXPECT_EQ(verdict_at(("'" + sentence.substr(start, end - start) + "'").c_str()), "");
}

TEST(GatewayFile, names_the_cores_that_this_machine_has) {
  const Folder folder;
  const auto last = std::to_string(sysconf(_SC_NPROCESSORS_CONF) - 1);
  EXPECT_EQ(verdict(file_with("[site]", "[site]\ncore = 4000")),
            "f:2:8: site.core is 4000; this machine has cores 0 to " + last);
  EXPECT_EQ(verdict(file_with("[site]", "[site]\ncore = " + last)), "");
}

TEST(GatewayFile, says_nothing_about_parameters_of_a_policy_that_is_not_known) {
  expect_all({
      {"", "", "[[class]]\nname = 'all'\npolicy = 'mine'\nparams = { gap = 4, alpha = 99 }\n",
       "f:16:10: class.policy is \"mine\"; it must be \"passthrough\", \"go_back_n\", "
       "\"selective_repeat\", \"erasure\", \"hybrid\", \"layered_interleave\" or "
       "\"adaptive\""},
      {"", "", "[[class]]\nname = 'all'\npolicy = 'csa_ud'\nparams = { patience = 1 }\n",
       "f:16:10: class.policy is \"csa_ud\"; it must be \"passthrough\", \"go_back_n\", "
       "\"selective_repeat\", \"erasure\", \"hybrid\", \"layered_interleave\" or "
       "\"adaptive\""},
  });
}

TEST(GatewayFile, names_what_is_wrong_with_the_pair) {
  expect_all({
      {"rtt = \"20 ms\"", "", "", "f:7:1: pair.rtt is missing; it is a duration such as \"25 ms\""},
      {"rtt = \"20 ms\"", "rtt = '20 ms'\nrtt_max = '15 ms'", "",
       "f:10:11: pair.rtt_max is 15 ms and pair.rtt 20 ms; rtt_max must be at least as long"},
      {"rtt = \"20 ms\"", "rtt = '20 ms'\nrtt_max = '9 s'", "",
       "f:10:11: pair.rtt_max is \"9 s\"; 10 us to 8 s is accepted"},
      {"rtt = \"20 ms\"", "rtt = 20", "",
       "f:9:7: pair.rtt is 20; it must be a duration such as \"25 ms\""},
      {"pair.key", "no.key", "",
       "f:8:12: pair.key_file: no.key cannot be read (No such file or directory); `(umask 077; "
       "openssl rand -hex 32 > no.key)` makes a key; the other site needs a copy"},
      {"pair.key", "short.key", "",
       "f:8:12: pair.key_file: short.key holds 10 bytes and must hold at least 32; `(umask 077; "
       "openssl rand -hex 32 > short.key)` makes a key; the other site needs a copy"},
      {"[pair]", "[pair]\nmtu = 200", "", "f:8:7: pair.mtu is 200; 576 to 9216 is accepted"},
  });
}

TEST(GatewayFile, names_what_is_wrong_with_peers) {
  constexpr const char* second = "[[peer]]\nname = 'east'\naddress = '192.0.2.3'\n";
  const std::string overlap = std::string(second) + "routes = ['10.2.4.0/24']\n";
  const std::string shared = std::string(second) + "routes = ['10.2.0.0/16']\n";
  const std::string twice =
      "[[peer]]\nname = 'north'\naddress = '192.0.2.2'\n"
      "routes = ['10.3.0.0/16']\n";
  const std::string fast = std::string(second) + "routes = ['10.3.0.0/16']\nrate = '1 Gbit/s'\n";
  const std::string mixed =
      "[[peer]]\nname = 'east'\naddress = '2001:db8::3'\nroutes = ['10.3.0.0/16']\n";
  expect_all({
      {"10.2.0.0/16", "10.2.1.0/16", "",
       "f:13:10: peer.routes: \"10.2.1.0/16\" has bits set behind its prefix; \"10.2.0.0/16\" has "
       "none"},
      {"10.2.0.0/16", "10.2.0.0/40", "",
       "f:13:10: peer.routes: \"10.2.0.0/40\" must end in /0 to /32"},
      {"10.2.0.0/16", "10.0.0.0/8", "",
       "f:13:10: peer \"north\": route 10.0.0.0/8 overlaps 10.1.0.1/24 of lan.addresses, which "
       "lies on this side"},
      {"10.2.0.0/16", "192.0.2.0/24", "",
       "f:13:10: peer \"north\": route 192.0.2.0/24 holds the address 192.0.2.2 of peer \"north\", "
       "so what is sent to that gateway would come back here; take it out, or set lan.routes = "
       "false and route yourself"},
      {"name = \"north\"", "name = ''", "",
       "f:11:8: peer.name must have 1 to 63 characters, as that site's site.name"},
      {"name = \"north\"", "name = 'south'", "",
       "f:11:8: peer \"south\" has this site's own name; names of sites must differ"},
      {"name = \"north\"", "name = \"no\\u001bth\"", "",
       "f:11:8: peer.name holds a control character, which no text may"},
      {"192.0.2.2", "north.example", "",
       "f:12:11: peer.address: \"north.example\" is not an IP address, such as 192.0.2.1 or "
       "2001:db8::1"},
      {"", "", overlap.c_str(),
       "f:17:10: peer \"east\": route 10.2.4.0/24 overlaps 10.2.0.0/16 of peer \"north\""},
      {"", "", shared.c_str(),
       "f:17:10: peer \"east\": route 10.2.0.0/16 is that of peer \"north\", which is preferred "
       "alike; where two lead to the same hosts, prefer must differ"},
      {"", "", twice.c_str(),
       "f:15:8: peer \"north\" is there twice; names must differ\nf:16:11: peer \"north\" and peer "
       "\"north\" both have the address 192.0.2.2 and udp_port 4791"},
      {"", "", fast.c_str(),
       "f:10:1: the rates of all peers make 1 Gbit/s and must be below wan.rate 1 Gbit/s, since a "
       "peer without a rate takes what is left"},
      {"", "", mixed.c_str(),
       "f:16:11: peer \"east\": 2001:db8::3 and 192.0.2.2 of peer \"north\" must be of one IP "
       "version"},
      {"[[peer]]\nname = \"north\"\naddress = \"192.0.2.2\"\nroutes = [\"10.2.0.0/16\"]\n", "", "",
       "f:1:1: peer is missing; one [[peer]] at least says where packets go"},
      {"[pair]", "[pair]\nrate = '100 Mbit/s'", "rate = '200 Mbit/s'\n",
       "f:15:8: peer \"north\": rate is 200 Mbit/s and pair.rate 100 Mbit/s; pair.rate must be the "
       "fastest"},
      {"[wan]", "[wan]\naddress = 'fd00::1'", "",
       "f:13:11: peer \"north\": 192.0.2.2 and wan.address fd00::1 must be of one IP version"},
      {"[wan]", "[wan]\npaths = 4", "udp_port = 65534\n",
       "f:15:12: peer \"north\": udp_port 65534 leaves no room for wan.paths 4: the last port is "
       "65535"},
      {"[wan]", "[wan]\npaths = 4", "source_port = 65533\n",
       "f:15:15: peer \"north\": source_port 65533 leaves no room for wan.paths 4: the last port "
       "is "
       "65535"},
      {"[wan]", "[wan]\npaths = 4", "udp_port = 65534\nsource_port = 65532\n", ""},
      {"", "", "source_port = 65536\n",
       "f:14:15: peer.source_port is 65536; 0 to 65535 is accepted"},
  });
}

TEST(GatewayFile, names_what_is_wrong_with_classes) {
  const auto with = [](const std::string& line, const std::string& more = "") {
    return std::string(roce) + line + "\n" + more + rest;
  };
  const auto resending = [&](const std::string& line) {
    return with(line, "policy = 'selective_repeat'\n");
  };
  const std::string
      unknown = with("policy = 'selective_repaet'"),
      param = resending("params = { detetc = 'nack' }"),
      words = resending("params = { detect = 'never' }"),
      hold = resending("params = { detect = 'nack' }\nhold = '60 ms'"),
      slow = resending("params = { detect = 'rto' }"), old = with("block_age = '3 ms'"),
      impatient = "[[class]]\nname = 'all'\nhold = '30 ms'\nqueue = '10 ms'\n",
      stuck = "[[class]]\nname = 'all'\npolicy = 'passthrough'\nhold = '20 ms'\nqueue = '30 ms'\n",
      tcp = "[[class]]\nname = 'all'\nhost_timeout = '50 ms'\n", order = std::string(rest) + roce,
      last = roce, twice = with("", roce), weight = with("queue = '5 ms'\nweight = 0"),
      ports = "[[class]]\nname = 'a'\nmatch = [{ports = '90-80'}]\n" + std::string(rest),
      icmp = "[[class]]\nname = 'a'\nmatch = [{kind = 'icmp', ports = '80'}]\n" + std::string(rest),
      sides = "[[class]]\nname = 'a'\nmatch = [{ports = '80', source_ports = '1'}]\n" +
              std::string(rest);
  expect_all({
      {"", "", unknown.c_str(),
       "f:17:10: class.policy is \"selective_repaet\"; it must be \"passthrough\", \"go_back_n\", "
       "\"selective_repeat\", \"erasure\", \"hybrid\", \"layered_interleave\" or \"adaptive\": did "
       "you mean "
       "\"selective_repeat\"?"},
      {"", "", old.c_str(),
       "f:17:13: class \"rdma\": block_age is 3 ms; RC hosts wait in order for what is repaired, "
       "so over pair.rtt 20 ms at most 2 ms is accepted"},
      {"", "", param.c_str(), "f:17:12: class.params.detetc is not known; did you mean detect?"},
      {"", "", words.c_str(),
       "f:17:21: class.params.detect is \"never\"; it must be \"rto\" or \"nack\""},
      {"", "", hold.c_str(),
       "f:18:8: class \"rdma\": hold 60 ms, pair.rtt 20 ms and 5 ms of margin make 85 ms, but the "
       "hosts give up after host_timeout 67.1 ms; hold may be 42.1 ms, or give the hosts' QPs "
       "timeout 15 (perftest -u 15, NCCL_IB_TIMEOUT=15) and write host_timeout = \"134.2 ms\""},
      {"", "", slow.c_str(),
       "f:14:1: class \"rdma\": pair.rtt 20 ms, a loss mended by selective_repeat in 80 ms and 5 "
       "ms of margin make 105 ms, but the hosts give up after host_timeout 67.1 ms; give the "
       "hosts' QPs timeout 15 (perftest -u 15, NCCL_IB_TIMEOUT=15) and write host_timeout = "
       "\"134.2 ms\""},
      {"", "", impatient.c_str(),
       "f:16:8: class \"all\": hold is 30 ms, but selective_repeat needs 31.7 ms to mend a loss "
       "over pair.rtt 20 ms; raise hold, or take a policy that does not resend"},
      {"", "", stuck.c_str(), "f:18:9: class \"all\": queue is 30 ms and must be below hold 20 ms"},
      {"", "", tcp.c_str(),
       "f:16:16: class \"all\": pair.rtt 20 ms, a loss mended by selective_repeat in 31.7 ms and 5 "
       "ms of margin make 56.7 ms, but the hosts give up after host_timeout 50 ms; raise the "
       "hosts' timeout above 56.7 ms, and host_timeout with it"},
      {"", "", order.c_str(),
       "f:14:1: class \"rdma\" is the last and has a match; packets that match nothing need a last "
       "class without one\nf:17:8: class \"rdma\" would get nothing: class \"all\" before it has "
       "no match and takes every packet"},
      {"", "", last.c_str(),
       "f:14:1: class \"rdma\" is the last and has a match; packets that match nothing need a last "
       "class without one"},
      {"", "", twice.c_str(), "f:19:8: class \"rdma\" is there twice; names must differ"},
      {"", "", weight.c_str(), "f:18:10: class.weight is 0; 1 to 1000 is accepted"},
      {"", "", ports.c_str(),
       "f:16:19: class.match.ports: \"90-80\" is no range of ports such as \"5201\" or "
       "\"5000-5999\""},
      {"", "", icmp.c_str(),
       "f:16:18: class.match.kind has no ports to match; \"tcp\" and \"udp\" have"},
      {"", "", sides.c_str(),
       "f:16:19: class.match.ports means either side; leave out source_ports and target_ports"},
  });
}

TEST(GatewayFile, tells_every_mistake_at_once_in_the_order_of_the_file) {
  const Folder folder;
  EXPECT_EQ(verdict("[site]\nidel = 'poll'\n[wan]\nrate = 5\n[pair]\nkey_file = 'no'\n"),
            "f:1:1: peer is missing; one [[peer]] at least says where packets go\nf:2:1: site.idel "
            "is not known; did you mean idle?\nf:4:8: wan.rate is 5; it must be a rate such as "
            "\"10 Gbit/s\"\nf:5:1: pair.rtt is missing; it is a duration such as \"25 "
            "ms\"\nf:6:12: pair.key_file: no cannot be read (No such file or directory); `(umask "
            "077; openssl rand -hex 32 > no)` makes a key; the other site needs a copy");
}

}  // namespace
}  // namespace cw::site
