// causewayctl and a gateway that runs.
#include <signal.h>

#include <algorithm>
#include <set>

#include "control/ctl/ask/client.h"
#include "control/ctl/exits.h"
#include "tests/integration/daemon_lab.h"

namespace cw::lab {
namespace {

std::string with_class(const std::string& config, const std::string& policy = "selective_repeat") {
  return config +
         "[[class]]\nname = 'all'\nhold = '500 ms'\npolicies = ['hybrid', 'go_back_n', "
         "'selective_repeat']\npolicy = '" +
         policy + "'\n";
}

class Ctl : public Causewayd {
 protected:
  void start_link() {
    sites_->join(CW_WAN_PROGRAM, {"--rtt", "10ms", "--loss", "0.01"});
    start(a_, At::GatewayA, with_class(config_of(true)));
    start(b_, At::GatewayB, with_class(config_of(false)));
    ASSERT_TRUE(a_->wait_for("info up peer=north")) << a_->err_so_far();
    ASSERT_TRUE(b_->wait_for("info up peer=south")) << b_->err_so_far();
  }
  void start_alone() {
    start(a_, At::GatewayA, with_class(config_of(true)));
    ASSERT_TRUE(a_->wait_for("info ready")) << a_->err_so_far();
  }
  Outcome ctl(const Arguments& more) const {
    Arguments all = {CW_CTL_PROGRAM, "--config", folder_ / "a.toml"};
    all.insert(all.end(), more.begin(), more.end());
    return sites_->space(At::GatewayA).run(all);
  }
  Json ctl_json(Arguments more) const {
    more.emplace_back("--json");
    const Outcome outcome = ctl(more);
    return Json::parse_or_null(outcome.out);
  }
  void write(const std::string& config) const { std::ofstream(folder_ / "a.toml") << config; }
};

TEST_F(Ctl, shows_what_the_gateway_is_and_does) {
  start_link();
  const std::set<std::pair<std::string, std::string>> shown = {{"status", "south: running"},
                                                               {"links", "north  192.0.2.2  up"},
                                                               {"paths", "up"},
                                                               {"classes", "north  all"},
                                                               {"drops", "\n"},
                                                               {"policies", "erasure/1"},
                                                               {"swaps", "none"}};
  for (const auto& [command, text] : shown) {
    const Outcome outcome = ctl({command});
    EXPECT_EQ(outcome.status, ctl::exit_done) << command << outcome.err;
    EXPECT_NE(outcome.out.find(text), std::string::npos) << command << "\n" << outcome.out;
    EXPECT_TRUE(ctl_json({command}).is_object()) << command;
  }
  const Outcome top = ctl({"top", "--rounds", "1"});
  EXPECT_EQ(top.status, ctl::exit_done);
  EXPECT_NE(top.out.find("packets/s"), std::string::npos) << top.out;
}

TEST_F(Ctl, swaps_a_policy_and_waits_for_what_comes_of_it) {
  start_link();
  const Outcome out = ctl({"swap", "all", "hybrid"});
  EXPECT_EQ(out.status, ctl::exit_done) << out.out << out.err;
  EXPECT_NE(out.out.find("hybrid/1"), std::string::npos) << out.out;
  const Outcome both = ctl({"swap", "all", "go_back_n", "alpha=3", "--direction", "both"});
  EXPECT_EQ(both.status, ctl::exit_done) << both.out << both.err;
  const Json lane = ctl_json({"classes"})["classes"][0];
  EXPECT_EQ(lane["policy"]["out"], "go_back_n");
  EXPECT_EQ(lane["policy"]["in"], "go_back_n");
  int directions = 0;
  const Json swaps = ctl_json({"swaps"});
  for (const Json& each : swaps["swaps"]) {
    if (each["order"] != 2) continue;
    ++directions;
    EXPECT_EQ(each["fate"], "done");
    EXPECT_EQ(each["params"], "alpha=3 repeat=1");
  }
  EXPECT_EQ(directions, 2);
  EXPECT_TRUE(b_->wait_for("direction=out policy=go_back_n/2")) << b_->err_so_far();
}

/// A policy that mends nothing, where packets are lost: it is taken back, without anybody's doing.
TEST_F(Ctl, swaps_back_what_does_worse_when_it_is_to_be_guarded) {
  start_link();
  const Host from(*sites_, At::HostA, site_a.host), to(*sites_, At::HostB, site_b.host);
  std::jthread traffic([&](const std::stop_token& stop) {
    for (uint32_t i = 0; !stop.stop_requested(); ++i) {
      from.send(to, i);
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  ASSERT_TRUE(a_->wait_for("info up")) << a_->err_so_far();
  const Outcome outcome = ctl({"swap", "all", "passthrough", "--guard"});
  EXPECT_EQ(outcome.status, ctl::exit_done) << outcome.out << outcome.err;
  EXPECT_TRUE(a_->wait_for("guard=watching")) << a_->err_so_far();
  EXPECT_TRUE(a_->wait_for("warning swapped_back", seconds(60))) << a_->err_so_far();
  const auto end = Time::now() + seconds(20);
  const auto sends_by = [&] {
    return ctl_json({"classes"})["classes"][0]["policy"]["out"].get<std::string>();
  };
  while (sends_by() != "selective_repeat" && Time::now() < end) {
  }
  EXPECT_EQ(sends_by(), "selective_repeat");
}

TEST_F(Ctl, tells_every_mistake_of_an_order) {
  start_link();
  const Outcome outcome = ctl({"swap", "al", "hybridd", "k=9", "--peer", "nort"});
  EXPECT_EQ(outcome.status, ctl::exit_usage);
  for (const char* const text :
       {"no class \"al\" here; there are all", "no peer \"nort\" here; there are north",
        "no policy \"hybridd\" here; there are passthrough"}) {
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  }
  const Outcome params = ctl({"swap", "all", "hybrid", "alfa=2", "k=100000"});
  EXPECT_EQ(params.status, ctl::exit_usage);
  EXPECT_NE(params.err.find("alfa"), std::string::npos) << params.err;
  EXPECT_NE(params.err.find("k is 100000"), std::string::npos) << params.err;
  EXPECT_EQ(ctl({"swap", "all", "hybrid", "k"}).status, ctl::exit_usage);
  EXPECT_EQ(ctl({"swap", "all", "hybrid", "--wait", "soon"}).status, ctl::exit_usage);
  EXPECT_EQ(ctl({"swap", "all"}).status, ctl::exit_usage);
  EXPECT_EQ(ctl({"swap", "", "hybrid"}).status, ctl::exit_usage);
  ctl::Client client(*ctl::place_of_config(folder_ / "a.toml"));
  for (const Json& order : {Json({{"class", "all"}, {"policy", "hybrid"}, {"guard", "true"}}),
                            Json({{"class", "all"}, {"policy", "hybrid"}, {"peer", ""}}),
                            Json({{"class", ""}, {"policy", "hybrid"}})}) {
    EXPECT_EQ(client.post("/v1/swap", order).status, 400) << order;
  }
  EXPECT_EQ(client.post("/v1/swap", {{"class", std::string(5000, 'x')}}).status, 413);
  EXPECT_EQ(ctl({"dance"}).status, ctl::exit_usage);
  EXPECT_EQ(ctl_json({"swaps"})["swaps"], Json::array());
}

TEST_F(Ctl, says_by_its_end_what_became_of_a_swap) {
  start_link();
  // Blocks that are larger than what the class has made room for.
  const Outcome large = ctl({"swap", "all", "erasure", "k=128", "m=64"});
  EXPECT_NE(large.status, ctl::exit_done) << large.out << large.err;
  EXPECT_NE(large.out.find("no room for its blocks"), std::string::npos) << large.out;
  b_->signal(SIGKILL);
  b_->finish();
  ASSERT_TRUE(a_->wait_for("warning down peer=north")) << a_->err_so_far();
  const Outcome down = ctl({"swap", "all", "hybrid", "--wait", "100ms"});
  EXPECT_EQ(down.status, ctl::exit_waiting) << down.out << down.err;
  EXPECT_NE(down.out.find("the link is down"), std::string::npos) << down.out;
}

TEST_F(Ctl, plans_and_reloads) {
  start_link();
  EXPECT_NE(ctl({"plan"}).out.find("nothing differs"), std::string::npos);
  write(replaced(with_class(config_of(true), "hybrid"), "status = 'south.json'",
                 "status = 'south.json'\nidle = 'poll'"));
  const Outcome plan = ctl({"plan"});
  EXPECT_EQ(plan.status, ctl::exit_waiting) << "for a restart: " << plan.out << plan.err;
  EXPECT_NE(plan.out.find("class.all.policy"), std::string::npos) << plan.out;
  EXPECT_NE(plan.out.find("needs restart"), std::string::npos) << plan.out;
  EXPECT_EQ(ctl_json({"classes"})["classes"][0]["policy"]["out"], "selective_repeat");
  const Outcome reload = ctl({"reload", "--wait", "20s"});
  EXPECT_EQ(reload.status, ctl::exit_waiting) << "for a restart: " << reload.out << reload.err;
  EXPECT_EQ(ctl_json({"classes"})["classes"][0]["policy"]["out"], "hybrid");
  const Outcome in_force = ctl({"config"});
  EXPECT_EQ(in_force.status, ctl::exit_done) << in_force.err;
  EXPECT_NE(in_force.out.find("policy = \"hybrid\""), std::string::npos) << in_force.out;
  EXPECT_EQ(in_force.out.find("poll"), std::string::npos) << "that waits: " << in_force.out;
  EXPECT_EQ(ctl_json({"config"})["toml"], in_force.out);
  const std::string read_socket = ctl::place_of_config(folder_ / "a.toml")->read_socket;
  const Outcome refused =
      sites_->space(At::GatewayA).run({CW_CTL_PROGRAM, "--socket", read_socket, "config"});
  EXPECT_EQ(refused.status, ctl::exit_not_allowed) << refused.out;
  write(with_class(config_of(true), "go_back_n"));
  const Outcome again = ctl({"reload", "--wait", "20s"});
  EXPECT_EQ(again.status, ctl::exit_done) << again.out << again.err;
  EXPECT_EQ(ctl_json({"classes"})["classes"][0]["policy"]["out"], "go_back_n");
}

TEST_F(Ctl, reloads_nothing_of_a_file_with_mistakes) {
  start_link();
  write(with_class(replaced(config_of(true), "200 Mbit/s", "many"), "hybridd"));
  for (const char* const command : {"plan", "reload"}) {
    const Outcome outcome = ctl({command});
    EXPECT_EQ(outcome.status, ctl::exit_failed);
    EXPECT_NE(outcome.err.find("wan.rate"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("hybridd"), std::string::npos) << outcome.err;
  }
}

TEST_F(Ctl, puts_all_that_a_report_needs_into_one_file) {
  start_alone();
  const Outcome outcome = ctl({"bundle", "--output", folder_ / "bundle.json"});
  EXPECT_EQ(outcome.status, ctl::exit_done) << outcome.err;
  const std::string text = text_of(folder_ / "bundle.json");
  EXPECT_EQ(text.find(std::string(64, 'k')), std::string::npos) << "the pair's key";
  const Json bundle = Json::parse(text);
  EXPECT_EQ(bundle["status"]["site"], "south");
  EXPECT_NE(bundle["log"]["lines"].dump().find("info ready"), std::string::npos);
  EXPECT_NE(bundle["config_file"].get<std::string>().find("key_file"), std::string::npos);
}

TEST_F(Ctl, says_that_nobody_answers) {
  write(config_of(true));
  const Outcome outcome = ctl({"status"});
  EXPECT_EQ(outcome.status, ctl::exit_no_daemon);
  EXPECT_NE(outcome.err.find("no gateway answers at"), std::string::npos) << outcome.err;
  start_alone();
  a_->signal(SIGKILL);
  a_->finish();
  EXPECT_EQ(ctl({"status"}).status, ctl::exit_no_daemon) << "its socket is still there";
  start_alone();
  EXPECT_EQ(ctl({"status"}).status, ctl::exit_done) << "and was replaced";
  a_->signal(SIGTERM);
  a_->finish();
  EXPECT_FALSE(fs::exists(folder_ / "api" / "south")) << "nothing is left behind";
}

TEST_F(Ctl, starts_no_second_gateway_of_one_name) {
  start_alone();
  const Outcome second =
      run(replaced(with_class(config_of(true)), "[wan]\n",
                   "[lan]\ndevice = 'second'\nroutes = false\n[wan]\nudp_port = 4800\n"));
  EXPECT_EQ(second.status, 1);
  EXPECT_NE(second.err.find("api.folder: another process listens at"), std::string::npos)
      << second.err;
  EXPECT_EQ(ctl({"status"}).status, ctl::exit_done);
}

/// What hosts sent and what the long haul carried of it, read by a stranger.
TEST_F(Ctl, captures_packets_before_and_after_the_gateway) {
  start_link();
  const Host from(*sites_, At::HostA, site_a.host), to(*sites_, At::HostB, site_b.host);
  std::jthread traffic([&](const std::stop_token& stop) {
    for (uint32_t i = 0; !stop.stop_requested(); ++i) {
      from.send(to, i);
      std::this_thread::sleep_for(milliseconds(2));
    }
  });
  const auto capture = [&](const Arguments& more) {
    Arguments all = {"capture", "--output", folder_ / "packets"};
    all.insert(all.end(), more.begin(), more.end());
    return ctl(all).status;
  };
  const auto lines = [&](const std::string& filter) {
    const Outcome read =
        sites_->space(At::GatewayA)
            .run({"tshark", "-r", folder_ / "packets", "-Y", filter, "-T", "fields", "-e",
                  "frame.interface_name", "-e", "ip.dst", "-e", "udp.dstport"});
    EXPECT_EQ(read.status, 0) << read.err;
    return read.out;
  };
  ASSERT_EQ(capture({"--packets", "200"}), ctl::exit_done);
  EXPECT_EQ(std::ranges::count(lines("frame"), '\n'), 200);
  EXPECT_NE(lines("udp.dstport == 7000").find("lan\t10.2.0.2\t7000\n"), std::string::npos);
  EXPECT_NE(lines("infiniband.bth").find("wan\t192.0.2.2\t4791\n"), std::string::npos);
  ASSERT_EQ(capture({"--packets", "20", "--side", "wan", "--peer", "north"}), ctl::exit_done);
  EXPECT_EQ(lines("udp.dstport == 7000"), "");
  EXPECT_EQ(std::ranges::count(lines("infiniband.bth"), '\n'), 20);
  ASSERT_EQ(capture({"--seconds", "1", "--side", "lan"}), ctl::exit_done);
  EXPECT_EQ(lines("infiniband.bth"), "");
  EXPECT_EQ(capture({"--peer", "nobody"}), ctl::exit_usage);
  EXPECT_EQ(capture({"--seconds", "61"}), ctl::exit_usage);
}

/// What the policies of a gateway are told and decide under loss, played again by the simulator:
/// the same, call by call.
TEST_F(Ctl, traces_a_stream_and_the_simulator_plays_it_again) {
  start_link();
  const Host from(*sites_, At::HostA, site_a.host), to(*sites_, At::HostB, site_b.host);
  std::jthread traffic([&](const std::stop_token& stop) {
    for (uint32_t i = 0; !stop.stop_requested(); ++i) {
      from.send(to, i);
      if (i % 16 == 0) std::this_thread::sleep_for(milliseconds(2));
    }
  });
  const auto play = [&](const Arguments& more) {
    Arguments all = {CW_SIM_PROGRAM, "--json", "--replay"};
    all.insert(all.end(), more.begin(), more.end());
    return sites_->space(At::GatewayA).run(all);
  };
  for (const char* const policy : {"selective_repeat", "hybrid", "go_back_n"}) {
    ASSERT_EQ(ctl({"swap", "all", policy, "--direction", "both"}).status, ctl::exit_done);
    const std::string file = folder_ / (std::string(policy) + ".json");
    const Outcome traced = ctl({"trace", "all", "--seconds", "2", "--output", file});
    ASSERT_EQ(traced.status, ctl::exit_done) << traced.out << traced.err;
    EXPECT_NE(traced.out.find("north"), std::string::npos) << traced.out;
    const Outcome played = play({file});
    EXPECT_EQ(played.status, 0) << policy;
    const Json streams = Json::parse(played.out)["streams"];
    ASSERT_EQ(streams.size(), 2u);
    for (const Json& each : streams) {
      EXPECT_EQ(each["head"]["policy"], policy);
      EXPECT_EQ(each["report"]["differences"], 0);
      EXPECT_EQ(each["calls"][0]["fact"], "link");
    }
    EXPECT_GT(streams[0]["report"]["facts"], 500);
    EXPECT_GT(streams[0]["report"]["decisions"], 500);
  }
  const std::string bundle = folder_ / "bundle.json";
  ASSERT_EQ(
      ctl({"bundle", "--trace", "all", "--direction", "out", "--seconds", "1", "--output", bundle})
          .status,
      ctl::exit_done);
  EXPECT_EQ(Json::parse(play({bundle}).out)["streams"].size(), 1u);
  EXPECT_EQ(ctl({"trace", "none"}).status, ctl::exit_usage);
  EXPECT_EQ(ctl({"trace", "all", "--peer", "nobody"}).status, ctl::exit_usage);
  const Outcome nowhere = ctl({"trace", "all", "--link", "7", "--output", folder_ / "none"});
  EXPECT_EQ(nowhere.status, ctl::exit_failed);
  EXPECT_NE(nowhere.out.find("no such link"), std::string::npos) << nowhere.out;
}

TEST_F(Ctl, shows_streams_and_which_flows_hosts_have) {
  start_link();
  const Json streams = ctl_json({"streams"})["streams"];
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_EQ(streams[0]["direction"], "out");
  EXPECT_EQ(streams[0]["is_started"], true);
  const Host from(*sites_, At::HostA, site_a.host), to(*sites_, At::HostB, site_b.host);
  std::jthread traffic([&](const std::stop_token& stop) {
    for (uint32_t i = 0; !stop.stop_requested(); ++i) from.send(to, i);
  });
  const Json flows = ctl_json({"flows", "--seconds", "2"})["flows"];
  ASSERT_GE(flows.size(), 1u);
  EXPECT_EQ(flows[0]["from"], "10.1.0.2");
  EXPECT_EQ(flows[0]["to"], "10.2.0.2");
  EXPECT_EQ(flows[0]["to_port"], 7000);
  EXPECT_EQ(flows[0]["protocol"], "udp");
  EXPECT_EQ(flows[0]["direction"], "out");
  EXPECT_EQ(ctl({"flows", "--seconds", "11"}).status, ctl::exit_usage);
}

/// The one who is first has it; whoever goes away leaves nothing behind.
TEST_F(Ctl, captures_for_one_at_a_time) {
  start_alone();
  const std::string order = "{}";
  Program first(sites_->namespace_of(At::GatewayA),
                {CW_CTL_PROGRAM, "--config", folder_ / "a.toml", "capture", "--seconds", "60",
                 "--output", folder_ / "first"});
  ASSERT_TRUE(a_->wait_for("info watches")) << a_->err_so_far();
  EXPECT_EQ(ctl({"capture", "--output", folder_ / "second"}).status, ctl::exit_busy);
  first.signal(SIGKILL);
  first.finish();
  const auto end = Time::now() + seconds(30);
  const auto watch = [&] { return ctl({"flows", "--seconds", "1"}).status; };
  while (watch() != ctl::exit_done) ASSERT_LT(Time::now(), end) << "who has gone keeps the place";
  a_->signal(SIGTERM);
  EXPECT_EQ(a_->finish().status, 0);
}

/// By a library that knows the standard, each answer against the document that the gateway serves.
TEST_F(Ctl, is_asked_as_its_document_says) {
  start_link();
  ASSERT_EQ(ctl({"swap", "all", "hybrid"}).status, ctl::exit_done);
  ctl::Client client(*ctl::place_of_config(folder_ / "a.toml"));
  const Json document = client.get("/v1/openapi.json").json;
  ASSERT_TRUE(document.is_object());
  Json answers = Json::array();
  const auto note = [&](const std::string& path, const char* method, const ctl::Answer& answer) {
    const Json body = path == "/metrics" ? Json(answer.body) : answer.json;
    answers.push_back(
        {{"path", path}, {"method", method}, {"status", answer.status}, {"body", body}});
  };
  const auto ask_all = [&] {
    for (const auto& [path, operations] : document["paths"].items()) {
      if (operations.contains("get")) note(path, "get", client.get(path));
      if (path == "/v1/config/in_force") note(path, "get", client.get_as_controller(path));
      if (path == "/v1/capture") note(path, "post", client.post(path, {{"seconds", 0}}));
      if (path == "/v1/trace") note(path, "post", client.post(path, {{"seconds", 0}}));
    }
    for (const char* const path :
         {"/v1/plan", "/v1/reload", "/v1/swap", "/v1/adapt", "/v1/forgive", "/v1/drain"}) {
      note(path, "post", client.post(path, Json::object()));
    }
    note("/v1/swap", "post", client.post("/v1/swap", {{"class", "all"}, {"policy", "hybrid"}}));
    for (const bool is_wanted : {true, false}) {
      note("/v1/drain", "post", client.post("/v1/drain", {{"is_wanted", is_wanted}}));
    }
  };
  ask_all();
  const Json trace = {{"class", "all"}, {"seconds", 1}};
  note("/v1/trace", "post", client.post("/v1/trace", trace));
  write(with_class(replaced(config_of(true), "200 Mbit/s", "190 Mbit/s"), "go_back_n"));
  ask_all();
  write("nonsense");
  ask_all();
  b_->signal(SIGKILL);
  ASSERT_TRUE(a_->wait_for("warning down peer=north")) << a_->err_so_far();
  ask_all();
  std::ofstream("document.json") << document.dump();
  std::ofstream("answers.json") << answers.dump();
  const Outcome outcome =
      sites_->space(At::GatewayA).run({"python3", CW_CONFORMS, "document.json", "answers.json"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
}

TEST_F(Ctl, serves_a_page_and_says_who_may_order) {
  start_alone();
  ctl::Client client(*ctl::place_of_config(folder_ / "a.toml"));
  const ctl::Answer page = client.get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_TRUE(page.body.starts_with("<!doctype html>")) << page.body.substr(0, 80);
  EXPECT_EQ(client.get("/v1/who").json["may_order"], false);
  const Json who = client.get_as_controller("/v1/who").json;
  EXPECT_EQ(who["may_order"], true);
  EXPECT_EQ(who["who"], "uid 0");
}

/// A script per shell, of which the shell itself says that it is right.
TEST_F(Ctl, completes_what_is_typed) {
  const Outcome script = ctl({"completion", "bash"});
  ASSERT_EQ(script.status, 0) << script.err;
  std::ofstream("complete") << script.out;
  const Outcome typed = sites_->space(At::GatewayA)
                            .run({"bash", "-c",
                                  ". ./complete; COMP_WORDS=(causewayctl sw) COMP_CWORD=1; "
                                  "_causewayctl; echo ${COMPREPLY[*]}"});
  EXPECT_EQ(typed.out, "swap swaps\n") << typed.err;
}

}  // namespace
}  // namespace cw::lab
