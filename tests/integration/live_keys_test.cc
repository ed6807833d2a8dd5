// Live keys of a gateway that runs, each changed while datagrams cross: its effect is seen from
// outside, and nothing else is lost.
#include <signal.h>

#include <map>

#include "tests/integration/daemon_lab.h"
#include "tests/lab/datagrams.h"

namespace cw::lab {
namespace {

/// Parts of a file, by name, so that one can be another.
struct Parts {
  std::map<std::string, std::string> text;

  std::string of_site(bool is_a) const {
    const SiteAddresses &own = is_a ? site_a : site_b, &other = is_a ? site_b : site_a;
    const auto part = [&](const char* name) {
      const auto found = text.find(name);
      return found == text.end() ? std::string() : found->second + "\n";
    };
    const std::string name = is_a ? "south" : "north";
    const std::string status = text.contains("status") ? text.at("status") : name + ".json";
    return "[site]\nname = '" + name + "'\nstatus = '" + status + "'\n" + part("site") + "[lan]\n" +
           part("lan") + "[wan]\naddress = '" + own.wan + "'\n" +
           (text.contains("rate") ? part("rate") : "rate = '200 Mbit/s'\n") + part("wan") +
           "[wan.impair]\n" + (text.contains("impair") ? part("impair") : "loss = 0\n") +
           "[pair]\nkey_file = 'pair.key'\nrtt = '20 ms'\n" + "[[peer]]\nname = '" +
           (is_a ? "north" : "south") + "'\naddress = '" + other.wan + "'\nroutes = ['" +
           other.prefix + "', '" + other.prefix_v6 + "'" + part("routes") + "]\n" + part("peer") +
           "[[class]]\nname = 'raw'\npolicy = 'passthrough'\nhold = '500 ms'\n" + part("raw") +
           "[[class.match]]\nkind = 'udp'\n" +
           (text.contains("match") ? part("match") : "ports = '7001'\n") +
           "[[class]]\nname = 'all'\npolicy = 'selective_repeat'\nhold = '500 ms'\n" + part("all");
  }
};

class LiveKeys : public Causewayd {
 protected:
  void start_pair() {
    sites_->join(CW_WAN_PROGRAM, {"--rtt", "10ms"});
    start(a_, At::GatewayA, Parts().of_site(true));
    start(b_, At::GatewayB, Parts().of_site(false));
    ASSERT_TRUE(a_->wait_for("info up peer=north")) << a_->err_so_far();
    ASSERT_TRUE(b_->wait_for("info up peer=south")) << b_->err_so_far();
  }
  /// At site a, and waits until it says so. What it says.
  std::string reload(const Parts& parts) {
    const std::string told = reload_text(parts.of_site(true), "reloaded");
    EXPECT_EQ(told.find("not_reloaded"), std::string::npos) << told;
    return told;
  }
  std::string reload_text(const std::string& config, const std::string& event) {
    const size_t before = a_->err_so_far().size();
    std::ofstream(folder_ / "a.toml") << config;
    a_->signal(SIGHUP);
    const auto end = Time::now() + seconds(20);
    while (a_->err_so_far().find(event, before) == std::string::npos) {
      if (Time::now() > end) return ADD_FAILURE() << a_->err_so_far(), "";
      std::this_thread::sleep_for(milliseconds(5));
    }
    std::this_thread::sleep_for(milliseconds(20));  // the rest of the line
    return a_->err_so_far().substr(before);
  }
  std::string routes() const {
    return sites_->space(At::GatewayA).run({"ip", "route", "show", "dev", "causeway0"}).out;
  }
  uint64_t sent_by(const char* name) const {
    const Json south = status("south.json");
    for (const Json& each : south["classes"]) {
      if (each["class"] == name) return each["sent"].get<uint64_t>();
    }
    return ADD_FAILURE() << south.dump(), 0;
  }
};

/// Nothing is lost of a stream of which no changed key says that something may be.
TEST_F(LiveKeys, are_each_changed_under_traffic) {
  start_pair();
  Datagrams main(*sites_, {.udp_port = 7000, .per_second = 500}),
      raw(*sites_, {.udp_port = 7001, .per_second = 500});
  main.start();
  raw.start();
  const auto all_arrive = [](const Datagrams& stream, milliseconds time = milliseconds(300)) {
    const auto from = Time::now();
    std::this_thread::sleep_for(time);
    const auto to = Time::now();
    stream.wait_for_all(from, to);
    const DatagramCounts counts = stream.counts(from, to);
    EXPECT_GT(counts.sent, 0u);
    EXPECT_EQ(counts.lost(), 0u) << text_of(counts);
  };
  const auto some_are_lost = [](const Datagrams& stream) {
    const auto end = Time::now() + seconds(20);
    while (Time::now() < end) {
      const auto from = Time::now();
      std::this_thread::sleep_for(milliseconds(500));
      const auto to = Time::now();
      std::this_thread::sleep_for(milliseconds(1500));
      if (stream.counts(from, to).lost() > 0) return true;
    }
    return false;
  };
  all_arrive(main);
  all_arrive(raw);

  // Numbers that only say how something is done: none of them costs a frame of either stream.
  const std::pair<const char*, const char*> quiet[] = {
      {"rate", "rate = '150 Mbit/s'"},
      {"peer", "rate = '120 Mbit/s'"},
      {"wan", "adapt = false\noverhead_limit = 0.5"},
      {"lan", "queue = '20 ms'\nrelease_rate = '400 Mbit/s'"},
      {"raw", "weight = 7\nqueue = '100 ms'\nmark = false\norder = 'always'"},
      {"all", "host_timeout = '2 s'\nblock_age = '1 ms'\nweight = 3\norder = 'never'"},
      {"site", "log = 'debug'"}};
  Parts parts;
  for (const auto& [part, text] : quiet) {
    SCOPED_TRACE(text);
    const auto from = Time::now();
    parts.text[part] = text;
    const std::string told = reload(parts);
    EXPECT_EQ(told.find("need_restart"), std::string::npos) << told;
    std::this_thread::sleep_for(milliseconds(100));
    const auto to = Time::now();
    for (const Datagrams* stream : {&main, &raw}) {
      stream->wait_for_all(from, to);
      EXPECT_EQ(stream->counts(from, to).lost(), 0u) << text_of(stream->counts(from, to));
    }
  }
  EXPECT_EQ(status("south.json")["peers"][0]["rate_mbps"], 120);
  parts.text.erase("raw");
  parts.text.erase("all");
  EXPECT_NE(reload(parts).find("reloaded"), std::string::npos);

  // The log's lines, the status file.
  parts.text["site"] = "log_format = 'json'";
  EXPECT_NE(reload(parts).find("\"event\":\"reloaded\""), std::string::npos);
  parts.text.erase("site");
  parts.text["status"] = "elsewhere.json";
  EXPECT_NE(reload(parts).find("info reloaded"), std::string::npos);
  EXPECT_EQ(status("elsewhere.json")["state"], "running");
  EXPECT_FALSE(fs::exists("south.json"));
  parts.text.erase("status");
  (void)reload(parts);
  EXPECT_EQ(status("south.json")["state"], "running");

  // A line that is too slow for both, and then no longer.
  parts.text["peer"] = "rate = '2 Mbit/s'";
  (void)reload(parts);
  EXPECT_TRUE(some_are_lost(main));
  parts.text["peer"] = "rate = '120 Mbit/s'";
  (void)reload(parts);
  std::this_thread::sleep_for(seconds(1));  // what waited for the slow line
  all_arrive(main);

  // A rehearsal: who resends mends it, and who does not, does not.
  parts.text["impair"] = "loss = 0.05";
  (void)reload(parts);
  EXPECT_TRUE(some_are_lost(raw));
  all_arrive(main);

  // Another port is of the class that does not resend.
  parts.text["match"] = "ports = '7000'";
  const uint64_t before = sent_by("all");
  (void)reload(parts);
  EXPECT_TRUE(some_are_lost(main));
  all_arrive(raw);
  parts.text.erase("match");
  parts.text.erase("impair");
  (void)reload(parts);
  EXPECT_GT(sent_by("all"), before);
  std::this_thread::sleep_for(seconds(1));
  all_arrive(main);
  all_arrive(raw);

  main.stop();
  raw.stop();
  EXPECT_EQ(main.counts().wrong + raw.counts().wrong, 0u);
  EXPECT_EQ(status("south.json")["counters"]["epochs"], 1);
}

TEST_F(LiveKeys, routes_come_and_go) {
  start_pair();
  sites_->space(At::HostB).must("ip addr add 10.2.9.1/24 dev lo");
  sites_->space(At::GatewayB).must("ip route add 10.2.9.0/24 via 10.2.0.2");
  Datagrams main(*sites_, {.per_second = 500});
  main.start();
  Datagrams other(*sites_, {.target = "10.2.9.1", .udp_port = 7002, .per_second = 100});
  other.start();
  Parts parts;
  parts.text["routes"] = ", '10.2.9.0/24'";
  EXPECT_EQ(reload(parts).find("need_restart"), std::string::npos);
  EXPECT_NE(routes().find("10.2.9.0/24"), std::string::npos) << routes();
  const auto from = Time::now();
  std::this_thread::sleep_for(milliseconds(300));
  const auto to = Time::now();
  other.wait_for_all(from, to);
  EXPECT_GT(other.counts(from, to).arrived, 0u);
  EXPECT_EQ(other.counts(from, to).lost(), 0u) << text_of(other.counts(from, to));
  (void)reload({});
  EXPECT_EQ(routes().find("10.2.9.0/24"), std::string::npos) << routes();
  const auto later = Time::now();
  EXPECT_FALSE(other.wait_for_arrival(later + milliseconds(200), milliseconds(500)));
  main.stop();
  main.settle();
  EXPECT_EQ(main.counts().lost(), 0u) << text_of(main.counts());
}

/// One of several routes leads elsewhere: none is set, and the rate stays.
TEST_F(LiveKeys, are_as_they_were_when_one_cannot_be_had) {
  start_pair();
  sites_->space(At::GatewayA).must("ip route add blackhole 10.2.77.0/24");
  Datagrams main(*sites_, {.per_second = 500});
  main.start();
  Parts parts;
  parts.text["routes"] = ", '10.2.76.0/24', '10.2.77.0/24'";
  parts.text["peer"] = "rate = '1 Mbit/s'";
  parts.text["status"] = "elsewhere.json";
  const std::string told = reload_text(parts.of_site(true), "not_reloaded");
  EXPECT_NE(told.find("10.2.77.0/24 is routed elsewhere"), std::string::npos) << told;
  EXPECT_EQ(told.find("info reloaded"), std::string::npos) << told;
  EXPECT_EQ(routes().find("10.2.76.0/24"), std::string::npos) << routes();
  EXPECT_FALSE(fs::exists("elsewhere.json"));
  EXPECT_EQ(status("south.json")["peers"][0]["rate_mbps"], 200);
  parts.text["routes"] = ", '10.2.76.0/24'";
  parts.text["status"] = "no/such/folder.json";
  EXPECT_NE(reload_text(parts.of_site(true), "not_reloaded").find("site.status"),
            std::string::npos);
  EXPECT_EQ(routes().find("10.2.76.0/24"), std::string::npos) << routes();
  EXPECT_EQ(status("south.json")["peers"][0]["rate_mbps"], 200);
  main.stop();
  main.settle();
  EXPECT_EQ(main.counts().lost(), 0u) << text_of(main.counts());
}

/// A second reload tells what still differs, and what goes beyond the memory of a start is told.
TEST_F(LiveKeys, tell_what_needs_a_restart_until_it_is_gone) {
  start_pair();
  Parts parts;
  parts.text["rate"] = "rate = '100 Mbit/s'";
  parts.text["site"] = "coding_threads = 1";
  for (int i = 0; i < 2; ++i) {
    EXPECT_NE(reload(parts).find("need_restart=[\"site.coding_threads\"]"), std::string::npos);
  }
  parts.text["rate"] = "rate = '201 Mbit/s'";
  parts.text["impair"] = "loss = 0\ndelay = '900 ms'";
  const std::string told = reload(parts);
  EXPECT_NE(told.find("by_other_links=[\"wan.rate\"] "
                      "need_restart=[\"site.coding_threads\",\"wan.impair.delay\"]"),
            std::string::npos)
      << told;
  EXPECT_NE(a_->err_so_far().find("pair.rate is 200 Mbit/s for the peers and will be 100 Mbit/s"),
            std::string::npos);
  // Messages are as long as they were, so that the peer has nothing to load for it.
  EXPECT_TRUE(a_->wait_for("info relinked")) << a_->err_so_far();
  EXPECT_EQ(status("south.json")["peers"][0]["rate_mbps"], 201);
  EXPECT_EQ(reload({}).find("need_restart"), std::string::npos);
  EXPECT_EQ(status("south.json")["peers"][0]["rate_mbps"], 200);
}

/// Whatever ends the gateway ends it, too.
TEST_F(LiveKeys, the_process_that_sets_routes_ends_with_its_gateway) {
  for (const int number : {SIGTERM, SIGKILL}) {
    start(a_, At::GatewayA, Parts().of_site(true));
    ASSERT_TRUE(a_->wait_for("info ready")) << a_->err_so_far();
    const std::string pid = std::to_string(a_->pid());
    const pid_t helper = std::stoi(text_of("/proc/" + pid + "/task/" + pid + "/children"));
    EXPECT_EQ(text_of("/proc/" + std::to_string(helper) + "/comm"), "routes\n");
    kill(helper, SIGTERM);  // whoever stops a service tells all its processes
    std::this_thread::sleep_for(milliseconds(50));
    EXPECT_EQ(kill(helper, 0), 0) << "it is needed until the gateway has ended";
    const std::string rights = text_of("/proc/" + std::to_string(helper) + "/status");
    EXPECT_NE(rights.find("CapEff:\t0000000000001000"), std::string::npos) << rights;
    a_->signal(number);
    a_->finish();
    const auto end = Time::now() + seconds(20);
    while (kill(helper, 0) == 0 && Time::now() < end) {
      std::this_thread::sleep_for(milliseconds(5));
    }
    EXPECT_NE(kill(helper, 0), 0);
  }
}

}  // namespace
}  // namespace cw::lab
