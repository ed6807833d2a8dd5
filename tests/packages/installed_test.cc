// The Debian packages, installed by apt into a Debian with nothing else in it: what an
// administrator does with them, on two machines with systemd, each a site's gateway.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/docs/document.h"
#include "tests/docs/runners.h"
#include "tests/lab/pings.h"
#include "tests/lab/restarts/tcp_file.h"
#include "tests/lab/sites.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string revisions = "/packages/", root = CW_FOLDER "/root";

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A Debian machine in a network namespace.
class Machine {
 public:
  explicit Machine(const Space& space)
      : space_(space), system_(space.fd(), {CW_SOURCE_DIR "/tests/packages/machine", root}) {
    const auto end = Time::now() + seconds(60);
    while (Time::now() < end && !system_.has_ended()) {
      if (!init().empty() && holds(run("systemctl is-system-running").out, "running")) return;
      std::this_thread::sleep_for(milliseconds(100));
    }
    throw std::runtime_error("the machine does not start: " + system_.err_so_far());
  }

  /// Lines of shell.
  Outcome run(const std::string& lines) const {
    return space_.run({"nsenter", "-a", "-t", init(), "/usr/bin/env", "-i",
                       "PATH=/usr/sbin:/usr/bin", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
                       "/bin/sh", "-c", lines});
  }
  /// What they print, without the last end of line.
  std::string must(const std::string& lines) const {
    Outcome outcome = run(lines);
    EXPECT_EQ(outcome.status, 0) << lines << "\n" << outcome.out << outcome.err;
    if (outcome.out.ends_with('\n')) outcome.out.pop_back();
    return outcome.out;
  }
  void write(const std::string& file, const std::string& text) const {
    must("cat >" + file + " <<'END'\n" + text + "END");
  }
  std::string log() const { return run("journalctl --no-pager -u 'causewayd@*'").out; }

 private:
  /// The number of its first process, here.
  std::string init() const {
    const std::string pid = std::to_string(system_.pid());
    std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
    std::string child;
    children >> child;
    return child;
  }

  const Space& space_;
  Program system_;
};

/// Two sites, of which each gateway is a machine.
class Installed : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!obstacle().empty()) return;
    made_ = std::make_unique<Outcome>();
    const std::string command = CW_SOURCE_DIR "/tests/packages/installed_root " CW_FOLDER;
    made_->status = std::system((command + " >" CW_FOLDER ".log 2>&1").c_str());
  }
  void SetUp() override {
    if (const std::string why_not = obstacle(); !why_not.empty()) GTEST_SKIP() << why_not;
    ASSERT_EQ(made_->status, 0) << "see " CW_FOLDER ".log";
    sites_.emplace(SitesOptions{});
    sites_->join(CW_WAN_PROGRAM, {"--rtt", "25ms", "--rate", "200Mbit/s"});
    a_.emplace(sites_->space(At::GatewayA));
  }
  void TearDown() override {
    for (const auto* each : {&a_, &b_}) {
      if (HasFailure() && *each) std::cerr << (*each)->log() << "\n";
    }
  }

  Machine& a() { return *a_; }
  Machine& b() { return *b_; }
  const Sites& sites() const { return *sites_; }

  /// Both, as their administrators do it: keys, files, units.
  void start_both() {
    b_.emplace(sites_->space(At::GatewayB));
    const std::string key_a = make_key(a(), "a"), key_b = make_key(b(), "b");
    a().write("/etc/causeway/a.toml", file_of("a", site_a, "b", site_b, key_b));
    b().write("/etc/causeway/b.toml", file_of("b", site_b, "a", site_a, key_a));
    a().must("systemctl enable --now causewayd@a");
    b().must("systemctl enable --now causewayd@b");
    ASSERT_TRUE(meet());
  }
  /// The same with what the operator's guide has them type behind keys and files.
  void start_as_the_guide_says() {
    b_.emplace(sites_->space(At::GatewayB));
    const std::string make = "causeway-key generate /etc/causeway/gateway.key";
    const std::string key_a = a().must(make), key_b = b().must(make);
    a().write("/etc/causeway/gateway.toml", file_of("a", site_a, "b", site_b, key_b));
    b().write("/etc/causeway/gateway.toml", file_of("b", site_b, "a", site_a, key_a));
    for (Machine* each : {&a(), &b()}) {
      each->must("sed -i 's/\"[ab].key\"/\"gateway.key\"/' /etc/causeway/gateway.toml");
    }
    const auto blocks = docs::blocks_by(
        "installed_test", docs::read_document(CW_SOURCE_DIR, "control/guide/first-pair.md"));
    ASSERT_FALSE(blocks.empty());
    for (const docs::Block& block : blocks) {
      for (Machine* each : {&a(), &b()}) each->must(block.text);
    }
  }
  bool meet() {
    Pings pings(sites_->space(At::HostA), site_b.host);
    for (int i = 0; i < 30; ++i) {
      if (pings.ping(100, seconds(1))) return true;
    }
    return false;
  }

 private:
  static std::string make_key(const Machine& machine, const std::string& name) {
    const std::string file = "/etc/causeway/" + name + ".key";
    return machine.must("causeway-key generate " + file + " && chown causeway: " + file);
  }
  static std::string file_of(const std::string& name, const SiteAddresses& own,
                             const std::string& peer, const SiteAddresses& other,
                             const std::string& peer_key) {
    return "[site]\nname = \"" + name + "\"\nprivate_key_file = \"" + name +
           ".key\"\n[lan]\naddresses = [\"10.255.255." + (name == "a" ? "1" : "2") +
           "/32\"]\n[wan]\naddress = \"" + own.wan +
           "\"\nrate = \"190 Mbit/s\"\n[pair]\nrtt = \"25 ms\"\n[[peer]]\nname = \"" + peer +
           "\"\naddress = \"" + other.wan + "\"\nroutes = [\"" + other.prefix +
           "\"]\npublic_key = \"" + peer_key +
           "\"\n[[class]]\nname = \"all\"\nhold = \"2 s\"\nqueue = \"1 s\"\n";
  }

  static inline std::unique_ptr<Outcome> made_;
  std::optional<Sites> sites_;
  std::optional<Machine> a_, b_;
};

