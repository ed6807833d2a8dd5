// causewayd as a process, and under strain.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/un.h>

#include <atomic>

#include "tests/integration/daemon_lab.h"

#ifndef __has_feature  // GCC 12
#define __has_feature(feature) 0
#endif

namespace cw::lab {
namespace {

// ---- daemon ----
// causewayd as a process: what it carries, what it says, what it refuses, and what it leaves.

constexpr size_t sanitizer_threads = __has_feature(thread_sanitizer) ? 1 : 0;

TEST_F(Causewayd, carries_datagrams_says_so_and_leaves_when_asked) {
  start_both();
  const Host from(*sites_, At::HostA, site_a.host), to(*sites_, At::HostB, site_b.host);
  constexpr uint32_t count = 200;
  for (uint32_t first = 0; first < count; first += 20) {
    for (uint32_t i = first; i < first + 20; ++i) from.send(to, i);
    for (uint32_t i = first; i < first + 20; ++i) EXPECT_EQ(to.receive(), i);
  }
  const Json south = status("south.json"), north = status("north.json");
  EXPECT_EQ(south["state"], "running");
  EXPECT_EQ(south["peers"][0]["name"], "north");
  EXPECT_EQ(south["peers"][0]["link"], "up");
  EXPECT_GE(south["peers"][0]["rtt_ms"], 9);
  EXPECT_GE(south["classes"][0]["sent"], count);
  EXPECT_GE(north["classes"][0]["received"]["out"], count);
  EXPECT_EQ(south["pid"], a_->pid());

  a_->signal(SIGTERM);
  const Outcome outcome = a_->finish();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.err.find("info draining"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("info stopped"), std::string::npos) << outcome.err;
  EXPECT_TRUE(b_->wait_for("down peer=south why=\"the peer has left\"")) << b_->err_so_far();
  EXPECT_FALSE(fs::exists("south.json"));
  EXPECT_NE(sites_->space(At::GatewayA).run({"ip", "link", "show", "causeway0"}).status, 0);
}

TEST_F(Causewayd, writes_its_status_when_asked) {
  start(a_, At::GatewayA, replaced(config_of(true), "status = 'south.json'\n", ""));
  ASSERT_TRUE(a_->wait_for("info ready")) << a_->err_so_far();
  a_->signal(SIGUSR1);
  EXPECT_TRUE(a_->wait_for("info status site=south")) << a_->err_so_far();
}

TEST_F(Causewayd, names_the_key_that_differs_at_both_ends) {
  const std::string other_class = "[[class]]\nname = 'all'\npolicy = 'hybrid'\n";
  const struct {
    std::string a, b, at_a, at_b;
  } rows[] = {
      {config_of(true), replaced(config_of(false), "20 ms", "30 ms"),
       "pair.rtt is 20 ms here and 30 ms at the peer",
       "pair.rtt is 30 ms here and 20 ms at the peer"},
      {config_of(true), config_of(false) + other_class,
       "the largest block of class.all.policies is none here and 4 x 32 + 32 packets at the peer",
       "the largest block of class.all.policies is 4 x 32 + 32 packets here and none at the peer"},
  };
  sites_->join(CW_WAN_PROGRAM, {"--rtt", "10ms"});
  for (const auto& row : rows) {
    start(a_, At::GatewayA, row.a);
    start(b_, At::GatewayB, row.b);
    EXPECT_TRUE(a_->wait_for(row.at_a)) << a_->err_so_far();
    EXPECT_TRUE(b_->wait_for(row.at_b)) << b_->err_so_far();
    EXPECT_EQ(a_->err_so_far().find("info up"), std::string::npos);
  }
}

TEST_F(Causewayd, ends_at_once_when_told_twice) {
  sites_->join(CW_WAN_PROGRAM, {"--rtt", "10ms"});
  // Twenty seconds at full rate are 2 GB of slots, for whose freeing ThreadSanitizer takes 4 s.
  const std::string patient = "[[class]]\nname = 'all'\nhold = '20 s'\n";
  start(a_, At::GatewayA, replaced(config_of(true), "200 Mbit/s", "20 Mbit/s") + patient);
  start(b_, At::GatewayB, replaced(config_of(false), "200 Mbit/s", "20 Mbit/s") + patient);
  ASSERT_TRUE(a_->wait_for("info up")) << a_->err_so_far();
  b_->signal(SIGKILL);
  b_->finish();
  const Host from(*sites_, At::HostA, site_a.host), to(*sites_, At::HostB, site_b.host);
  for (uint32_t i = 0; i < 50; ++i) from.send(to, i);
  const auto latest = Time::now() + seconds(30);
  while (status("south.json")["classes"][0]["sent"] == 0 && Time::now() < latest) continue;
  EXPECT_GT(status("south.json")["classes"][0]["sent"], 0);
  a_->signal(SIGTERM);
  ASSERT_TRUE(a_->wait_for("info draining")) << a_->err_so_far();
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_FALSE(a_->has_ended());  // what has been taken may still be heard of
  const auto start = Time::now();
  a_->signal(SIGTERM);
  const Outcome end = a_->finish();
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_LT(Time::now() - start, seconds(15));  // of twenty that it would wait otherwise
}

TEST_F(Causewayd, refuses_a_file_with_mistakes_and_starts_nothing) {
  const Outcome outcome = run(replaced(config_of(true), "rate = '200 Mbit/s'", "rat = 5"));
  EXPECT_EQ(outcome.status, 2);
  const std::string file = folder_ / "c.toml";
  EXPECT_EQ(outcome.err, file + ":6:1: wan.rate is missing; it is a rate such as \"10 Gbit/s\"\n" +
                             file + ":8:1: wan.rat is not known; did you mean rate?\n");
  EXPECT_EQ(run("x").status, 2);
  const auto& space = sites_->space(At::GatewayA);
  EXPECT_EQ(space.run({CW_DAEMON_PROGRAM, "--config", "/nowhere"}).status, 2);
  EXPECT_EQ(space.run({CW_DAEMON_PROGRAM, "--frobnicate"}).status, 2);
  EXPECT_EQ(space.run({CW_DAEMON_PROGRAM}).status, 2);
}

TEST_F(Causewayd, checks_without_starting) {
  Arguments check = command("c", config_of(true));
  check.push_back("--check");
  const auto& space = sites_->space(At::GatewayA);
  const Outcome good = space.run(check);
  EXPECT_EQ(good.status, 0);
  EXPECT_NE(good.out.find("c.toml is right"), std::string::npos) << good.out;
  check.push_back("--json");
  const Json json = Json::parse(space.run(check).out);
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["peers"][0]["routes"][0], site_b.prefix);
  command("c", "[wan]\nrate = 1\n");
  const Outcome bad = space.run(check);
  EXPECT_EQ(bad.status, 2);
  EXPECT_GE(Json::parse(bad.out)["mistakes"].size(), 3u);
}

TEST_F(Causewayd, lists_the_policies_of_the_files_plugins_too) {
  const std::string plugins = "[site]\nplugins = ['" CW_PLUGIN "']\n";
  Arguments list = command("c", replaced(config_of(true), "[site]\n", plugins));
  list.push_back("--list-policies");
  const auto& space = sites_->space(At::GatewayA);
  const Outcome of_file = space.run(list);
  EXPECT_EQ(of_file.status, 0) << of_file.err;
  const Outcome built_in = space.run({CW_DAEMON_PROGRAM, "--list-policies"});
  EXPECT_TRUE(of_file.out.starts_with(built_in.out)) << of_file.out;
  EXPECT_NE(of_file.out.find("\ntried"), std::string::npos) << of_file.out;
  EXPECT_EQ(built_in.out.find("\ntried"), std::string::npos);
}

TEST_F(Causewayd, says_what_of_this_machine_is_in_the_way) {
  Arguments preflight = command("c", config_of(true));
  preflight.insert(preflight.end(), {"--preflight", "--json"});
  const auto& space = sites_->space(At::GatewayA);
  const auto status_of = [](const Outcome& outcome, const std::string& name) {
    for (const Json& each : Json::parse(outcome.out)) {
      if (each.at("name") == name) return each.at("status").get<std::string>();
    }
    return std::string("no such finding");
  };
  const Outcome before = space.run(preflight);
  EXPECT_EQ(status_of(before, "tun"), "ok") << before.out;
  EXPECT_EQ(status_of(before, "rights"), "ok") << before.out;
  EXPECT_EQ(status_of(before, "udp port"), "ok") << before.out;
  start(a_, At::GatewayA, config_of(true));
  ASSERT_TRUE(a_->wait_for("info ready")) << a_->err_so_far();
  const Outcome after = space.run(preflight);
  EXPECT_EQ(after.status, 1);
  EXPECT_EQ(status_of(after, "udp port"), "problem") << after.out;
  const Outcome machine = space.run({CW_DAEMON_PROGRAM, "--preflight"});
  EXPECT_NE(machine.out.find("tun "), std::string::npos) << machine.out;
  command("c", "[wan]\nrate = 1\n");
  EXPECT_EQ(space.run(preflight).status, 2);
}

TEST_F(Causewayd, says_in_one_sentence_what_it_cannot_have) {
  const auto& space = sites_->space(At::GatewayA);
  start(a_, At::GatewayA, config_of(true));
  ASSERT_TRUE(a_->wait_for("info ready")) << a_->err_so_far();
  space.must("ip route add 10.77.0.0/16 via 192.0.2.2");
  const std::string of_its_own = replaced(config_of(true), "folder = 'api'", "folder = 'other'"),
                    other_port = replaced(of_its_own, "[wan]", "[wan]\nudp_port = 4800"),
                    apart = replaced(other_port, "[wan]", "[lan]\ndevice = 'other'\n[wan]"),
                    routes = "['" + std::string(site_b.prefix) + "', '" + site_b.prefix_v6 + "']";
  const struct {
    std::string config, sentence;
  } rows[] = {
      {replaced(config_of(true), "[wan]", "[lan]\ndevice = 'other'\n[wan]"),
       "causewayd: wan.udp_port: 4791 is taken by another program; stop it, or choose another "
       "udp_port here and in the peer's list of peers\n"},
      {replaced(apart, site_a.wan, "192.0.2.77"),
       "causewayd: wan.address: 192.0.2.77 is not one of this machine's; leave it out to listen "
       "on all of them\n"},
      {other_port,
       "causewayd: lan.device: the TUN device \"causeway0\" is in use by another program; stop it, "
       "or choose another name\n"},
      {apart,
       "causewayd: peer.routes: 10.2.0.0/24 is routed elsewhere on this machine (`ip route show "
       "10.2.0.0/24`); remove that route, or set lan.routes = false\n"},
      {replaced(replaced(apart, routes, "['10.9.0.0/16']"), "rtt", "mtu = 9000\nrtt"),
       "causewayd: pair.mtu: this machine's route to a peer carries packets that are 6756 bytes "
       "smaller; lower pair.mtu at all sites by that, or raise the MTU of the interface\n"},
      {replaced(replaced(apart, routes, "['10.9.0.0/16']"), "south.json", "/nowhere/s.json"),
       "causewayd: site.status: cannot write /nowhere/s.json.new: No such file or directory\n"},
  };
  for (const auto& row : rows) {
    const Outcome outcome = run(row.config);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.err, row.sentence);
  }
  EXPECT_NE(space.run({"ip", "link", "show", "other"}).status, 0);
  EXPECT_EQ(space.run({"ip", "link", "show", "causeway0"}).status, 0);
}

