#include "bench/e2e/xdp/frame_flood.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <net/if.h>
#include <sched.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "bench/e2e/xdp/frames.skel.h"
#include "bench/machine.h"

namespace cw::bench {
namespace {

/// Of one call, behind which the kernel waits tens of milliseconds for its pages.
constexpr int frames_together = 1 << 22;

void must(bool is_done, const char* what) {
  if (!is_done) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

FrameFlood::FrameFlood(const lab::Space& space, const std::string& interface,
                       std::vector<uint8_t> frame, uint64_t per_second, unsigned core)
    : frame_(std::move(frame)) {
  thread_ = std::thread([this, fd = space.fd(), interface, per_second, core] {
    try {
      must(try_bind_to(core), "no core for a flood");
      must(setns(fd, CLONE_NEWNET) == 0, "no namespace for a flood");
      load(interface, per_second);
      run();
    } catch (...) {
      failure_ = std::current_exception();
      has_failed_ = true;
    }
  });
  while (!is_loaded_ && !has_failed_) std::this_thread::yield();
}

FrameFlood::~FrameFlood() {
  if (is_loaded_) __atomic_store_n(&program_->bss->is_over, 1, __ATOMIC_RELAXED);
  thread_.join();
  if (program_ != nullptr) frames_bpf__destroy(program_);
}

uint64_t FrameFlood::sent() const {
  if (has_failed_) std::rethrow_exception(failure_);
  return __atomic_load_n(&program_->bss->sent, __ATOMIC_RELAXED);
}

void FrameFlood::load(const std::string& interface, uint64_t per_second) {
  program_ = frames_bpf__open();
  must(program_ != nullptr, "no program that sends frames");
  program_->rodata->interface = if_nametoindex(interface.c_str());
  program_->rodata->interval_ns = per_second == 0 ? 0 : 1'000'000'000 / per_second;
  must(frames_bpf__load(program_) == 0, "the kernel takes no program that sends frames");
  is_loaded_ = true;
}

void FrameFlood::run() {
  while (__atomic_load_n(&program_->bss->is_over, __ATOMIC_RELAXED) == 0) {
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame_.data();
    options.data_size_in = static_cast<uint32_t>(frame_.size());
    options.repeat = frames_together;
    options.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
    const int program = bpf_program__fd(program_->progs.send);
    must(bpf_prog_test_run_opts(program, &options) == 0, "the kernel sends no frames of a program");
  }
}

}  // namespace cw::bench
