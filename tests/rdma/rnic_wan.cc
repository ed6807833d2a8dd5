#include "tests/rdma/rnic_wan.h"

namespace cw::lab {
namespace {

/// What a queue of an emulated machine holds while that stands still, as it may for a second: at
/// 100 Mbit/s one was without a receive request seven times.
constexpr const char* rate = "20 Mbit/s";

}  // namespace

std::string rows_of(const Inside& own, const Inside& other, const std::string& site,
                    const std::string& wan, const std::string& peer) {
  const InsideFile file{
      .rtt = "20 ms",
      .rate = rate,
      .mtu = wan_mtu,
      .site = site,
      .lan = "mtu = " + std::to_string(wan_mtu - 100) + "\naddresses = [\"" + own.lan + "/24\"]\n",
      .wan = wan + "paths = 2\n",
      .peer = peer,
      .classes =
          "[[class]]\nname = \"all\"\npolicy = \"hybrid\"\nqueue = \"500 ms\"\n"
          "hold = \"1 s\"\n"};
  return file.text(own, other);
}

std::string start_gateway(const Inside& own, const Inside& other) {
  return start_lines(CW_DAEMON_PROGRAM, rows_of(own, other, site_rows, rnic_rows));
}

std::string wait_up() {
  return "for ((i = 0; i < 300; ++i)); do grep -qs 'info up' gw.log && break; sleep 0.1; done\n"
         "grep -q 'info up' gw.log || { cat gw.log >&2; exit 9; }\n";
}

std::string with_gateway(const Inside& own, const Inside& other, const std::string& then) {
  return start_gateway(own, other) + wait_up() + "(set -e\n" + then +
         "\n)\nended=$?\nsleep 1\ncp status.json status.last; kill $gateway; wait $gateway\n"
         "cat gw.log >&2\ncat status.last\nexit $ended\n";
}

Json status_of(const Outcome& outcome) {
  const size_t begin = outcome.out.find("{\n");
  return begin == std::string::npos ? Json() : Json::parse_or_null(outcome.out.substr(begin));
}

void RnicWan::expect_sound(const Json& status) {
  for (const Json& one : status["classes"]) EXPECT_EQ(one["received"]["missed"], 0) << one.dump();
  EXPECT_EQ(status["wan"].value("tx_lost", 0), 0) << "which not every port counts";
}

void RnicWan::expect_sound_rnic(const Json& status) {
  expect_sound(status);
  const Json& wan = status["wan"];
  EXPECT_EQ(wan.value("path_mtu", 0), wan_mtu < 4200 ? 1024 : 4096) << wan.dump();
  for (const char* const count : {"queues_broken", "rx_starved", "tx_lost", "windows_refused"}) {
    EXPECT_EQ(wan.value(count, -1), 0) << count << " of " << wan.dump();
  }
}

}  // namespace cw::lab