TEST_F(Installed, refuses_the_file_to_begin_with_until_each_value_is_there) {
  const std::string file = "/etc/causeway/gateway.toml";
  const Outcome check = a().run("causewayd --config " + file + " --check");
  EXPECT_EQ(check.status, 2);
  EXPECT_EQ(check.out, "");
  for (const char* key : {"site.name", "lan.addresses", "wan.rate", "pair.rtt", "peer.name",
                          "peer.address", "peer.routes", "peer.public_key"}) {
    EXPECT_TRUE(holds(check.err, std::string(": ") + key + " is yours to say: ")) << check.err;
  }
  EXPECT_TRUE(holds(check.err, "`causeway-key generate /etc/causeway/gateway.key` makes one"));
  EXPECT_EQ(std::ranges::count(check.err, '\n'), 9) << check.err;
  EXPECT_NE(a().run("systemctl start causewayd@gateway").status, 0);
  EXPECT_FALSE(holds(a().run("ip link show causeway0").out, "causeway0"));
  EXPECT_EQ(a().run("systemctl is-enabled causewayd@gateway").out, "disabled\n");
}

TEST_F(Installed, begins_as_the_guide_says) {
  start_as_the_guide_says();
  EXPECT_TRUE(meet());
}

TEST_F(Installed, has_a_page_and_completion_of_each_program) {
  std::istringstream names(CW_SHIPPED);
  for (std::string name; names >> name;) {
    const Outcome page = a().run("MAN_KEEP_STDERR=1 man --warnings " + name + " | head -n 4");
    EXPECT_TRUE(holds(page.out, name + " \u2014 ") || holds(page.out, name + " -")) << page.out;
    EXPECT_EQ(page.err, "") << name;
    EXPECT_TRUE(holds(a().run("whatis " + name).out, name)) << name;
    const std::string script = "/usr/share/bash-completion/completions/" + name;
    EXPECT_TRUE(holds(a().must("bash -c '. " + script + "; complete -p " + name + "'"), "-F"));
  }
}

TEST_F(Installed, carries_hosts_through_upgrades_of_both_sites) {
  start_both();
  TcpFile file(sites(), 500'000);
  int pings_sent = 0, pings_lost = 0;
  std::atomic<bool> is_over = false;
  std::thread pinging([&] {
    Pings pings(sites().space(At::HostA), site_b.host);
    for (; !is_over; ++pings_sent) pings_lost += pings.ping(100, milliseconds(100)) ? 0 : 1;
  });
  for (Machine* each : {&a(), &b()}) {
    const std::string pid = "systemctl show -P MainPID 'causewayd@*.service'";
    const std::string before = each->must(pid);
    each->must("apt-get install -y " + revisions + "2/causeway_*.deb");
    EXPECT_NE(each->must(pid), before) << "the new program runs";
    EXPECT_EQ(each->must("dpkg-query -W -f '${Version}' causeway"), "0.1.0-0causeway2");
    EXPECT_TRUE(holds(each->log(), " taken_over ")) << "its device and socket waited";
    std::this_thread::sleep_for(seconds(2));
  }
  is_over = true;
  pinging.join();
  const TcpFileCounts counts = file.finish(seconds(30));
  EXPECT_TRUE(counts.is_whole()) << counts.sent << " " << counts.received << counts.trouble;
  std::cout << pings_lost << " of " << pings_sent << " pings had no answer in 100 ms\n";
  EXPECT_LT(pings_lost, pings_sent / 4);
}

TEST_F(Installed, goes_on_with_the_old_program_where_the_new_one_refuses_the_file) {
  start_both();
  a().must("echo 'nonsense = 1' >>/etc/causeway/a.toml");
  const std::string pid = a().must("systemctl show -P MainPID causewayd@a");
  const std::string told = a().must("apt-get install -y " + revisions + "2/causeway_*.deb 2>&1");
  EXPECT_TRUE(holds(told, "causewayd@a.service goes on as it was")) << told;
  EXPECT_EQ(a().must("systemctl show -P MainPID causewayd@a"), pid);
  EXPECT_TRUE(meet());
}

TEST_F(Installed, leaves_what_an_administrator_wrote_and_nothing_else) {
  start_both();
  a().must("apt-get remove -y causeway");
  EXPECT_EQ(a().run("systemctl is-active causewayd@a").out, "inactive\n");
  EXPECT_EQ(a().must("ls /etc/causeway"), "a.key\na.toml\ngateway.toml");
  a().must("dpkg --purge causeway");
  EXPECT_EQ(a().must("ls /etc/causeway"), "a.key\na.toml");
  EXPECT_EQ(a().run("ls -d /var/lib/causeway /run/causeway").out, "");
  EXPECT_EQ(a().run("find /etc/systemd/system -name 'causewayd*'").out, "");
  EXPECT_TRUE(holds(a().must("getent passwd causeway"), "causeway")) << "its files are somebody's";
}

}  // namespace
}  // namespace cw::lab
