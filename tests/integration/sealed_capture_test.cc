// What crosses between two gateways that seal: recorded on the line, read by tshark with the
// project's dissector, before and after it was opened by the key log of one of them.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "control/key/secret_file.h"
#include "tests/integration/two_gateways.h"

namespace cw::lab {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr size_t recorded_bytes_min = 64 << 10;

class SealedCapture : public TwoGateways {
 protected:
  void SetUp() override {
    TwoGateways::SetUp();
    if (!IsSkipped()) seal_both();
  }

  /// A file of sites that have keys of their own in place of the pair's.
  static std::string with_keys(std::string text, const std::string& private_file,
                               const seal::Identity& peer) {
    const auto replace = [&](const std::string& from, const std::string& to) {
      const size_t at = text.find(from);
      ASSERT_NE(at, text.npos) << from;
      text.replace(at, from.size(), to);
    };
    replace("key_file = \"pair.key\"\n", "");
    replace("[site]\n", "[site]\nprivate_key_file = \"" + private_file + "\"\n");
    replace("[[peer]]\n", "[[peer]]\npublic_key = \"" + seal::text_of(peer.public_key) + "\"\n");
    return text;
  }

  void seal_both() {
    const GatewayFile file;
    prepare({}, file, {"--rtt", "10ms"});
    const seal::Identity of_a = seal::Identity::random(), of_b = seal::Identity::random();
    ASSERT_TRUE(key::write_secret_file(folder().path("a.key"), of_a.private_key));
    ASSERT_TRUE(key::write_secret_file(folder().path("b.key"), of_b.private_key));
    a().configure(with_keys(file.text(true, folder()), "a.key", of_b));
    b().configure(with_keys(file.text(false, folder()), "b.key", of_a));
  }

  /// What crosses, from before the gateways begin until many pings have
  /// gone there and back.
  void record() {
    Program capture(sites().namespace_of(At::GatewayA),
                    {"dumpcap", "-q", "-i", site_a.wan_interface, "-w", folder().path("sealed")});
    ASSERT_TRUE(capture.wait_for("File: ")) << capture.err_so_far();
    for (Gateway* each : {&a(), &b()}) each->start();
    for (Gateway* each : {&a(), &b()}) ASSERT_TRUE(each->wait_up()) << each->program().err_so_far();
    ASSERT_TRUE(meet());
    // Until some of it is in the file: what has crossed last is not written any more.
    Pings pings(sites().space(At::HostA), site_b.host);
    for (int i = 0; i < 500 && fs::file_size(folder().path("sealed")) < recorded_bytes_min; ++i) {
      EXPECT_TRUE(pings.ping(500, seconds(5)));
    }
    capture.signal(SIGINT);
    const Outcome recorded = capture.finish();
    ASSERT_EQ(recorded.status, 0) << recorded.err;
  }

  Outcome run(const Arguments& arguments) {
    return Program(sites().namespace_of(At::Between), arguments).finish();
  }
  /// How many packets of a capture are so.
  size_t count(const std::string& file, const std::string& filter) {
    const Outcome shown =
        run({"tshark", "-X", std::string("lua_script:") + CW_DISSECTOR, "-r", folder().path(file),
             "-Y", filter, "-T", "fields", "-e", "frame.number"});
    EXPECT_EQ(shown.status, 0) << shown.err;
    return static_cast<size_t>(std::ranges::count(shown.out, '\n'));
  }
};

TEST_F(SealedCapture, is_opened_by_the_key_log_and_by_nothing_else) {
  a().is_told({"--seal-key-log", folder().path("log")});
  ASSERT_NO_FATAL_FAILURE(record());
  EXPECT_TRUE(a().program().err_so_far().contains("KEYS_ARE_WRITTEN"));
  EXPECT_FALSE(b().program().err_so_far().contains("KEYS_ARE_WRITTEN"));
  struct stat about{};
  ASSERT_EQ(stat(folder().path("log").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777u, 0600u);

  const size_t sealed = count("sealed", "causeway.sealed.tag");
  EXPECT_GT(count("sealed", "causeway.handshake.type == 1"), 0u);
  EXPECT_GT(count("sealed", "causeway.handshake.type == 2"), 0u);
  EXPECT_GE(count("sealed", "causeway.sealed.tag && infiniband.reth"), 10u) << "pings, and answers";
  EXPECT_EQ(count("sealed", "causeway.record || causeway.slot.seq || icmp.type in {0, 8}"), 0u);
  EXPECT_EQ(count("sealed", "_ws.lua.error || causeway.problem"), 0u);

  const Outcome opened = run({CW_KEY_PROGRAM, "open", folder().path("sealed"), "--key-log",
                              folder().path("log"), "--out", folder().path("opened"), "--json"});
  ASSERT_EQ(opened.status, 0) << opened.err;
  const Json counts = Json::parse(opened.out);
  tell(counts.dump());
  EXPECT_EQ(number(counts, "opened"), sealed);
  EXPECT_EQ(number(counts, "without_key"), 0u);
  EXPECT_EQ(number(counts, "cut"), 0u);
  EXPECT_EQ(count("opened", "causeway.sealed.tag"), 0u);
  EXPECT_GE(count("opened",
                  "causeway.frame && icmp.type == 8 && ip.src == 10.1.0.2 && "
                  "ip.dst == 10.2.0.2"),
            5u);
  EXPECT_GE(count("opened",
                  "causeway.frame && icmp.type == 0 && ip.src == 10.2.0.2 && "
                  "ip.dst == 10.1.0.2"),
            5u);
  EXPECT_GT(count("opened", "causeway.record == \"HELLO\""), 0u);
  EXPECT_GT(count("opened", "causeway.record == \"CLEAR_TO_SEND\""), 0u);
  EXPECT_EQ(count("opened", "_ws.lua.error || _ws.malformed || causeway.problem"), 0u);
}

TEST_F(SealedCapture, has_no_keys_written_where_others_could_read_them) {
  const auto refusal = [&](const std::string& config, const std::string& log) {
    const Outcome outcome = Program(sites().namespace_of(At::GatewayA),
                                    {CW_DAEMON_PROGRAM, "--config", folder().path(config),
                                     "--seal-key-log", folder().path(log)})
                                .finish();
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    return outcome.err;
  };
  folder().write("open", "");
  chmod(folder().path("open").c_str(), 0644);
  EXPECT_TRUE(refusal("a.toml", "open").contains("has mode 0644, and others may open it"));
  a().configure(GatewayFile());
  EXPECT_TRUE(refusal("a.toml", "log").contains("has no key, and seals nothing"));
}

}  // namespace
}  // namespace cw::lab
