#include "tests/rdma/rdma_sites.h"

#include <filesystem>
#include <stdexcept>

namespace cw::lab {
namespace {

struct Needed {
  const char *program, *package;
};
constexpr Needed needed[] = {{"qemu-system-x86_64", "qemu-system-x86"},
                             {"modprobe", "kmod"},
                             {"rdma", "iproute2"},
                             {"ibv_devinfo", "ibverbs-utils"},
                             {"rping", "rdmacm-utils"},
                             {"ib_write_bw", "perftest"}};

bool is_installed(const std::string& program) {
  for (const char* const folder : {"/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/"}) {
    if (std::filesystem::exists(folder + program)) return true;
  }
  return false;
}

}  // namespace

std::string rdma_obstacle(const std::string& guest) {
  std::string missing;
  for (const Needed& each : needed) {
    if (!is_installed(each.program)) missing += std::string(" ") + each.package;
  }
  if (!missing.empty()) return "virtual hosts need more programs: apt-get install" + missing;
  if (std::filesystem::exists(guest + "/made")) return {};
  return "virtual hosts have nothing to start from in " + guest + ": tests/lab/make_guest " +
         guest + " makes it";
}

std::string rdma_classes(const std::string& policy) {
  const std::string patient = "queue = \"500 ms\"\npolicy = \"" + policy + "\"\n";
  return "[[class]]\nname = \"rc\"\nhost_timeout = \"" + std::string(rdma_host_timeout) + "\"\n" +
         patient + "[[class.match]]\nkind = \"roce\"\n\n[[class]]\nname = \"rest\"\n" +
         "hold = \"1 s\"\n" + patient;
}

RdmaSites::RdmaSites(const RdmaPrograms& programs, uint32_t mtu)
    : programs_(programs),
      mtu_(mtu),
      sites_({.lan_mtu = mtu, .wan_mtu = mtu}),
      a_(sites_, folder_, programs.daemon, true),
      b_(sites_, folder_, programs.daemon, false),
      a_host_(sites_, true, folder_, programs.guest, mtu),
      b_host_(sites_, false, folder_, programs.guest, mtu),
      a_rnic_(a_host_, true, programs.daemon),
      b_rnic_(b_host_, false, programs.daemon) {
  // Two machines whose processors are emulated would leave the gateways less than they need.
  a_.be_urgent();
  b_.be_urgent();
  folder_.write("pair.key", "a secret of thirty-two bytes or more, and nobody else's");
}

void RdmaSites::wait_ready() {
  a_host_.wait_ready();
  b_host_.wait_ready();
}

void RdmaSites::set_line(const RdmaLine& line) {
  if (has_line_) sites_.part();
  Arguments options{"--rtt", line.rtt, "--rate", line.rate, "--gather", "100us"};
  if (!line.burst.empty()) {
    options.insert(options.end(), {"--gilbert", line.burst + "," + line.loss});
  } else {
    options.insert(options.end(), {"--loss", line.loss});
  }
  options.insert(options.end(), line.more.begin(), line.more.end());
  sites_.join(programs_.emulator, options);
  has_line_ = true;
}

void RdmaSites::unroute() {
  if (route_ == Route::Rnics) {
    a_rnic_.stop();
    b_rnic_.stop();
  }
  if (route_ == Route::Plain || route_ == Route::Rnics) sites_.unroute();
  if (route_ == Route::Bridged) {
    for (const At place : {At::GatewayA, At::GatewayB}) {
      sites_.space(place).must("ip link del dev joined");
    }
  }
  if (route_ == Route::Gateways) {
    a_.stop();
    b_.stop();
  }
  route_ = Route::None;
}

void RdmaSites::route_plainly() {
  if (route_ == Route::Plain) return;
  unroute();
  sites_.route_plainly();
  route_ = Route::Plain;
}

void RdmaSites::bridge() {
  if (route_ == Route::Bridged) return;
  unroute();
  const auto join = [&](At place, const SiteAddresses& site) {
    const std::string to = " master joined; ";
    sites_.space(place).must("ip link add name joined mtu " + std::to_string(mtu_) +
                             " type bridge forward_delay 0 mcast_snooping 0; ip link set dev " +
                             site.lan_interface + to + "ip link set dev " + site.wan_interface +
                             to + "ip link set dev joined up");
  };
  join(At::GatewayA, site_a);
  join(At::GatewayB, site_b);
  route_ = Route::Bridged;
}

void RdmaSites::route_by_gateways(const std::string& policy, const RdmaLine& line) {
  GatewayFile file;
  file.classes = policy == "default" ? "" : rdma_classes(policy);
  route_by_gateways(file, line);
}

void RdmaSites::route_by_gateways(GatewayFile file, const RdmaLine& line) {
  unroute();
  file.rate = line.rate;
  file.rtt = line.rtt;
  file.lan_mtu = file.wan_mtu = mtu_;
  // Buffers of net_af_packet that are larger than the usual 2 KiB are the user's to count.
  if (file.is_lan_over_dpdk && mtu_ > 1500) file.site_more += "eal_memory = \"256 MiB\"\n";
  for (Gateway* each : {&a_, &b_}) {
    each->configure(file);
    each->start();
  }
  route_ = Route::Gateways;
  for (Gateway* each : {&a_, &b_}) {
    if (!each->wait_up()) throw std::runtime_error(each->program().err_so_far());
  }
}

void RdmaSites::route_by_rnics(const std::string& policy, const RdmaLine& line) {
  route_plainly();
  for (MachineGateway* each : {&a_rnic_, &b_rnic_}) {
    each->start({.rtt = line.rtt, .rate = line.rate, .mtu = mtu_, .classes = rdma_classes(policy)});
  }
  route_ = Route::Rnics;
  for (MachineGateway* each : {&a_rnic_, &b_rnic_}) each->wait_up();
}

}  // namespace cw::lab
