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

RdmaSites::RdmaSites(const RdmaPrograms& programs, uint32_t mtu)
    : programs_(programs),
      mtu_(mtu),
      sites_({.lan_mtu = mtu, .wan_mtu = mtu}),
      a_(sites_, folder_, programs.daemon, true),
      b_(sites_, folder_, programs.daemon, false),
      a_host_(sites_, true, folder_, programs.guest, mtu),
      b_host_(sites_, false, folder_, programs.guest, mtu) {
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
  sites_.join(programs_.emulator, options);
  has_line_ = true;
}

void RdmaSites::unroute() {
  if (route_ == Route::Plain) sites_.unroute();
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

void RdmaSites::route_by_gateways(const std::string& policy, const RdmaLine& line) {
  unroute();
  GatewayFile file;
  file.rate = line.rate;
  file.rtt = line.rtt;
  file.lan_mtu = file.wan_mtu = mtu_;
  file.classes = "[[class]]\nname = \"everything\"\npolicy = \"" + policy + "\"\n";
  if (policy == "default") file.classes.clear();
  for (Gateway* each : {&a_, &b_}) {
    each->configure(file);
    each->start();
  }
  route_ = Route::Gateways;
  for (Gateway* each : {&a_, &b_}) {
    if (!each->wait_up()) throw std::runtime_error(each->program().err_so_far());
  }
}

}  // namespace cw::lab
