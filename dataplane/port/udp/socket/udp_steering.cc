#include "dataplane/port/udp/socket/udp_steering.h"

#include <linux/filter.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "dataplane/wire/control/envelope.h"
#include "dataplane/wire/opcode.h"
#include "dataplane/wire/roce.h"

namespace cw {
namespace {

constexpr uint16_t load_byte = BPF_LD | BPF_B | BPF_ABS, load_word = BPF_LD | BPF_W | BPF_ABS;
constexpr uint16_t jump_if_equal = BPF_JMP | BPF_JEQ | BPF_K;
constexpr uint16_t and_with = BPF_ALU | BPF_AND | BPF_K, subtract = BPF_ALU | BPF_SUB | BPF_K;
constexpr uint16_t divide_by = BPF_ALU | BPF_DIV | BPF_K, rest_of = BPF_ALU | BPF_MOD | BPF_K;
constexpr uint16_t return_it = BPF_RET | BPF_A;

/// A byte that has no meaning for us and the target QP behind it.
constexpr uint32_t qp_word = offsetof(Bth, target_qp) - 1;
constexpr uint32_t qp_mask = 0xffffff;

/// A load beyond the datagram's end makes the kernel answer 0.
Result<void> attach_program(int fd, uint16_t shards) {
  sock_filter steps[] = {
      {load_byte, 0, 0, offsetof(Bth, opcode)},
      {jump_if_equal, 0, 4, opcode_ud_send_only},
      {load_word, 0, 0, qp_word},
      {and_with, 0, 0, qp_mask},
      {subtract, 0, 0, control_qpn_default},
      {BPF_JMP | BPF_JA, 0, 0, 3},
      {load_word, 0, 0, qp_word},
      {and_with, 0, 0, qp_mask},
      {divide_by, 0, 0, qpns_per_link},
      {rest_of, 0, 0, limits::links_max},
      {rest_of, 0, 0, shards},
      {return_it, 0, 0, 0},
  };
  const sock_fprog program{.len = std::size(steps), .filter = steps};
  if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program) == 0) {
    return {};
  }
  return failure("udp_port: this kernel cannot steer packets to " + std::to_string(shards) +
                 " cores by their links (SO_ATTACH_REUSEPORT_CBPF: " + std::strerror(errno) +
                 "); have one core");
}

Result<void> let_share(int fd) {
  const int yes = 1;
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) == 0) return {};
  return failure(
      std::string("udp_port: this kernel cannot share it between cores (SO_REUSEPORT: ") +
      std::strerror(errno) + "); have one core");
}

}  // namespace

// Numbers below that of link 0 wrap round, which the rest of a division by 16 does not show.
static_assert((uint64_t{1} << 32) % limits::links_max == 0);

Result<void> prepare_share(int fd, const UdpShare& share) {
  return share.shard > 0 ? let_share(fd) : Result<void>();
}

/// The kernel has a row of sockets, to which a program belongs, only once there are two.
Result<void> begin_share(int fd, const UdpShare& share) {
  if (share.shards == 1) return {};
  return share.shard == 0 ? let_share(fd) : attach_program(fd, share.shards);
}

}  // namespace cw
