#include "dataplane/port/xdp/steering/steering_place.h"

#include <bpf/libbpf.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <xdp/libxdp.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/kernel/kernel_interface.h"

namespace cw {
namespace {

constexpr const char* program_name = "causeway_xdp";

/// A name in this network namespace: nobody else can bind it while the descriptor is open, and it
/// goes with the process, however that ends.
OwnedFd claim_name(uint32_t index) {
  const std::string name = "causeway-xdp-" + std::to_string(index);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 2);
  OwnedFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const bool is_ours =
      fd.get() >= 0 && bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), bytes) == 0;
  return is_ours ? std::move(fd) : OwnedFd();
}

bool is_named_as_ours(const xdp_program* program) {
  return program != nullptr && xdp_program__name(program) != nullptr &&
         std::string_view(xdp_program__name(program)) == program_name;
}

/// All programs of an interface, while it lives.
class Programs {
 public:
  explicit Programs(int index) : index_(index), all_(xdp_multiprog__get_from_ifindex(index)) {
    if (libxdp_get_error(all_) != 0) all_ = nullptr;
  }
  ~Programs() {
    if (all_ != nullptr) xdp_multiprog__close(all_);
  }
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  bool has_dispatcher() const { return all_ != nullptr && !xdp_multiprog__is_legacy(all_); }
  std::vector<xdp_program*> ours() const {
    std::vector<xdp_program*> found;
    if (all_ == nullptr) return found;
    if (!has_dispatcher()) {
      xdp_program* const only = xdp_multiprog__main_prog(all_);
      if (is_named_as_ours(only)) found.push_back(only);
      return found;
    }
    for (xdp_program* each = nullptr; (each = xdp_multiprog__next_prog(each, all_)) != nullptr;) {
      if (is_named_as_ours(each)) found.push_back(each);
    }
    return found;
  }
  void take_ours_off() const {
    const auto left = ours();
    if (!left.empty() && !has_dispatcher()) return (void)xdp_multiprog__detach(all_);
    const xdp_attach_mode mode = left.empty() ? XDP_MODE_UNSPEC : xdp_multiprog__attach_mode(all_);
    for (xdp_program* each : left) xdp_program__detach(each, index_, mode, 0);
  }

 private:
  int index_;
  xdp_multiprog* all_;
};

uint32_t id_at(int index) {
  uint32_t id = 0;
  return bpf_xdp_query_id(index, 0, &id) == 0 ? id : 0;
}

xdp_attach_mode mode_of(const SteeringStand& stand) {
  return stand.is_native ? XDP_MODE_NATIVE : XDP_MODE_SKB;
}

}  // namespace

Result<void> SteeringPlace::claim() {
  constexpr int tries = 200, wait_us = 10'000;
  const uint32_t index = kernel_index(interface_);
  for (int i = 0; i < tries && !try_claim(index); ++i) usleep(wait_us);
  if (name_.get() >= 0) return {};
  return failure("device: " + interface_ +
                 " has a gateway's XDP program already, of a process that runs; stop it, or "
                 "take another interface");
}

bool SteeringPlace::try_claim(uint32_t index) {
  name_ = claim_name(index);
  if (name_.get() < 0) return false;
  Programs(index).take_ours_off();
  return true;
}

int SteeringPlace::spread(uint32_t queues) {
  const uint32_t before = kernel_rx_queues(interface_);
  if (before == queues) return 0;
  if (const int reason = set_kernel_rx_queues(interface_, queues)) return reason;
  queues_ = queues;
  queues_before_ = before;
  return 0;
}

/// A kernel that has not let go of the sockets yet refuses, for a moment.
void SteeringPlace::spread_as_before() const {
  constexpr int tries = 100, wait_us = 20'000;
  if (queues_before_ == 0 || kernel_rx_queues(interface_) != queues_) return;
  for (int i = 0; i < tries && set_kernel_rx_queues(interface_, queues_before_) != 0; ++i) {
    usleep(wait_us);
  }
}

int SteeringPlace::put(xdp_program* program, uint32_t index) {
  stand_ = {};
  if (queues_ > 0 && kernel_rx_queues(interface_) != queues_) {
    set_kernel_rx_queues(interface_, queues_);
  }
  int error = xdp_program__attach(program, index, XDP_MODE_NATIVE, 0);
  stand_.is_native = error == 0;
  if (error == -EOPNOTSUPP || error == -ERANGE || error == -EINVAL) {
    error = xdp_program__attach(program, index, XDP_MODE_SKB, 0);
  }
  if (error != 0) return -error;
  stand_.index = index;
  stand_.has_dispatcher = Programs(index).has_dispatcher();
  id_ = id_at(index);
  return 0;
}

bool SteeringPlace::is_there() {
  if (stand_.index == 0) return false;
  const uint32_t id = id_at(stand_.index);
  // Others come and go, and have the dispatcher made anew.
  if (id == id_ || (id != 0 && !Programs(stand_.index).ours().empty())) {
    id_ = id;
    return true;
  }
  return false;
}

void SteeringPlace::take_off(xdp_program* program) {
  if (stand_.index != 0) xdp_program__detach(program, stand_.index, mode_of(stand_), 0);
  stand_ = {};
}

Error SteeringPlace::refusal(int reason) const {
  if (reason == EPERM || reason == EACCES) {
    return {"device: " + interface_ +
            " takes a program of ours only with CAP_NET_ADMIN, CAP_NET_RAW, CAP_IPC_LOCK and "
            "CAP_SYS_ADMIN, as libxdp gets programs by their number; run as root, or see "
            "configs/causewayd@.service.d/af-xdp.conf"};
  }
  if (reason == EBUSY || reason == EEXIST) {
    return {"device: " + interface_ +
            " has another XDP program, and there is no dispatcher to put ours beside it, which "
            "takes bpffs (`mount -t bpf bpf /sys/fs/bpf`) and a kernel that lets programs replace "
            "functions; else take the other one off (`ip link set dev " +
            interface_ + " xdp off`)"};
  }
  return {"device: the kernel does not take our XDP program on " + interface_ + ": " +
          std::strerror(reason)};
}

}  // namespace cw
