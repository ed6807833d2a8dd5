// Two gateways, of which A has a service manager that keeps descriptors from life to life; and what
// a machine and its hosts show of a restart that they should not.
#pragma once

#include <signal.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/two_gateways.h"
#include "tests/lab/restarts/fd_store.h"
#include "tests/lab/restarts/tcp_file.h"

namespace cw::lab {

class RestartsOfAGateway : public TwoGateways {
 protected:
  void build_kept(const GatewayFile& file, const Arguments& line) {
    prepare({}, file, line);
    store_ = std::make_unique<FdStore>(folder().path("notify"));
    a().be_kept_by(store_.get());
    a().start();
    b().start();
    wait_up();
  }
  void wait_up() {
    for (Gateway* each : {&a(), &b()}) {
      ASSERT_TRUE(each->wait_up()) << each->program().err_so_far();
    }
  }

  /// The device, with its number, addresses and routes.
  std::string device_text() {
    const Space& space = sites().space(At::GatewayA);
    return space.run({"cat", "/sys/class/net/causeway0/ifindex"}).out +
           space.run({"sh", "-c", "ip -o link show causeway0 | cut -d: -f1,2"}).out +
           space.run({"sh", "-c", "ip -o addr show dev causeway0 scope global | cut -d'\\' -f1"})
               .out +
           routes_text();
  }
  std::string routes_text() {
    const Space& space = sites().space(At::GatewayA);
    return space.run({"ip", "-4", "route", "show", "dev", "causeway0"}).out +
           space.run({"ip", "-6", "route", "show", "dev", "causeway0", "proto", "static"}).out;
  }
  /// Packets that told a host, or the other gateway, that it cannot reach somebody.
  uint64_t unreachables(At place) {
    const Outcome outcome =
        sites().space(place).run({"sh", "-c",
                                  "awk '/^Icmp: [0-9]/{print $4}' /proc/net/snmp; "
                                  "awk '/^Icmp6InDestUnreachs/{print $2}' /proc/net/snmp6"});
    uint64_t sum = 0;
    for (const char* at = outcome.out.c_str(); *at != '\0';) {
      char* end = nullptr;
      sum += std::strtoull(at, &end, 10);
      at = end + (*end == '\n');
    }
    return sum;
  }
  FdStore& store() { return *store_; }

 private:
  std::unique_ptr<FdStore> store_;
};

}  // namespace cw::lab
