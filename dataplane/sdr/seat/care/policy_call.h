// Which policy a thread is calling now, for whoever asks why it does not come back.
#pragma once

#include <atomic>

namespace cw::sdr {

class PolicyInstance;

/// A thread's own place. Another may read it; what it points to lives while the call does, and no
/// longer than nobody destroys policies.
using PolicyCallPlace = std::atomic<const PolicyInstance*>;

/// Initial-exec: a load from the thread's own segment, in libraries too.
inline thread_local PolicyCallPlace policy_call [[gnu::tls_model("initial-exec")]] = nullptr;

/// Around a call. Cost: two stores.
class PolicyCall {
 public:
  explicit PolicyCall(const PolicyInstance& its) { policy_call.store(&its, order); }
  ~PolicyCall() { policy_call.store(nullptr, order); }
  PolicyCall(const PolicyCall&) = delete;
  PolicyCall& operator=(const PolicyCall&) = delete;

 private:
  static constexpr auto order = std::memory_order_relaxed;
};

}  // namespace cw::sdr
