// DPDK 22.11 calls the handles of interrupts experimental; there is no other way to make one.
#define ALLOW_EXPERIMENTAL_API
#include "dataplane/port/dpdk/interrupt_call.h"

#include <rte_interrupts.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace cw {

Result<std::unique_ptr<InterruptCall>> InterruptCall::make(std::function<void()> work) {
  std::unique_ptr<InterruptCall> call(new InterruptCall(std::move(work)));
  call->event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  rte_intr_handle* const handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
  if (call->event_ < 0 || handle == nullptr || rte_intr_fd_set(handle, call->event_) != 0 ||
      rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT) != 0 ||
      rte_intr_callback_register(handle, on_event, call.get()) != 0) {
    rte_intr_instance_free(handle);
    return failure(
        "device: no event for DPDK's interrupt thread; `ulimit -n` tells how many "
        "descriptors a process may have");
  }
  call->handle_ = handle;
  return call;
}

InterruptCall::~InterruptCall() {
  if (handle_ != nullptr) {
    rte_intr_callback_unregister_sync(handle_, on_event, this);
    rte_intr_instance_free(handle_);
  }
  if (event_ >= 0) close(event_);
}

void InterruptCall::ask() {
  ++asked_;
  eventfd_write(event_, 1);
}

void InterruptCall::ask_and_wait() {
  const uint64_t mine = ++asked_;
  eventfd_write(event_, 1);
  for (uint64_t answered = answered_; answered < mine; answered = answered_) {
    answered_.wait(answered);
  }
}

void InterruptCall::on_event(void* call) {
  auto& self = *static_cast<InterruptCall*>(call);
  eventfd_t asks = 0;
  if (eventfd_read(self.event_, &asks) != 0) return;  // a stranger's event
  const uint64_t asked = self.asked_;
  self.work_();
  self.answered_ = asked;
  self.answered_.notify_all();
}

}  // namespace cw
