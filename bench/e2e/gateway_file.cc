#include "bench/e2e/gateway_file.h"

#include <sstream>

namespace cw::bench {

std::string memif_room(unsigned mtu) {
  constexpr unsigned link_bytes = 14, default_bytes = 2048, unit = 1024;
  if (mtu + link_bytes <= default_bytes) return "";
  return ",bsize=" + std::to_string((mtu + link_bytes + unit - 1) / unit * unit);
}

std::string gateway_file(Side side, const GatewaySetup& setup, const Devices& devices,
                         const std::string& folder) {
  const auto pick = [side](const char* a, const char* b) {
    return std::string(side == Side::A ? a : b);
  };
  std::ostringstream file;
  file << "[site]\nname = \"" << pick("a", "b") << "\"\nidle = \""
       << (setup.polls ? "poll" : "adaptive") << "\"\nlog = \"warning\"\ncore = " << pick("0", "1")
       << "\ncoding_threads = " << setup.coding_threads << "\nstatus = \"" << folder << "/"
       << pick("a", "b") << ".json\"\n\n[lan]\nport = \"dpdk\"\ndevice = \"" << devices.lan
       << "\"\naddresses = [\"10." << pick("1", "2")
       << ".0.1/24\"]\nmtu = 1500\n\n[wan]\nport = \"dpdk\"\ndevice = \"" << devices.wan
       << "\"\naddress = \"192.0.2." << pick("1", "2") << "\"\nrate = \"" << setup.rate
       << "\"\nadapt = false\n\n[pair]\nkey_file = \"pair.key\"\nrtt = \"1 ms\"\nmtu = "
       << devices.wan_mtu << "\n\n"
       << "[[peer]]\nname = \"" << pick("b", "a") << "\"\naddress = \"192.0.2." << pick("2", "1")
       << "\"\nroutes = [\"10." << pick("2", "1") << ".0.0/16\"]\n\n"
       << "[[class]]\nname = \"all\"\npolicy = \"" << setup.policy << "\"\nhold = \"" << setup.hold
       << "\"\nqueue = \"1 ms\"\n"
       << setup.params;
  return file.str();
}

}  // namespace cw::bench
