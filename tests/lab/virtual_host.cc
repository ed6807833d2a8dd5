#include "tests/lab/virtual_host.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace cw::lab {
namespace {

constexpr auto look_every = std::chrono::milliseconds(20);

std::string read_file(const std::string& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path + ".part") << text;
  std::filesystem::rename(path + ".part", path);
}

/// What the site's cable ends in, and how others address it.
struct Cable {
  const char *interface, *mac;
};
constexpr Cable cable_a{"va", "02:00:00:00:00:01"}, cable_b{"vb", "02:00:00:00:00:04"};

/// The host's place becomes a bridge between the cable and the virtual machine.
std::string bridge_lines(const std::string& cable, uint32_t mtu) {
  const std::string length = " mtu " + std::to_string(mtu);
  return "ip link set dev " + cable + " down; ip addr flush dev " + cable + "; ip link set dev " +
         cable + " address 02:00:00:00:01:00; echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6; " +
         "ip link add name bridge type bridge forward_delay 0 mcast_snooping 0; " +
         "ip tuntap add name tap mode tap; ip link set dev tap" + length + " master bridge up; " +
         "ip link set dev " + cable + " master bridge up; ip link set dev bridge" + length + " up";
}

/// What the machine reads first of all.
std::string settings(const std::string& guest, const SiteAddresses& site, uint32_t mtu) {
  std::ostringstream lines;
  std::string kernel = read_file(guest + "/made");
  if (kernel.empty()) {
    throw std::runtime_error("no virtual host in " + guest + ": tests/lab/make_guest " + guest +
                             " makes it");
  }
  if (!kernel.empty() && kernel.back() == '\n') kernel.pop_back();
  // It finds its programs where this machine does.
  lines << "path=" << std::getenv("PATH") << "\n";
  // Its working directory is another.
  lines << "guest=" << std::filesystem::absolute(guest).string() << "\nkernel=" << kernel
        << "\nmtu=" << mtu << "\naddress=" << site.host << "\naddress_v6=" << site.host_v6
        << "\ngateway=" << site.gateway << "\ngateway_v6=" << site.gateway_v6 << "\n";
  return lines.str();
}

std::string make_desk(const std::string& path, const std::string& guest, const SiteAddresses& site,
                      uint32_t mtu) {
  std::filesystem::create_directory(path);
  write_file(path + "/settings", settings(guest, site, mtu));
  std::filesystem::copy_file(guest + "/virtual_host.sh", path + "/host");
  return path;
}

Arguments machine(const std::string& guest, const std::string& desk, const char* mac,
                  uint32_t mtu) {
  // A tap whose reader knows nothing of unfinished checksums and trains of segments.
  const std::string plain =
      ",csum=off,guest_csum=off,gso=off,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off,"
      "host_tso4=off,host_tso6=off,host_ecn=off,host_ufo=off";
  // With event indices the device misses a notification once in some hundred thousand packets: its
  // ring is full then, nobody looks at it, and the host sends nothing for ever.
  const std::string told = ",event_idx=off,ioeventfd=off";
  const std::string share = "local,security_model=none,";
  return {"qemu-system-x86_64",
          // KVM within a virtual machine is not to be had everywhere; this is.
          "-accel", "tcg,thread=multi", "-cpu", "max", "-m", "1G", "-smp", "1", "-nographic",
          "-no-reboot", "-nodefaults", "-serial", "stdio", "-monitor", "none", "-kernel",
          guest + "/vmlinuz", "-initrd", guest + "/initrd", "-append",
          "console=ttyS0 quiet panic=-1", "-fsdev",
          share + "id=root,path=/,readonly=on,multidevs=remap", "-device",
          "virtio-9p-pci,fsdev=root,mount_tag=root", "-fsdev", share + "id=desk,path=" + desk,
          "-device", "virtio-9p-pci,fsdev=desk,mount_tag=desk", "-netdev",
          "tap,id=net,ifname=tap,script=no,downscript=no", "-device",
          "virtio-net-pci,netdev=net,romfile=,mac=" + std::string(mac) +
              ",host_mtu=" + std::to_string(mtu) + plain + told};
}

/// Lays the cable, and returns how the machine is started.
Arguments prepare(const Space& space, const std::string& desk, const std::string& guest, bool is_a,
                  uint32_t mtu) {
  const Cable& cable = is_a ? cable_a : cable_b;
  space.must(bridge_lines(cable.interface, mtu));
  return machine(guest, desk, cable.mac, mtu);
}

}  // namespace

VirtualHost::VirtualHost(const Sites& sites, bool is_a, const Folder& folder,
                         const std::string& guest, uint32_t mtu)
    : desk_(make_desk(folder.path(is_a ? "host_a" : "host_b"), guest, is_a ? site_a : site_b, mtu)),
      machine_(sites.namespace_of(is_a ? At::HostA : At::HostB),
               prepare(sites.space(is_a ? At::HostA : At::HostB), desk_, guest, is_a, mtu)) {}

void VirtualHost::wait_ready(std::chrono::seconds most) {
  const auto end = Time::now() + most;
  while (!std::filesystem::exists(desk_ + "/ready")) {
    if (machine_.has_ended() || Time::now() > end) {
      throw std::runtime_error("a virtual host does not come up: " + machine_.out_so_far() +
                               machine_.err_so_far());
    }
    std::this_thread::sleep_for(look_every);
  }
}

std::string VirtualHost::file(int number, const char* what) const {
  return desk_ + "/" + std::to_string(number) + what;
}

int VirtualHost::start(const std::string& script) {
  write_file(file(next_, ".sh"), script);
  return next_++;
}

bool VirtualHost::has_ended(int number) const {
  return std::filesystem::exists(file(number, ".status"));
}

std::string VirtualHost::out_so_far(int number) const { return read_file(file(number, ".out")); }

Outcome VirtualHost::finish(int number, std::chrono::seconds most) {
  const auto end = Time::now() + most;
  while (!has_ended(number) && Time::now() < end && !machine_.has_ended()) {
    std::this_thread::sleep_for(look_every);
  }
  Outcome outcome{-1, out_so_far(number), read_file(file(number, ".err"))};
  if (has_ended(number)) outcome.status = std::stoi(read_file(file(number, ".status")));
  return outcome;
}

bool VirtualHost::wait_for_listeners(unsigned count, std::chrono::seconds most) {
  // Programs take their time to start there: the second look only where the first is not enough.
  const std::string enough = " >= " + std::to_string(count) + "))";
  const std::string look = "until tcp=$(cat /proc/net/tcp /proc/net/tcp6 | grep -c ' 0A '); ((tcp" +
                           enough + " || ((tcp + $(rdma resource show cm_id | grep -c LISTEN)" +
                           enough + "; do sleep 0.1; done";
  return run(look, most).status == 0;
}

uint64_t VirtualHost::counter(const std::string& name) {
  const Outcome outcome =
      run("cat /sys/class/infiniband/rx0/ports/1/hw_counters/" + name, std::chrono::seconds(30));
  if (outcome.status != 0) throw std::runtime_error("no counter " + name + ": " + outcome.err);
  return std::stoull(outcome.out);
}

uint64_t VirtualHost::retransmits() {
  const Outcome outcome =
      run("cd /sys/class/infiniband && cat */ports/1/hw_counters/{rcvd_seq_err,out_of_seq_request,"
          "duplicate_request,completer_retry_err}",
          std::chrono::seconds(30));
  uint64_t sum = 0;
  std::istringstream lines(outcome.out);
  for (uint64_t each; lines >> each;) sum += each;
  return sum;
}

}  // namespace cw::lab
