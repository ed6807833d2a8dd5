// causeway-wan between two hosts: what it is told is what they see, and its accounts add up.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "tests/lab/lab.h"

#include "control/json/json.h"

namespace cw::lab {
namespace {

using Time = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint16_t udp_port = 7000;

/// A UDP socket on one host that talks to the other.
class Talker {
 public:
  Talker(const Lab& lab, Place place) : fd_(lab.socket(place, SOCK_DGRAM)) {
    const auto own = socket_name(place == HostA ? address_of_a : address_of_b, udp_port);
    const auto other = socket_name(place == HostA ? address_of_b : address_of_a, udp_port);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&own), sizeof(own)), 0);
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&other), sizeof(other)), 0);
    set(SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20);
  }
  ~Talker() { close(fd_); }
  Talker(const Talker&) = delete;
  Talker& operator=(const Talker&) = delete;

  void set(int level, int option, int value) {
    EXPECT_EQ(setsockopt(fd_, level, option, &value, sizeof(value)), 0);
  }
  void send_number(uint32_t number, size_t bytes = 100) {
    std::vector<uint8_t> packet(bytes);
    std::memcpy(packet.data(), &number, sizeof(number));
    EXPECT_EQ(::send(fd_, packet.data(), bytes, 0), static_cast<ssize_t>(bytes));
  }
  /// Numbers 0 to count - 1, about 20 in a millisecond.
  void send_numbers(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      send_number(i);
      if (i % 20 == 19) std::this_thread::sleep_for(milliseconds(1));
    }
  }
  /// The next packet's number; nothing when none comes in time.
  std::optional<uint32_t> next_number(milliseconds most = milliseconds(2000)) {
    const timeval timeout{most.count() / 1000, most.count() % 1000 * 1000};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    uint32_t number = 0;
    if (recv(fd_, &number, sizeof(number), MSG_TRUNC) < 0) return std::nullopt;
    return number;
  }
  std::vector<uint32_t> drain() {
    std::vector<uint32_t> numbers;
    while (const auto number = next_number()) numbers.push_back(*number);
    return numbers;
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

class Wan : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = obstacle();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    lab_.emplace();
  }

  /// Starts the emulator and waits until it carries frames.
  void start(Arguments options) {
    Arguments arguments{CW_WAN_PROGRAM, "ma", "mb", "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    wan_.emplace(lab_->namespace_of(Middle), arguments);
    ASSERT_TRUE(wan_->wait_for("ready")) << wan_->finish().err;
    a_.emplace(*lab_, HostA);
    b_.emplace(*lab_, HostB);
  }

  /// Ends the emulator; checks what holds for every report and returns it.
  Json stop() {
    wan_->signal(SIGTERM);
    const Outcome outcome = wan_->finish();
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const Json report = Json::parse(outcome.out);
    for (const char* name : {"a_to_b", "b_to_a"}) {
      const Json& it = report[name];
      const Json& failed = it["failed"];
      const auto lost_here = failed["too_long"].get<uint64_t>() +
                             failed["no_memory"].get<uint64_t>() +
                             failed["refused"].get<uint64_t>();
      EXPECT_EQ(it["received"].get<uint64_t>() + it["duplicated"].get<uint64_t>(),
                it["forwarded"].get<uint64_t>() + it["lost"]["total"].get<uint64_t>() +
                    it["held"].get<uint64_t>() + lost_here)
          << it;
      EXPECT_EQ(failed["missed"], 0);
      EXPECT_EQ(lost_here, 0u);
    }
    return report;
  }

  std::optional<Lab> lab_;
  std::optional<Program> wan_;
  std::optional<Talker> a_, b_;
};

TEST_F(Wan, carries_everything_in_order_when_told_nothing) {
  start({});
  constexpr uint32_t count = 10'000;
  a_->send_numbers(count);
  const auto numbers = b_->drain();
  ASSERT_EQ(numbers.size(), count);
  EXPECT_TRUE(std::ranges::is_sorted(numbers));
  const Json report = stop();
  EXPECT_GE(report["a_to_b"]["forwarded"], count);
  EXPECT_EQ(report["a_to_b"]["lost"]["total"], 0);
  EXPECT_EQ(report["a_to_b"]["held"], 0);
  EXPECT_GT(report["lateness_us"]["p50"], 0.0);
}

