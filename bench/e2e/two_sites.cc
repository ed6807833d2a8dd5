#include "bench/e2e/two_sites.h"

#include <stdexcept>
#include <utility>

#include "control/units/units.h"

namespace cw::bench {
namespace {

using lab::At;
using lab::Gateway;

std::string address_of(const char* prefix, uint32_t member) {
  return prefix + std::to_string(11 + member);
}

}  // namespace

// Frame by frame: a kernel that routes multicast drops trains of segments as too long.
TwoSites::TwoSites(const TwoSitesSetup& setup) : setup_(setup), sites_({.lan_offloads = false}) {
  const auto rtt = parse_duration(setup_.rtt);
  if (!rtt) throw std::runtime_error("--rtt: " + rtt.error().sentence);
  delay_ = std::to_string(rtt->ns() / 2000) + "us";
  sites_.join(CW_WAN_PROGRAM, {"--delay", delay_, "--loss", setup_.loss});
  folder_.write("pair.key", "a secret of thirty-two bytes or more, and nobody else's");
  for (const bool is_a : {true, false}) {
    gateways_.push_back(std::make_unique<Gateway>(sites_, folder_, CW_DAEMON_PROGRAM, is_a));
    gateways_.back()->configure(file_of(is_a));
    gateways_.back()->start();
  }
  for (const auto& each : gateways_) {
    if (!each->wait_up()) throw std::runtime_error(each->program().err_so_far());
  }
  add_members();
}

std::unique_ptr<lab::Program> TwoSites::start(uint32_t rank,
                                              const lab::Arguments& arguments) const {
  const At place = rank < setup_.members ? At::HostA : At::HostB;
  return std::make_unique<lab::Program>(sites_.namespace_of(place), arguments);
}

Crossed TwoSites::crossed() const {
  Crossed all;
  for (const auto& [place, interface] : {std::pair(At::GatewayA, "wa"), {At::GatewayB, "wb"}}) {
    const lab::Outcome told =
        sites_.space(place).run({"ip", "-j", "-s", "link", "show", "dev", interface});
    all.bytes += Json::parse(told.out).at(0).at("stats64").at("tx").at("bytes").get<double>();
  }
  for (const auto& gateway : gateways_) {
    const Json counters = gateway->status().at("counters");
    all.frames += counters.at("lan_sent").get<double>();
    all.data += counters.at("data_sent").get<double>();
    all.repairs += counters.at("repairs_sent").get<double>();
  }
  return all;
}

double TwoSites::sent_in_class(const std::string& name) const {
  double sent = 0;
  for (const auto& gateway : gateways_) {
    const Json status = gateway->status();
    for (const Json& each : status.at("classes")) {
      if (each.at("class") == name) sent += each.at("sent").get<double>();
    }
  }
  return sent;
}

std::string TwoSites::file_of(bool is_a) const {
  lab::GatewayFile file;
  file.rtt = setup_.rtt;
  file.classes = setup_.classes;
  std::string text = file.text(is_a, folder_);
  const std::string tun = "device = \"causeway0\"\n";
  const lab::SiteAddresses& own = is_a ? lab::site_a : lab::site_b;
  text.replace(text.find(tun), tun.size(), tun + "prefixes = [\"" + own.prefix + "\"]\n");
  return text + "\n[[group]]\naddress = \"" + group + "\"\n";
}

void TwoSites::add_members() {
  near_.emplace(sites_.space(At::GatewayA), "la", "causeway0");
  far_.emplace(sites_.space(At::GatewayB), "lb", "causeway0");
  for (uint32_t member = 0; member < setup_.members; ++member) {
    const std::string a = address_of("10.1.0.", member), b = address_of("10.2.0.", member);
    sites_.space(At::HostA).must("ip address add " + a + "/24 dev va");
    sites_.space(At::HostB).must("ip address add " + b + "/24 dev vb");
    near_->add(group, a, b);
    far_->add(group, b, a);
  }
  for (const char* prefix : {"10.1.0.", "10.2.0."}) {
    for (uint32_t member = 0; member < setup_.members; ++member) {
      addresses_ += (addresses_.empty() ? "" : ",") + address_of(prefix, member);
    }
  }
}

}  // namespace cw::bench
