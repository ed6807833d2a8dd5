// The unit file of configs/ and its drop-ins: a gateway with exactly these rights, not root,
// carries packets by each kind of port, and one without a kind's drop-in says what it may not do.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "tests/integration/hosts_of_two_gateways.h"
#include "tests/lab/restarts/fd_store.h"

namespace cw::lab {
namespace {

using std::chrono::seconds;

const std::string unit = CW_SOURCE_DIR "/configs/causewayd@.service";
constexpr uid_t nobody = 65534;

struct Kind {
  const char* name;
  std::vector<std::string> drop_ins;
  void (*ports)(GatewayFile& file, const SiteAddresses& own, const std::string& run);
  bool is_tap = false;
};

void over_sockets(GatewayFile&, const SiteAddresses&, const std::string&) {}

class Service : public HostsOfTwoGateways {
 protected:
  /// Both gateways' files; site A's lies where the service sees it, in /run/causeway.
  void configure(const Kind& kind) {
    prepare_for_dpdk();
    if (kind.is_tap) put_taps_into_bridges();
    GatewayFile file_a, file_b;
    kind.ports(file_a, site_a, "/run/causeway");
    kind.ports(file_b, site_b, run());
    std::string text = file_a.text(true, folder());
    const std::string status = folder().path("a.json");
    text.replace(text.find(status), status.size(), "/run/causeway/a.json");
    b().configure(file_b.text(false, folder()));
    ASSERT_EQ(mkdir(run().c_str(), 0755), 0);
    folder().write("run/a.toml", text);
    folder().write("run/pair.key", "a secret of thirty-two bytes or more, and nobody else's");
    for (const char* each : {"run", "run/a.toml", "run/pair.key"}) {
      ASSERT_EQ(chown(folder().path(each).c_str(), nobody, nobody), 0);
    }
  }
  /// What the service has as /run/causeway.
  std::string run() const { return folder().path("run"); }
  void put_taps_into_bridges() {
    for (const At place : {At::GatewayA, At::GatewayB}) {
      const std::string cable = place == At::GatewayA ? "wa" : "wb";
      sites().space(place).must("ip addr flush dev " + cable +
                                "; ip tuntap add dev tw mode tap multi_queue; ip link add name br "
                                "type bridge; ip link set dev " +
                                cable +
                                " master br; ip link set dev tw master br up; "
                                "ip link set dev br up");
    }
  }

  void start_service(const std::vector<std::string>& drop_ins) {
    Arguments arguments{CW_CONFINED, unit};
    for (const std::string& each : drop_ins) arguments.push_back(unit + ".d/" + each + ".conf");
    for (const char* each :
         {"--run", "", "--", CW_DAEMON_PROGRAM, "--config", "/run/causeway/a.toml"}) {
      arguments.push_back(*each == '\0' ? run() : std::string(each));
    }
    service_.reset();
    service_.emplace(sites().namespace_of(At::GatewayA), arguments, handed());
  }
  /// From now on somebody keeps what the service tells him to; how much, the unit file says.
  void keep_descriptors() { store_.emplace(run() + "/notify"); }
  FdStore& store() { return *store_; }
  Program& service() { return *service_; }

 private:
  Handed handed() {
    if (!store_) return {};
    Handed handed = store_->handed("/run/causeway/notify");
    std::erase_if(handed.environment, [](const auto& each) { return each.first == "FDSTORE"; });
    return handed;
  }

