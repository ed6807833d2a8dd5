#include "dataplane/port/tun/tun_steering.h"

#include <linux/bpf.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "dataplane/wire/outer/ip_layout.h"

namespace cw {
namespace {

namespace v4 = ip_layout::v4;
namespace v6 = ip_layout::v6;

constexpr int protocol_sctp = 132;
constexpr int more_or_later_fragment = 0x3fff;  // of IPv4's fragment field, all but "don't"
constexpr uint64_t seed = 0x243f6a8885a308d3, multiplier = 0x9e3779b97f4a7c15;

// Loads clobber the first six registers. `at` is where something lies in the packet.
enum Register : uint8_t { loaded = 0, argument = 1, context = 6, at = 7, hash = 8, factor = 9 };

/// Instructions in a row. All jumps lead forward.
class Program {
 public:
  using Jump = size_t;

  void set(Register to, int32_t value) { add({BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value}); }
  void copy(Register to, Register from) { add({BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0}); }
  void set_wide(Register to, uint64_t value);
  void compute(uint8_t operation, Register on, int32_t value) {
    add({static_cast<uint8_t>(BPF_ALU64 | operation | BPF_K), on, 0, 0, value});
  }
  void compute(uint8_t operation, Register on, Register with) {
    add({static_cast<uint8_t>(BPF_ALU64 | operation | BPF_X), on, with, 0, 0});
  }
  /// BPF_B, BPF_H or BPF_W of the packet, in the host's order. A packet that is shorter ends the
  /// program with 0.
  void load(uint8_t size, size_t offset) {
    add({static_cast<uint8_t>(BPF_LD | BPF_ABS | size), 0, 0, 0, static_cast<int32_t>(offset)});
  }
  void load_at() { add({BPF_LD | BPF_IND | BPF_W, 0, at, 0, 0}); }

  /// If what was loaded compares like this; land() says where to.
  [[nodiscard]] Jump jump_if(uint8_t comparison, int32_t value) {
    add({static_cast<uint8_t>(BPF_JMP | comparison | BPF_K), loaded, 0, 0, value});
    return steps_.size() - 1;
  }
  [[nodiscard]] Jump jump() {
    add({BPF_JMP | BPF_JA, 0, 0, 0, 0});
    return steps_.size() - 1;
  }
  void land(Jump jump) { steps_[jump].off = static_cast<int16_t>(steps_.size() - jump - 1); }
  void exit() { add({BPF_JMP | BPF_EXIT, 0, 0, 0, 0}); }

  const std::vector<bpf_insn>& steps() const { return steps_; }

 private:
  void add(const bpf_insn& step) { steps_.push_back(step); }

  std::vector<bpf_insn> steps_;
};

void Program::set_wide(Register to, uint64_t value) {
  add({BPF_LD | BPF_DW | BPF_IMM, to, 0, 0, static_cast<int32_t>(value)});
  add({0, 0, 0, 0, static_cast<int32_t>(value >> 32)});
}

/// Takes what was loaded into the hash.
void mix(Program& program) {
  program.compute(BPF_XOR, hash, loaded);
  program.compute(BPF_MUL, hash, factor);
  program.copy(loaded, hash);
  program.compute(BPF_RSH, loaded, 32);
  program.compute(BPF_XOR, hash, loaded);
}

void mix_words(Program& program, size_t offset, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 4) {
    program.load(BPF_W, offset + i);
    mix(program);
  }
}

/// Leaves the protocol loaded, and where its ports would be. Returns who has none: fragments.
Program::Jump mix_v4(Program& program) {
  mix_words(program, v4::addresses, v4::addresses_bytes);
  program.load(BPF_B, v4::protocol);
  mix(program);
  program.load(BPF_B, 0);
  program.compute(BPF_AND, loaded, 15);
  program.compute(BPF_LSH, loaded, 2);
  program.copy(at, loaded);
  program.load(BPF_H, v4::fragment);
  const auto is_fragment = program.jump_if(BPF_JSET, more_or_later_fragment);
  program.load(BPF_B, v4::protocol);
  return is_fragment;
}

/// The same. A fragment's next header is none that has ports, nor is any other extension.
void mix_v6(Program& program) {
  mix_words(program, v6::addresses, v6::addresses_bytes);
  program.load(BPF_B, v6::next_header);
  mix(program);
  program.set(at, v6::bytes);
  program.load(BPF_B, v6::next_header);
}

void mix_ports(Program& program) {
  const auto is_tcp = program.jump_if(BPF_JEQ, ip_layout::protocol_tcp);
  const auto is_udp = program.jump_if(BPF_JEQ, ip_layout::protocol_udp);
  const auto has_none = program.jump_if(BPF_JNE, protocol_sctp);
  program.land(is_tcp);
  program.land(is_udp);
  program.load_at();
  mix(program);
  program.land(has_none);
}

Program flow_program() {
  Program program;
  program.copy(context, argument);
  program.set_wide(hash, seed);
  program.set_wide(factor, multiplier);
  program.load(BPF_B, 0);
  program.compute(BPF_RSH, loaded, 4);
  const auto is_v6 = program.jump_if(BPF_JEQ, 6);
  const auto is_no_ip = program.jump_if(BPF_JNE, 4);
  const auto is_fragment = mix_v4(program);
  const auto is_v4 = program.jump();
  program.land(is_v6);
  mix_v6(program);
  program.land(is_v4);
  mix_ports(program);
  program.land(is_no_ip);
  program.land(is_fragment);
  // The kernel looks at sixteen bits of the answer. The best are those that all others went into.
  program.compute(BPF_MUL, hash, factor);
  program.compute(BPF_RSH, hash, 48);
  program.copy(loaded, hash);
  program.exit();
  return program;
}

/// Returns the descriptor of the program in the kernel, or a negative errno.
int load_program(const Program& program) {
  const char license[] = "";
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
  attributes.insn_cnt = static_cast<uint32_t>(program.steps().size());
  attributes.insns = reinterpret_cast<uintptr_t>(program.steps().data());
  attributes.license = reinterpret_cast<uintptr_t>(license);
  const long fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof attributes);
  return fd < 0 ? -errno : static_cast<int>(fd);
}

Result<void> steering_failure(int error) {
  if (error == EPERM || error == EACCES) {
    return failure(
        "no right to keep flows apart on the queues of a TUN device; grant CAP_BPF "
        "(CAP_SYS_ADMIN before Linux 5.8), and to a service the system call bpf, or have one core");
  }
  return failure(
      std::string("this kernel cannot keep flows apart on the queues of a TUN device (bpf, "
                  "TUNSETSTEERINGEBPF: ") +
      std::strerror(error) + "); have one core");
}

}  // namespace

Result<void> steer_by_flow(int tun_fd) {
  int fd = load_program(flow_program());
  if (fd < 0) return steering_failure(-fd);
  const int error = ioctl(tun_fd, TUNSETSTEERINGEBPF, &fd) == 0 ? 0 : errno;
  close(fd);  // the device keeps the program
  return error == 0 ? Result<void>() : steering_failure(error);
}

}  // namespace cw