TEST_F(Causewayd, gives_its_rights_up_and_becomes_the_user_it_is_told) {
  chmod(folder_.c_str(), 0777);
  start(a_, At::GatewayA, replaced(config_of(true), "[site]", "[site]\nuser = 'nobody'"));
  ASSERT_TRUE(a_->wait_for("info ready")) << a_->err_so_far();
  size_t threads = 0, bound = 0;
  for (const auto& thread :
       fs::directory_iterator("/proc/" + std::to_string(a_->pid()) + "/task")) {
    const std::string about = text_of(thread.path() / "status");
    for (const char* line : {"CapEff:\t0000000000000000\n", "CapPrm:\t0000000000000000\n",
                             "Uid:\t65534\t65534\t65534\t65534\n"}) {
      EXPECT_NE(about.find(line), std::string::npos) << line << about;
    }
    // A sanitizer has a thread of its own, from before main().
    bound += about.find("NoNewPrivs:\t1\n") != std::string::npos ? 1 : 0;
    ++threads;
  }
  EXPECT_GE(threads, 3u);
  EXPECT_GE(bound + sanitizer_threads, threads);
  EXPECT_EQ(status("south.json")["site"], "south");
}

TEST_F(Causewayd, runs_without_root_with_the_one_capability_it_names) {
  // As most systems have the device; here, for this process alone.
  const std::string prepare =
      "mount -t tmpfs tmpfs /dev/net && mknod /dev/net/tun c 10 200 && chmod 666 /dev/net/tun && ";
  const auto as_nobody = [&](const std::string& rights) {
    std::string line = prepare + "exec setpriv --reuid nobody --clear-groups " + rights;
    for (const std::string& each : command("a", config_of(true))) line += " " + each;
    return Arguments{"unshare", "--mount", "sh", "-c", line};
  };
  chmod(folder_.c_str(), 0777);
  chmod("pair.key", 0644);
  const Outcome refused = sites_->space(At::GatewayA).run(as_nobody(""));
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(refused.err.starts_with("causewayd: lan.device: no right to make")) << refused.err;
  a_.emplace(sites_->namespace_of(At::GatewayA),
             as_nobody("--inh-caps +net_admin --ambient-caps +net_admin"));
  ASSERT_TRUE(a_->wait_for("info ready")) << a_->err_so_far();
  EXPECT_TRUE(a_->wait_for("warning careful what=\"pair.key_file: ")) << a_->err_so_far();
  const std::string about = text_of("/proc/" + std::to_string(a_->pid()) + "/status");
  EXPECT_NE(about.find("CapPrm:\t0000000000000000\n"), std::string::npos) << about;
  EXPECT_NE(about.find("CapAmb:\t0000000000000000\n"), std::string::npos) << about;
}

