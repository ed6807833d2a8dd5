// An RDMA host in place of one of the two sites' hosts: a virtual machine with Debian's kernel and
// soft-RoCE, which runs the programs of this machine. It has the host's addresses and its cable.
//
// Nothing is left behind: it is a program like any other (program.h), and sees this machine's files
// without being able to change them.
#pragma once

#include <chrono>
#include <string>

#include "tests/lab/gateway.h"
#include "tests/lab/sites.h"

namespace cw::lab {

/// Thread: one.
class VirtualHost {
 public:
  /// Starts the machine; it is not ready then. `guest` is a folder that make_guest filled; `folder`
  /// outlives this. Throws when the cable cannot be laid.
  VirtualHost(const Sites& sites, bool is_a, const Folder& folder, const std::string& guest,
              uint32_t mtu);

  /// Waits until it is an RDMA host; throws what its console says when that takes too long.
  void wait_ready(std::chrono::seconds most = std::chrono::seconds(120));

  /// Has it run lines of bash, beside others that run; returns their number.
  int start(const std::string& script);
  /// Whether these lines have ended.
  bool has_ended(int number) const;
  /// Waits for their end and returns what they left; status -1: not in time.
  Outcome finish(int number, std::chrono::seconds most);
  /// What they have printed so far.
  std::string out_so_far(int number) const;
  Outcome run(const std::string& script, std::chrono::seconds most) {
    return finish(start(script), most);
  }

  /// Waits until so many of its programs listen, by TCP or rdma_cm; false: not in time.
  bool wait_for_listeners(unsigned count, std::chrono::seconds most = std::chrono::seconds(60));

  /// A counter of its RDMA device, by the name of its file in hw_counters.
  uint64_t counter(const std::string& name);
  /// What its QPs had to send again, or asked to have sent again; of all its RDMA devices.
  uint64_t retransmits();

 private:
  std::string file(int number, const char* what) const;

  std::string desk_;
  int next_ = 0;
  Program machine_;
};

}  // namespace cw::lab