TEST_F(Wan, delays_a_round_trip_by_twice_the_delay) {
  start({"--delay", "10ms"});
  auto best = milliseconds(1000) + Time::duration();
  // A busy machine adds to most of them, and not to all.
  for (uint32_t i = 0; i < 20 || (i < 500 && best >= milliseconds(25)); ++i) {
    const auto sent = Time::now();
    a_->send_number(i);
    ASSERT_EQ(b_->next_number(), i);
    b_->send_number(i);
    ASSERT_EQ(a_->next_number(), i);
    best = std::min(best, Time::now() - sent);
    EXPECT_GE(Time::now() - sent, milliseconds(20));
  }
  EXPECT_LT(best, milliseconds(25));
  EXPECT_EQ(stop()["link"]["a_to_b"]["delay"], "10ms");
}

TEST_F(Wan, loses_the_share_it_is_told_and_the_same_packets_under_the_same_seed) {
  constexpr uint32_t count = 10'000;
  std::vector<uint32_t> numbers[2];
  for (auto& each : numbers) {
    start({"--a-to-b.loss", "5%", "--seed", "7"});
    a_->send_numbers(count);
    each = b_->drain();
    const Json report = stop();
    EXPECT_EQ(report["a_to_b"]["lost"]["uniform"], count - each.size());
    EXPECT_EQ(report["b_to_a"]["lost"]["total"], 0);
    a_.reset();
    b_.reset();
  }
  EXPECT_NEAR(static_cast<double>(numbers[0].size()), 9500, 100);  // over four deviations
  EXPECT_EQ(numbers[0], numbers[1]);
}

TEST_F(Wan, duplicates_and_damages) {
  constexpr uint32_t count = 4'000;
  start({"--a-to-b.duplicate", "10%", "--b-to-a.corrupt", "100%"});
  a_->send_numbers(count);
  b_->send_numbers(100);
  const auto numbers = b_->drain();
  EXPECT_EQ(std::set(numbers.begin(), numbers.end()).size(), count);
  EXPECT_NEAR(static_cast<double>(numbers.size()), 4400, 100);
  // A bit of the Ethernet header that nobody looks at may be the one; the rest is found out.
  EXPECT_LT(a_->drain().size(), 20u);
  const Json report = stop();
  EXPECT_EQ(report["a_to_b"]["duplicated"], numbers.size() - count);
  EXPECT_GE(report["b_to_a"]["corrupted"], 100);
}