  std::optional<FdStore> store_;
  std::optional<Program> service_;
};

class ServiceOver : public Service, public testing::WithParamInterface<Kind> {};

INSTANTIATE_TEST_SUITE_P(
    , ServiceOver,
    testing::ValuesIn(std::vector<Kind>{
        {"sockets_and_tun", {}, over_sockets},
        {"several_cores",
         {"cores"},
         [](GatewayFile& file, const SiteAddresses&, const std::string&) {
           file.shards = file.links = 2;
         }},
#ifdef CW_HAVE_DPDK
        {"af_packet",
         {"af-packet"},
         [](GatewayFile& file, const SiteAddresses&, const std::string&) {
           file.is_over_dpdk = file.is_lan_over_dpdk = true;
         }},
        {"af_xdp",
         {"af-xdp"},
         [](GatewayFile& file, const SiteAddresses& own, const std::string&) {
           file.wan_device = std::string("net_af_xdp0,iface=") + own.wan_interface;
         }},
        {"tap",
         {},
         [](GatewayFile& file, const SiteAddresses&, const std::string&) {
           file.wan_device = "net_tap0,iface=tw";
         },
         true},
        {"memif",
         {},
         [](GatewayFile& file, const SiteAddresses& own, const std::string& run) {
           file.wan_device = std::string("net_memif0,role=") +
                             (&own == &site_a ? "server" : "client") +
                             ",socket-abstract=no,socket=" + run + "/memif.sock";
         }},
#endif
    }),
    [](const auto& it) { return it.param.name; });

TEST_P(ServiceOver, carries_packets_with_the_rights_of_its_unit_file_and_no_others) {
  configure(GetParam());
  start_service(GetParam().drop_ins);
  ASSERT_TRUE(service().wait_for(" ready ")) << service().err_so_far();
  b().start();
  ASSERT_TRUE(service().wait_for(" up peer=b")) << service().err_so_far();
  ASSERT_TRUE(meet(site_b.host)) << service().err_so_far();
  expect_all(exchange({.per_second = 500}, seconds(1)));
  struct stat status{};
  EXPECT_EQ(stat(folder().path("run/a.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, nobody);
  service().signal(SIGTERM);
  EXPECT_EQ(service().finish().status, 0) << service().err_so_far();
}

/// By the process that keeps the right to.
TEST_F(Service, sets_routes_when_its_file_is_read_again) {
  configure({"sockets_and_tun", {}, over_sockets});
  start_service({});
  ASSERT_TRUE(service().wait_for(" ready ")) << service().err_so_far();
  std::ifstream file(folder().path("run/a.toml"));
  std::string text(std::istreambuf_iterator<char>(file), {});
  const size_t place = text.find("routes = [", text.find("[[peer]]"));
  ASSERT_NE(place, text.npos) << text;
  text.insert(place + std::string("routes = [").size(), "\"10.99.0.0/24\", ");
  folder().write("run/a.toml", text);
  service().signal(SIGHUP);
  ASSERT_TRUE(service().wait_for(" reloaded ")) << service().err_so_far();
  const auto routes = sites().space(At::GatewayA).run({"ip", "route", "show", "10.99.0.0/24"});
  EXPECT_NE(routes.out.find("10.99.0.0/24 dev"), std::string::npos)
      << routes.out << service().err_so_far();
  service().signal(SIGTERM);
  EXPECT_EQ(service().finish().status, 0) << service().err_so_far();
}

TEST_F(Service, takes_its_device_and_its_socket_over_when_it_is_restarted) {
  configure({"sockets_and_tun", {}, over_sockets});
  keep_descriptors();
  b().start();
  std::string number;
  for (int life = 0; life < 3; ++life) {
    start_service({});
    ASSERT_TRUE(service().wait_for(" up peer=b")) << service().err_so_far();
    EXPECT_EQ(service().err_so_far().find(" taken_over ") != std::string::npos, life > 0)
        << service().err_so_far();
    EXPECT_EQ(store().names(), (std::vector<std::string>{"lan-0-of-1", "wan-0-of-1"}));
    const std::string now =
        sites().space(At::GatewayA).run({"cat", "/sys/class/net/causeway0/ifindex"}).out;
    EXPECT_TRUE(life == 0 || now == number) << now << number;
    number = now;
    expect_all(exchange({.per_second = 500}, std::chrono::milliseconds(300)));
    service().signal(SIGTERM);
    EXPECT_EQ(service().finish().status, 0) << service().err_so_far();
  }
}

#ifdef CW_HAVE_DPDK
TEST_F(Service, without_the_drop_in_of_its_port_says_so_and_ends) {
  configure({"af_packet", {}, [](GatewayFile& file, const SiteAddresses&, const std::string&) {
               file.is_over_dpdk = true;
             }});
  start_service({});
  const Outcome outcome = service().finish();
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("causewayd: wan.device: ")) << outcome.err;
  EXPECT_NE(outcome.err.find("causewayd@.service.d"), std::string::npos) << outcome.err;
}
#endif

}  // namespace
}  // namespace cw::lab
