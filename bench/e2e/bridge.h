// Members of a group as processes in network namespaces around one bridge.
//
//   member 0 [10.9.0.1] --- veth --- bridge --- veth --- [10.9.0.2] member 1 ...
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/lab/program.h"
#include "tests/lab/space.h"

namespace cw::bench {

class Bridge {
 public:
  Bridge(uint32_t members, const std::string& mtu) : switch_(lab::Space::make()) {
    switch_.must(
        "ip link add name middle type bridge mcast_snooping 0; ip link set dev middle mtu " + mtu +
        " up");
    for (uint32_t rank = 0; rank < members; ++rank) add_member(rank, mtu);
  }

  uint32_t members() const { return static_cast<uint32_t>(members_.size()); }
  const std::string& addresses() const { return addresses_; }
  std::string address_of(uint32_t rank) const { return "10.9.0." + std::to_string(rank + 1); }
  /// How nsenter finds its namespace.
  std::string path_of(uint32_t rank) const { return members_[rank].path(); }
  /// Of what comes to each member but rank 0 by a protocol, udp or tcp; for programs that lose
  /// nothing by themselves.
  void lose(const std::string& percent, const std::string& protocol = "udp") const {
    for (size_t rank = 1; rank < members_.size(); ++rank) {
      members_[rank].must("nft flush ruleset");
      if (percent == "0%") continue;
      members_[rank].must(
          "nft add table inet t; nft 'add chain inet t i { type filter hook input "
          "priority 0; }'; nft add rule inet t i ip protocol " +
          protocol + " numgen random mod 100 lt " + percent.substr(0, percent.size() - 1) +
          " drop");
    }
  }
  /// Each frame by itself from now on, so that what is lost is of one.
  void send_frame_by_frame() const {
    for (const lab::Space& member : members_) {
      member.must("ethtool -K eth tso off gso off gro off");
    }
  }
  /// Starts rank's process; it ends by itself.
  std::unique_ptr<lab::Program> start(uint32_t rank, const lab::Arguments& arguments) const {
    return std::make_unique<lab::Program>(members_[rank].fd(), arguments);
  }

 private:
  void add_member(uint32_t rank, const std::string& mtu) {
    members_.push_back(lab::Space::make());
    const std::string cable = "m" + std::to_string(rank);
    const std::string address = address_of(rank);
    addresses_ += (addresses_.empty() ? "" : ",") + address;
    switch_.must("ip link add name " + cable + " mtu " + mtu + " type veth peer name eth mtu " +
                 mtu + " netns " + members_.back().path() + "; ip link set dev " + cable +
                 " master middle; ip link set dev " + cable + " up");
    members_.back().must("ip addr add " + address + "/24 dev eth; ip link set dev eth up");
  }

  lab::Space switch_;
  std::vector<lab::Space> members_;
  std::string addresses_;
};

}  // namespace cw::bench
