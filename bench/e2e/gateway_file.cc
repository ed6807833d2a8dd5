#include "bench/e2e/gateway_file.h"

#include <sstream>

#include "tests/made_identity.h"

namespace cw::bench {

std::string memif_room(unsigned mtu) {
  constexpr unsigned link_bytes = 14, default_bytes = 2048, unit = 1024;
  if (mtu + link_bytes <= default_bytes) return "";
  return ",bsize=" + std::to_string((mtu + link_bytes + unit - 1) / unit * unit);
}

const seal::Identity& identity_of(Side side) {
  static const seal::Identity a = test::made_identity(1), b = test::made_identity(2);
  return side == Side::A ? a : b;
}

std::string gateway_file(Side side, const GatewaySetup& setup, const Devices& devices,
                         const std::string& folder) {
  const auto pick = [side](const char* a, const char* b) {
    return std::string(side == Side::A ? a : b);
  };
  const Side other = side == Side::A ? Side::B : Side::A;
  const std::string own_key = "private_key_file = \"" + pick("a", "b") + ".key\"\n";
  const std::string others_key =
      "public_key = \"" + seal::text_of(identity_of(other).public_key) + "\"\n";
  std::ostringstream file;
  file << "[site]\nname = \"" << pick("a", "b") << "\"\nidle = \""
       << (setup.polls ? "poll" : "adaptive") << "\"\nlog = \"warning\"\ncore = " << pick("0", "1")
       << "\n"
       << (setup.is_sealed ? own_key : "") << "coding_threads = " << setup.coding_threads
       << "\nstatus = \"" << folder << "/" << pick("a", "b")
       << ".json\"\n\n[lan]\nport = \"dpdk\"\ndevice = \"" << devices.lan
       << "\"\naddresses = [\"10." << pick("1", "2")
       << ".0.1/24\"]\nmtu = 1500\n\n[wan]\nport = \"dpdk\"\ndevice = \"" << devices.wan
       << "\"\naddress = \"192.0.2." << pick("1", "2") << "\"\nrate = \"" << setup.rate
       << "\"\nadapt = false\n\n[pair]\n"
       << (setup.is_sealed ? "" : "key_file = \"pair.key\"\n")
       << "rtt = \"1 ms\"\nmtu = " << devices.wan_mtu << "\n\n"
       << "[[peer]]\nname = \"" << pick("b", "a") << "\"\naddress = \"192.0.2." << pick("2", "1")
       << "\"\nroutes = [\"10." << pick("2", "1") << ".0.0/16\"]\n"
       << (setup.is_sealed ? others_key : "") << "\n[[class]]\nname = \"all\"\npolicy = \""
       << setup.policy << "\"\nhold = \"" << setup.hold << "\"\nqueue = \"1 ms\"\n"
       << setup.params;
  return file.str();
}

}  // namespace cw::bench