TEST_F(Wan, changes_while_it_runs) {
  const std::string path = testing::TempDir() + "wan_test_control";
  start({"--rtt", "2ms", "--control", path});
  const auto set = [&](const Arguments& words) {
    Arguments arguments{CW_WAN_PROGRAM, "set", path};
    arguments.insert(arguments.end(), words.begin(), words.end());
    return lab_->run(HostA, arguments);  // a path knows no namespaces
  };
  const auto arrivals = [&] {
    a_->send_numbers(200);
    return b_->drain().size();
  };
  EXPECT_EQ(arrivals(), 200u);
  EXPECT_EQ(set({"a-to-b.loss=100%"}).status, 0);
  EXPECT_EQ(arrivals(), 0u);
  const Outcome refused = set({"loss=0%", "delay=soon"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("delay"), std::string::npos) << refused.err;
  EXPECT_EQ(arrivals(), 0u);  // a line fails as a whole
  EXPECT_EQ(set({"loss=0%", "duplicate=100%,4"}).status, 0);
  EXPECT_EQ(arrivals(), 800u);
  EXPECT_EQ(set({}).out,
            "a-to-b.delay=1000000ns\na-to-b.duplicate=100%,4\na-to-b.loss=0%\n"
            "b-to-a.delay=1000000ns\nb-to-a.duplicate=100%,4\nb-to-a.loss=0%\n");
  const Json report = stop();
  EXPECT_EQ(report["link"]["changes"], 2);
  EXPECT_EQ(report["a_to_b"]["lost"]["uniform"], 400);
  EXPECT_EQ(access(path.c_str(), F_OK), -1);
}

TEST_F(Wan, passes_nothing_while_the_link_is_dead) {
  start({"--blackout", "0s,6s"});
  a_->send_numbers(100);
  EXPECT_EQ(b_->next_number(milliseconds(100)), std::nullopt);
  std::this_thread::sleep_for(milliseconds(6000));
  a_->send_number(1000);
  EXPECT_EQ(b_->next_number(), 1000u);
  EXPECT_EQ(stop()["a_to_b"]["lost"]["blackout"], 100);
}

TEST_F(Wan, paces_to_the_rate_and_drops_and_marks_at_the_queue) {
  start({"--rate", "8Mbit/s", "--queue", "50ms", "--a-to-b.mark", "10ms"});
  a_->set(IPPROTO_IP, IP_TOS, 2);  // ECN-capable
  constexpr uint64_t all = 2000;
  const auto sent = Time::now();
  for (uint32_t i = 0; i < all; ++i) a_->send_number(i, 958);  // frames of 1000 bytes: 1 ms each
  uint64_t count = 0;
  Time::duration last{};
  for (; b_->next_number(); ++count) last = Time::now() - sent;
  // The queue takes 50 at once, and more if this process was interrupted while it sent.
  EXPECT_GE(count, 50u);
  EXPECT_LT(count, all);
  EXPECT_GE(last, milliseconds(count));
  const Json it = stop()["a_to_b"];
  EXPECT_EQ(it["lost"]["queue_full"], all - count);
  EXPECT_GE(it["marked"], 20);
  EXPECT_LE(it["marked"], count - 10);  // the first ones did not wait for so long
  EXPECT_LE(it["queue_max_us"], 50'000.0);
  EXPECT_GT(it["queue_max_us"], 40'000.0);
}

TEST_F(Wan, lets_packets_pass_others_and_large_ones_vanish) {
  start({"--delay", "1ms", "--a-to-b.reorder", "10%,5ms", "--b-to-a.mtu", "1000"});
  a_->send_numbers(2000);
  const auto numbers = b_->drain();
  EXPECT_EQ(numbers.size(), 2000u);
  EXPECT_FALSE(std::ranges::is_sorted(numbers));
  b_->send_number(1, 972);  // with IP and UDP exactly 1000 bytes
  b_->send_number(2, 973);
  b_->send_number(3, 100);
  EXPECT_EQ(a_->drain(), (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(stop()["b_to_a"]["lost"]["path_mtu"], 1);
}

TEST_F(Wan, finishes_checksums_that_hosts_left_to_their_cards) {
  ASSERT_EQ(lab_->run(HostA, {"ethtool", "-K", "va", "tx", "on", "tso", "off"}).status, 0);
  start({"--rtt", "2ms"});
  const int listener = lab_->socket(HostB, SOCK_STREAM);
  const int client = lab_->socket(HostA, SOCK_STREAM);
  const auto to = socket_name(address_of_b, udp_port);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  const timeval patience{20, 0};
  setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  close(client);
  close(listener);
  EXPECT_GT(stop()["a_to_b"]["checksums_finished"], 0);
}

TEST_F(Wan, turns_offloads_off_and_on_again) {
  const auto has_gro = [&] {
    const std::string shown = lab_->run(Middle, {"ethtool", "-k", "ma"}).out;
    return shown.find("generic-receive-offload: on") != std::string::npos;
  };
  ASSERT_EQ(lab_->run(Middle, {"ethtool", "-K", "ma", "gro", "on"}).status, 0);
  start({"--fix-offloads"});
  EXPECT_FALSE(has_gro());
  stop();
  EXPECT_TRUE(has_gro());
  Program warned(lab_->namespace_of(Middle), {CW_WAN_PROGRAM, "ma", "mb", "--seconds", "0.1"});
  EXPECT_NE(warned.finish().err.find("ethtool -K ma gro off"), std::string::npos);
}

TEST_F(Wan, ends_by_itself_and_names_what_is_not_there) {
  Program timed(lab_->namespace_of(Middle), {CW_WAN_PROGRAM, "ma", "mb", "--seconds", "0.2"});
  const Outcome ended = timed.finish();
  EXPECT_EQ(ended.status, 0);
  EXPECT_NE(ended.out.find("A to B: received 0"), std::string::npos) << ended.out;
  const Outcome missing = lab_->run(Middle, {CW_WAN_PROGRAM, "ma", "mc"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.err.find("no interface \"mc\""), std::string::npos) << missing.err;
}

}  // namespace
}  // namespace cw::lab
