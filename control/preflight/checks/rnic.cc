// What a WAN over an RNIC needs of the kernel: its device, and the files by which a program has it.
#include <string>

#include "control/preflight/checks/checks.h"

namespace cw::preflight {
namespace {

/// "uverbs0": the file of a device below /dev/infiniband; empty: nobody has made one.
std::string file_of(const Machine& machine, const std::string& device) {
  const std::string folder = "sys/class/infiniband_verbs";
  for (const std::string& name : machine.names(folder)) {
    if (machine.text(folder + "/" + name + "/ibdev") == device) return name;
  }
  return {};
}

std::string all_devices(const Machine& machine) {
  std::string text;
  for (const std::string& name : machine.names("sys/class/infiniband")) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "this machine has none" : "there are " + text;
}

Finding device_finding(const Machine& machine, const std::string& device) {
  const std::string folder = "sys/class/infiniband/" + device;
  if (!machine.has(folder)) {
    return {"rnic", Status::Problem,
            "there is no RDMA device " + device + ": " + all_devices(machine),
            "`rdma link show` names them; `rdma link add rxe0 type rxe netdev INTERFACE` makes one "
            "in software; in a network namespace, `rdma dev set " +
                device + " netns NAME`"};
  }
  const std::string file = file_of(machine, device);
  if (file.empty() || !machine.has("dev/infiniband/" + file)) {
    return {"rnic", Status::Problem, "/dev/infiniband has no file of " + device,
            "`modprobe ib_uverbs`; in a container, give it the folder /dev/infiniband"};
  }
  const std::string state = machine.text(folder + "/ports/1/state");  // "4: ACTIVE"
  if (!state.starts_with("4:")) {
    return {"rnic", Status::Problem, "port 1 of " + device + " is " + state,
            "bring its interface up: `rdma link show` names it"};
  }
  return {"rnic", Status::Ok, device + " is there, and active", ""};
}

void check_rnic(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  if (!needs.by_rnic()) return;
  findings.push_back(device_finding(machine, needs.rnic));
  if (machine.has("dev/infiniband/rdma_cm")) {
    findings.push_back({"rdma_cm", Status::Ok, "/dev/infiniband/rdma_cm is there", ""});
    return;
  }
  findings.push_back({"rdma_cm", Status::Problem,
                      "/dev/infiniband/rdma_cm is not there: no other RNIC is found",
                      "`modprobe rdma_ucm`; in a container, give it the folder /dev/infiniband"});
}

}  // namespace

std::span<const Check> rnic_checks() {
  static constexpr Check all[] = {check_rnic};
  return all;
}

}  // namespace cw::preflight
