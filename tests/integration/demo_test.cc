// causeway-demo from its command line to its figures, and what is left of it.
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "control/json/json.h"
#include "dataplane/kernel/owned_fd.h"
#include "tests/demo/gateways.h"
#include "tests/docs/document.h"
#include "tests/docs/runners.h"
#include "tests/lab/space.h"

namespace cw::demo {
namespace {

// LeakSanitizer looks at a program from a helper process, which it cannot for one that lives in a
// PID namespace of its own: it then ends with an error instead.
[[maybe_unused]] const int is_leak_check_off = setenv("ASAN_OPTIONS", "detect_leaks=0", 0);

class DemoRun : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = lab::obstacle();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    here_.emplace(lab::Space::make());
  }
  lab::Outcome run(lab::Arguments options) const {
    options.insert(options.begin(), CW_DEMO_PROGRAM);
    return here_->run(options);
  }
  std::optional<lab::Space> here_;
};

std::set<std::string> keys_of(const Json& json) {
  std::set<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.insert(key);
  return keys;
}

bool holds_all(const Json& json, const std::set<std::string>& wanted) {
  const std::set<std::string> keys = keys_of(json);
  return std::ranges::includes(keys, wanted);
}

/// What the readme has one type, without `./demo`, and shorter than that would be.
lab::Arguments options_of_readme() {
  const auto blocks = docs::blocks_by("demo_test", docs::read_document(CW_SOURCE_DIR, "README.md"));
  EXPECT_EQ(blocks.size(), 1u);
  lab::Arguments options;
  for (const docs::Block& block : blocks) {
    std::istringstream words(docs::commands_of(block).at(0));
    for (std::string word; words >> word;) options.push_back(word);
  }
  EXPECT_EQ(options.at(0), "./demo");
  options.erase(options.begin());
  const lab::Arguments shorter = {"--seconds", "3",      "--warm-up", "1",     "--file",
                                  "4MiB",      "--rate", "50Mbit/s",  "--json"};
  options.insert(options.end(), shorter.begin(), shorter.end());
  return options;
}

TEST_F(DemoRun, measures_with_and_without_gateways_and_every_byte_is_right) {
  const lab::Outcome outcome = run(options_of_readme());
  ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
  const Json it = Json::parse(outcome.out);
  EXPECT_EQ(it["bytes_wrong"], 0);
  EXPECT_TRUE(holds_all(it, {"link", "without", "with", "bytes_wrong"})) << it;
  EXPECT_TRUE(holds_all(it["without"], {"tcp_mbps", "udp_loss"})) << it;
  EXPECT_TRUE(holds_all(it["with"], {"policy", "tcp_mbps", "udp_loss", "added_us_p50",
                                     "added_us_p99", "repaired", "given_up"}))
      << it;
  EXPECT_EQ(it["with"]["policy"], "selective_repeat");
  ASSERT_EQ(it["with"]["swaps"].size(), 3u);
  for (const Json& swap : it["with"]["swaps"]) {
    EXPECT_GT(swap["sent"], 1000) << swap;
    EXPECT_LT(swap["lost"].get<double>(), swap["sent"].get<double>() * 0.005) << swap;
  }
  EXPECT_EQ(it["with"]["swaps"][2]["to"], "selective_repeat");
  EXPECT_EQ(it["with"]["file_whole"], true);
  // The link loses one in a hundred, which the gateways repair.
  EXPECT_GT(it["without"]["udp_loss"], 0.005);
  EXPECT_GT(it["with"]["repaired"], 0);
  // None is lost but by frames that a busy machine made too old.
  const auto count = [&it](const char* half, const char* key) {
    return it[half][key].get<uint64_t>();
  };
  EXPECT_GE(count("with", "messages_whole") + count("with", "given_up"),
            count("with", "messages_posted"));
  EXPECT_LT(it["without"]["messages_whole"], it["without"]["messages_posted"]);
}