TEST_F(Causewayd, tells_the_service_manager_when_it_is_ready) {
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = "notify"};
  const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  Arguments arguments = {"env", "NOTIFY_SOCKET=" + (folder_ / "notify").string()};
  for (const std::string& each : command("a", config_of(true))) arguments.push_back(each);
  a_.emplace(sites_->namespace_of(At::GatewayA), arguments);
  ASSERT_TRUE(a_->wait_for("info ready")) << a_->err_so_far();
  char text[200] = "";
  EXPECT_GT(recv(fd, text, sizeof(text) - 1, 0), 0);
  EXPECT_TRUE(std::string(text).starts_with("READY=1\n")) << text;
  a_->signal(SIGTERM);
  a_->finish();
  EXPECT_GT(recv(fd, text, sizeof(text) - 1, 0), 0);
  EXPECT_TRUE(std::string(text).starts_with("STOPPING=1\n")) << text;
  close(fd);
}

/// Of a file of the examples: what `causeway-key public` says at the other site is put in.
std::string with_public_key(std::string text, const std::string& key) {
  constexpr std::string_view name = "\npublic_key = \"";
  const size_t begin = text.find(name) + name.size();
  return text.replace(begin, text.find('"', begin) - begin, key);
}

TEST_F(Causewayd, runs_the_lab_of_the_examples) {
  // 32 times 1 and 2, and their public halves.
  for (const auto& [file, key] :
       {std::pair{"lab-a.key", "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="},
        std::pair{"lab-b.key", "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="}}) {
    std::ofstream(file) << key << "\n";
    chmod(file, 0600);
  }
  const Lab lab;
  Program wan(lab.namespace_of(Middle), {CW_WAN_PROGRAM, "ma", "mb", "--rtt", "25ms"});
  ASSERT_TRUE(wan.wait_for("ready"));
  const auto start_lab = [&](std::optional<Program>& daemon, Place place, const char* name,
                             const char* other) {
    const fs::path config = fs::path(CW_SOURCE_DIR) / "configs" / (std::string(name) + ".toml");
    daemon.emplace(lab.namespace_of(place), command(name, with_public_key(text_of(config), other)));
  };
  start_lab(a_, HostA, "lab-a", "zo060cy2M+x7cMF4FKXHbs0CloUFDTRHRboFhw5YfVk=");
  start_lab(b_, HostB, "lab-b", "pOCSkrZRwni5dyxWn1+puxPZBrRqtoyd+dwrRAn4ogk=");
  EXPECT_TRUE(a_->wait_for("info up peer=lab-b")) << a_->err_so_far();
  EXPECT_TRUE(b_->wait_for("info up peer=lab-a")) << b_->err_so_far();
}

}  // namespace

}  // namespace cw::lab
