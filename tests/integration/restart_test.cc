// What a gateway makes of descriptors that its service manager has kept: it takes what fits its
// file, and lets go of everything else.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/integration/restarts_of_a_gateway.h"

namespace cw::lab {
namespace {

using Names = std::vector<std::string>;

const Names of_one_core = {"lan-0-of-1", "wan-0-of-1"};
const Names of_two_cores = {"lan-0-of-2", "lan-1-of-2", "wan-0-of-2", "wan-1-of-2"};

class Restart : public RestartsOfAGateway {
 protected:
  void build_kept() {
    RestartsOfAGateway::build_kept({}, {"--rtt", "10ms", "--rate", "200Mbit/s"});
    text_ = GatewayFile{}.text(true, folder());
  }
  /// Another life, by this file, until its link is up and packets cross.
  void live_again(const std::string& text) {
    a().configure(text);
    EXPECT_EQ(a().stop().status, 0);
    a().start();
    wait_up();
    expect_all(exchange({.per_second = 200}, std::chrono::milliseconds(300)));
  }
  std::string changed(const std::string& from, const std::string& to) const {
    std::string text = text_;
    const size_t place = text.find(from);
    EXPECT_NE(place, text.npos) << from;
    return text.replace(place, from.size(), to);
  }
  bool says(const std::string& text) {
    return a().program().err_so_far().find(text) != std::string::npos;
  }
  OwnedFd socket_at(const char* address, uint16_t port) {
    OwnedFd made(sites().space(At::GatewayA).socket(AF_INET, SOCK_DGRAM));
    const sockaddr_in name = socket_name(address, port);
    EXPECT_EQ(bind(made.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
    return made;
  }

  std::string text_;
};

TEST_F(Restart, has_the_device_and_the_socket_of_the_life_before) {
  ASSERT_NO_FATAL_FAILURE(build_kept());
  EXPECT_EQ(store().names(), of_one_core);
  const std::string device = device_text();
  live_again(text_);
  EXPECT_EQ(device_text(), device);
  EXPECT_TRUE(says("info taken_over descriptors=2")) << a().program().err_so_far();
  EXPECT_FALSE(says(" let_go ")) << a().program().err_so_far();
}

TEST_F(Restart, sends_nothing_to_a_manager_that_keeps_nothing) {
  prepare({}, {}, {"--rtt", "10ms"});
  FdStore none(folder().path("notify"), 0);
  a().be_kept_by(&none);
  a().start();
  const auto is_ready = [&] { return none.told().find("READY=1") != std::string::npos; };
  const auto end = Time::now() + std::chrono::seconds(10);  // the log has it before
  while (!is_ready() && Time::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(is_ready()) << none.told();
  EXPECT_EQ(none.told().find("FDSTORE"), std::string::npos) << none.told();
}

// It would be thrown out of the store as soon as somebody's ICMP packet has come.
TEST_F(Restart, keeps_a_socket_that_has_an_error_to_tell) {
  ASSERT_NO_FATAL_FAILURE(build_kept());
  EXPECT_NE(store().told().find("FDPOLL=0"), std::string::npos) << store().told();
  b().kill();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(a().stop().status, 0);
  EXPECT_EQ(store().handed().descriptors.size(), 2u);
}

TEST_F(Restart, of_a_file_with_another_device_begins_anew) {
  ASSERT_NO_FATAL_FAILURE(build_kept());
  live_again(changed("causeway0", "causeway7"));
  EXPECT_TRUE(says(" let_go descriptors=[\"lan-0-of-1\"]")) << a().program().err_so_far();
  EXPECT_TRUE(says("info taken_over descriptors=1")) << a().program().err_so_far();
  EXPECT_EQ(store().names(), of_one_core);
  EXPECT_NE(sites().space(At::GatewayA).run({"ip", "link", "show", "causeway0"}).status, 0);
}

TEST_F(Restart, of_a_file_with_more_cores_makes_all_queues_anew_and_then_keeps_them) {
  ASSERT_NO_FATAL_FAILURE(build_kept());
  GatewayFile file;
  file.shards = file.links = 2;
  b().configure(file);
  b().stop();
  b().start();
  live_again(file.text(true, folder()));
  EXPECT_EQ(store().names(), of_two_cores);
  const std::string device = device_text();
  live_again(file.text(true, folder()));
  EXPECT_TRUE(says("info taken_over descriptors=4")) << a().program().err_so_far();
  EXPECT_EQ(device_text(), device);
}

TEST_F(Restart, takes_back_the_routes_and_addresses_that_its_file_has_no_longer) {
  ASSERT_NO_FATAL_FAILURE(build_kept());
  const std::string more =
      changed("routes = [\"10.2.0.0/24\"", "routes = [\"10.99.0.0/24\", \"10.2.0.0/24\"");
  const std::string lan = "[lan]\n";
  const auto with_address = [&](std::string text, const std::string& address) {
    return text.insert(text.find(lan) + lan.size(), "addresses = [\"" + address + "\"]\n");
  };
  live_again(with_address(more, "10.77.0.1/24"));
  EXPECT_NE(routes_text().find("10.99.0.0/24"), std::string::npos) << routes_text();
  EXPECT_NE(device_text().find("10.77.0.1/24"), std::string::npos) << device_text();
  live_again(with_address(text_, "10.78.0.1/24"));
  EXPECT_EQ(routes_text().find("10.99.0.0/24"), std::string::npos) << routes_text();
  EXPECT_NE(routes_text().find("10.2.0.0/24"), std::string::npos) << routes_text();
  EXPECT_EQ(device_text().find("10.77.0.1/24"), std::string::npos) << device_text();
  EXPECT_NE(device_text().find("10.78.0.1/24"), std::string::npos) << device_text();
}

TEST_F(Restart, closes_what_is_no_port_of_its_file) {
  ASSERT_NO_FATAL_FAILURE(build_kept());
  EXPECT_EQ(a().stop().status, 0);
  store().clear();
  store().put("lan-0-of-1", OwnedFd(open("/dev/null", O_RDWR | O_CLOEXEC)));
  store().put("wan-0-of-1", socket_at(site_a.wan, 4999));
  store().put("somebody's", OwnedFd(open("/dev/zero", O_RDWR | O_CLOEXEC)));
  a().start();
  wait_up();
  expect_all(exchange({.per_second = 200}, std::chrono::milliseconds(300)));
  EXPECT_TRUE(says("it is no TUN device")) << a().program().err_so_far();
  EXPECT_TRUE(says("it is bound to another address or port, 4999")) << a().program().err_so_far();
  EXPECT_TRUE(says("no port of this file wants them")) << a().program().err_so_far();
  EXPECT_FALSE(says(" taken_over ")) << a().program().err_so_far();
  EXPECT_EQ(store().names(), of_one_core);
}

}  // namespace
}  // namespace cw::lab