#ifdef CW_HAVE_DPDK
TEST_F(DemoRun, measures_gateways_over_dpdk_and_every_byte_is_right) {
  const lab::Outcome outcome = run({"--wan", "dpdk", "--seconds", "3", "--warm-up", "1", "--file",
                                    "4MiB", "--rate", "50Mbit/s", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
  const Json it = Json::parse(outcome.out);
  EXPECT_EQ(it["bytes_wrong"], 0);
  EXPECT_EQ(it["with"]["wan"], "dpdk");
  EXPECT_EQ(it["with"]["file_whole"], true);
  EXPECT_GT(it["with"]["repaired"], 0);
}
#endif

#ifdef CW_HAVE_XDP
TEST_F(DemoRun, measures_gateways_over_xdp_and_every_byte_is_right) {
  const lab::Outcome outcome = run({"--wan", "xdp", "--lan", "xdp", "--seconds", "3", "--warm-up",
                                    "1", "--file", "4MiB", "--rate", "50Mbit/s", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
  const Json it = Json::parse(outcome.out);
  EXPECT_EQ(it["bytes_wrong"], 0);
  EXPECT_EQ(it["with"]["wan"], "xdp");
  EXPECT_EQ(it["with"]["lan"], "xdp");
  EXPECT_EQ(it["with"]["file_whole"], true);
  EXPECT_GT(it["with"]["repaired"], 0);
}
#endif

/// Of all phases, the first second of each included.
uint64_t sum_of(const Json& run, const char* key) {
  uint64_t sum = 0;
  for (const Json& phase : run["phases"]) {
    sum += phase[key].get<uint64_t>() + phase["settling"][key].get<uint64_t>();
  }
  return sum;
}

/// Packets that a busy machine lost, or made too old.
uint64_t lost_by_the_machine(const Json& run) {
  uint64_t lost = 0;
  for (const char* key : {"given_up", "lost_at_sockets", "lost_at_interfaces"}) {
    lost += run[key].get<uint64_t>();
  }
  for (const char* reason : {"wan_queue_full", "wan_queue_codel", "wan_queue_old",
                             "wan_places_full", "lan_queue_full", "hold_memory", "frame_late"}) {
    lost += run["drops"].value(reason, uint64_t{0});
  }
  return lost;
}

TEST_F(DemoRun, a_line_that_changes_is_met_by_three_policies_each_in_all_phases) {
  const lab::Outcome outcome = run({"--wander", "--policy", "hybrid", "--seconds", "2", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
  const Json it = Json::parse(outcome.out);
  EXPECT_EQ(it["datagrams_wrong"], 0);
  std::vector<std::string> policies;
  for (const Json& each : it["runs"]) {
    policies.push_back(each["policy"].get<std::string>());
    std::vector<std::string> phases;
    for (const Json& phase : each["phases"]) {
      phases.push_back(phase["phase"].get<std::string>());
      EXPECT_GT(phase["transfers"], 0) << phase;
      EXPECT_GT(phase["settling"]["transfers"], 0) << phase;
      EXPECT_GT(phase["wan_per_host_byte"], 0) << phase;
    }
    EXPECT_EQ(phases, (std::vector<std::string>{"calm", "bad", "better", "far"}));
    const Json& calm = each["phases"][0];
    EXPECT_GE(calm["whole"].get<uint64_t>() + lost_by_the_machine(each),
              calm["transfers"].get<uint64_t>())
        << each;
    EXPECT_TRUE(each["decisions"].is_array() && each["decisions"].empty()) << each;
  }
  EXPECT_EQ(policies, (std::vector<std::string>{"hybrid", "selective_repeat", "erasure"}));
  // The line has lost packets, which one policy asks for and others repair unasked.
  EXPECT_GT(sum_of(it["runs"][0], "repairs"), 0);
  EXPECT_GT(sum_of(it["runs"][1], "resends"), 0);
  EXPECT_EQ(sum_of(it["runs"][1], "repairs"), 0);
  EXPECT_GT(sum_of(it["runs"][2], "repairs"), 0);
}

/// What a browser of this machine gets there.
std::string answer_at(const lab::Space& space, uint16_t port, const std::string& question) {
  const OwnedFd fd(space.socket(AF_INET, SOCK_STREAM));
  const sockaddr_in name = lab::socket_name("127.0.0.1", port);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) return {};
  send(fd.get(), question.data(), question.size(), MSG_NOSIGNAL);
  std::string answer;
  char bytes[4096];
  for (ssize_t count; (count = recv(fd.get(), bytes, sizeof(bytes), 0)) > 0;) {
    answer.append(bytes, static_cast<size_t>(count));
  }
  return answer;
}

Json json_of(const std::string& answer) {
  return Json::parse_or_null(answer.substr(std::min(answer.find("\r\n\r\n"), answer.size())));
}

TEST_F(DemoRun, a_page_is_there_from_which_its_line_is_changed) {
  constexpr uint16_t port = 8098;
  lab::Program program(here_->fd(), {CW_DEMO_PROGRAM, "--page", "--port", std::to_string(port),
                                     "--seconds", "60", "--rate", "100Mbit/s"});
  ASSERT_TRUE(program.wait_for("the page of site A's gateway is there")) << program.err_so_far();
  EXPECT_EQ(program.out_so_far(), "http://127.0.0.1:8098/\n");
  const auto get = [&](const std::string& path, const std::string& host = "127.0.0.1:8098") {
    return answer_at(*here_, port, "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  };
  const auto post = [&](const std::string& body, const std::string& more) {
    return answer_at(*here_, port,
                     "POST /demo/line HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                     "application/json\r\nContent-Length: " +
                         std::to_string(body.size()) + "\r\n" + more + "\r\n" + body);
  };
  EXPECT_NE(get("/").find("Location: /?line\r\n"), std::string::npos);
  EXPECT_NE(get("/?line").find("<!doctype html>"), std::string::npos);
  EXPECT_EQ(json_of(get("/v1/who"))["may_order"], true);
  EXPECT_EQ(json_of(get("/v1/who", "evil.example"))["error"]["code"], "unknown_host");
  EXPECT_EQ(json_of(get("/demo/line", "evil.example"))["error"]["code"], "unknown_host");
  EXPECT_EQ(json_of(get("/demo/line"))["loss"], 0.01);
  const std::string worse = R"({"loss": 0.2, "burst": 2, "rtt_ms": 30})";
  EXPECT_EQ(json_of(post(worse, ""))["error"]["code"], "no_header");
  EXPECT_EQ(json_of(post(worse, "X-Causeway: 1\r\n"))["loss"], 0.2);
  const auto end = lab::Time::now() + std::chrono::seconds(30);
  const auto loss = [&] {
    const Json paths = json_of(get("/v1/paths"));
    return paths.is_object() ? paths["paths"][0]["loss_there"].get<double>() : 0;
  };
  while (loss() < 0.1 && lab::Time::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_GT(loss(), 0.1) << "of the gateway's own counting";
  program.signal(SIGINT);
  const lab::Outcome outcome = program.finish();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(DemoRun, says_what_is_wrong_with_its_options_and_its_gateways) {
  const lab::Outcome options = run({"--loss", "much"});
  EXPECT_EQ(options.status, 2);
  EXPECT_NE(options.err.find("--loss: \"much\" is not a share"), std::string::npos) << options.err;
  const lab::Outcome wan = run({"--wan", "tin"});
  EXPECT_EQ(wan.status, 2);
  EXPECT_NE(wan.err.find("--wan: \"tin\" is no port; udp, dpdk, xdp and verbs are"),
            std::string::npos)
      << wan.err;
  const lab::Outcome rdma = run({"--rdma", "--file", "1kB"});
  EXPECT_EQ(rdma.status, 2);
  EXPECT_NE(rdma.err.find("--file has no meaning with --rdma"), std::string::npos) << rdma.err;
  const lab::Outcome guest = run({"--rdma", "--guest", "/no/such/folder"});
  EXPECT_EQ(guest.status, 3);
  EXPECT_NE(guest.err.find("virtual hosts"), std::string::npos) << guest.err;
  const lab::Outcome policy = run({"--seconds", "1", "--warm-up", "0", "--file", "1kB", "--loss",
                                   "0%", "--policy", "no_such_policy"});
  EXPECT_EQ(policy.status, 2);
  EXPECT_NE(policy.err.find("no_such_policy"), std::string::npos) << policy.err;
}

TEST_F(DemoRun, shows_its_options) {
  const lab::Outcome outcome = run({"--help"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find("./demo --rtt 100ms"), std::string::npos) << outcome.out;
}

/// The processes that run one of our programs as the demo starts them.
int gateways_alive() {
  int count = 0;
  FILE* const list = popen("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '", "r");
  std::string text;
  for (int each; (each = fgetc(list)) != EOF;) text += static_cast<char>(each);
  pclose(list);
  const std::string ours = std::string(CW_DEMO_PROGRAM) + " --seconds 3599";
  for (size_t at = 0; (at = text.find(ours, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST_F(DemoRun, is_gone_with_all_its_processes_when_it_is_killed) {
  lab::Program program(here_->fd(), {CW_DEMO_PROGRAM, "--seconds", "3599"});
  for (int i = 0; i < 1500 && gateways_alive() < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  // The one that is seen, the one inside, and whoever it has begun to turn into another program.
  EXPECT_GE(gateways_alive(), 2);
  program.signal(SIGKILL);
  program.finish();
  for (int i = 0; i < 1500 && gateways_alive() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(gateways_alive(), 0);
}

/// The first child of a process; 0 while it has none.
pid_t child_of(pid_t parent) {
  const std::string number = std::to_string(parent);
  pid_t child = 0;
  std::ifstream("/proc/" + number + "/task/" + number + "/children") >> child;
  return child;
}

TEST_F(DemoRun, says_why_when_it_ends_without_figures) {
  lab::Program ended(here_->fd(), {CW_DEMO_PROGRAM, "--seconds", "3599"});
  for (int i = 0; i < 500 && gateways_alive() < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ended.signal(SIGTERM);
  const lab::Outcome outcome = ended.finish();
  EXPECT_EQ(outcome.status, 128 + SIGTERM);
  EXPECT_NE(outcome.err.find("ended by SIGTERM"), std::string::npos) << outcome.err;

  // As the kernel does when memory is short.
  lab::Program killed(here_->fd(), {CW_DEMO_PROGRAM, "--seconds", "3599"});
  pid_t inside = 0;
  for (int i = 0; i < 500 && (inside = child_of(killed.pid())) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_GT(inside, 0);
  kill(inside, SIGKILL);
  const lab::Outcome lost = killed.finish();
  EXPECT_EQ(lost.status, 128 + SIGKILL);
  EXPECT_NE(lost.err.find("killed before it was done"), std::string::npos) << lost.err;
}

}  // namespace
}  // namespace cw::demo
