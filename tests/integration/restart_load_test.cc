// A gateway is restarted again and again under datagrams both ways and TCP. Nothing here depends on
// time: how long the silence was is printed, and asked about by bench/e2e/restarts.
#include <algorithm>
#include <array>
#include <cstdio>

#include "tests/integration/restarts_of_a_gateway.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Way {
  const char* name;
  int signal;
  unsigned restarts;
  size_t cores;
};

class Restarts : public RestartsOfAGateway, public testing::WithParamInterface<Way> {
 protected:
  void restart_often() {
    for (unsigned i = 0; i < GetParam().restarts; ++i) {
      const auto begin = Time::now();
      a().program().signal(GetParam().signal);
      const Outcome outcome = a().program().finish();
      if (GetParam().signal == SIGTERM) {
        ASSERT_EQ(outcome.status, 0) << outcome.err;
      }
      a().start();
      ASSERT_TRUE(a().program().wait_for(" up peer=")) << a().program().err_so_far();
      ASSERT_NE(a().program().err_so_far().find(" taken_over "), std::string::npos)
          << a().program().err_so_far();
      ASSERT_TRUE(out_->wait_for_arrival(Time::now(), seconds(20)));
      ASSERT_TRUE(back_->wait_for_arrival(Time::now(), seconds(20)));
      silences_.push_back(std::max(out_->longest_silence(begin, Time::now()),
                                   back_->longest_silence(begin, Time::now())));
    }
  }
  void tell_silences() {
    std::ranges::sort(silences_);
    const auto ms = [](Time::duration time) {
      return std::to_string(std::chrono::duration_cast<milliseconds>(time).count()) + " ms";
    };
    tell(std::to_string(silences_.size()) + " restarts, silence " + ms(silences_.front()) + " to " +
         ms(silences_.back()) + ", median " + ms(silences_[silences_.size() / 2]));
  }

  std::optional<Datagrams> out_, back_;
  std::vector<Time::duration> silences_;
};

INSTANTIATE_TEST_SUITE_P(, Restarts,
                         testing::Values(Way{"by_order", SIGTERM, CW_RESTARTS, 1},
                                         Way{"by_kill_9", SIGKILL, CW_RESTARTS / 2, 1},
                                         Way{"of_several_cores", SIGTERM, CW_RESTARTS / 4, 2}),
                         [](const auto& it) { return it.param.name; });

TEST_P(Restarts, spoil_no_byte_and_tell_no_host_that_nobody_is_there) {
  GatewayFile file;
  file.rtt = "10 ms";
  file.shards = GetParam().cores;
  file.links = static_cast<int>(GetParam().cores);
  build_kept(file, {"--rtt", "10ms", "--rate", "200Mbit/s"});
  const std::string device = device_text();
  const auto kept = store().names();
  EXPECT_EQ(kept.size(), 2 * GetParam().cores);
  out_.emplace(sites(), DatagramsOptions{.bytes = 300, .per_second = 1000});
  back_.emplace(sites(), DatagramsOptions{.from = At::HostB,
                                          .to = At::HostA,
                                          .source = site_b.host,
                                          .target = site_a.host,
                                          .udp_port = 7001,
                                          .bytes = 300,
                                          .per_second = 1000});
  TcpFile tcp(sites(), 1'000'000);
  const std::array places = {At::HostA, At::HostB, At::GatewayB};
  std::array<uint64_t, places.size()> before{};
  for (size_t i = 0; i < places.size(); ++i) before[i] = unreachables(places[i]);
  out_->start();
  back_->start();
  ASSERT_NO_FATAL_FAILURE(restart_often());
  tell_silences();
  const TcpFileCounts bytes = tcp.finish(seconds(60));
  EXPECT_TRUE(bytes.is_whole()) << bytes.received << " of " << bytes.sent << bytes.trouble;
  for (Datagrams* each : {&*out_, &*back_}) {
    each->stop();
    each->settle(seconds(1));
    tell(text_of(each->counts()));
    expect_sound(each->counts());
    EXPECT_EQ(each->counts().refused, 0u);
  }
  for (size_t i = 0; i < places.size(); ++i) EXPECT_EQ(unreachables(places[i]), before[i]) << i;
  EXPECT_EQ(device_text(), device);
  EXPECT_EQ(store().names(), kept);
}

}  // namespace
}  // namespace cw::lab
