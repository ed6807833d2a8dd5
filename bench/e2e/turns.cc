#include "bench/e2e/turns.h"

#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <utility>

#include "bench/machine.h"
#include "dataplane/base/assert.h"

namespace cw::bench {
[[gnu::noinline]] bool counted_turn(site::Site& site, Instant now) { return site.turn(now); }

Turns::Turns(const std::vector<SitePair>& pairs, const Setup& setup) : setup_(setup) {
  for (const SitePair& sites : pairs) pairs_.emplace_back(sites, clock_.read());
  for (const unsigned self : {0, 1}) threads_[self] = std::thread([this, self] { run(self); });
}

Turns::~Turns() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void Turns::run(unsigned self) {
  (void)try_bind_to(setup_.cores[self]);
  pthread_setname_np(pthread_self(), self == 0 ? "sender" : "receiver");  // for perf
  while (wait_for_turn(self)) {
    turn(self);
    if (self == 1) end_turn();
    whose_.store(1 - self, std::memory_order_release);
  }
}

bool Turns::wait_for_turn(unsigned self) const {
  constexpr unsigned patience = 100000;  // then the other has no core, and needs this one
  for (unsigned looks = 0; whose_.load(std::memory_order_acquire) != self; ++looks) {
    if (stop_) return false;
    if (looks >= patience || setup_.cores[0] == setup_.cores[1]) sched_yield();
  }
  return !stop_;
}

/// Whether there was something to do.
bool Turns::try_turn(unsigned self) {
  const Pair& pair = pairs_[pair_];
  site::Site& site = *pair.sites[self];
  return self == setup_.counted ? counted_turn(site, pair.now) : site.turn(pair.now);
}

void Turns::turn(unsigned self) {
  const Instant before = clock_.read();
  const size_t turns_max = self == 0 ? 1 : 4;
  for (size_t i = 0; i < turns_max && try_turn(self); ++i) {
  }
  pairs_[pair_].row_ns[self] += static_cast<double>((clock_.read() - before).ns());
}

/// Of both.
void Turns::end_turn() {
  Pair& pair = pairs_[pair_];
  pair.now += setup_.step;
  ++pair.turns;
  if (++turns_ < row_turns) return;
  for (const unsigned self : {0, 1}) {
    if (is_measured_) pair.rows[self].push_back(pair.row_ns[self] / row_turns);
    pair.row_ns[self] = 0;
  }
  turns_ = 0;
  pair_ = (pair_ + 1) % pairs_.size();
  if (pair_ != 0) return;
  if (is_measured_) left_.fetch_sub(1, std::memory_order_release);
  is_measured_ = left_.load(std::memory_order_acquire) > 0;
}

std::vector<RowsNs> Turns::measure(size_t rows) {
  CW_ASSERT(rows > 0 && left_ == 0);
  left_.store(rows, std::memory_order_release);
  while (left_.load(std::memory_order_acquire) > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // Nobody writes there before more are asked for.
  std::vector<RowsNs> all;
  for (Pair& pair : pairs_) all.push_back(std::exchange(pair.rows, {}));
  return all;
}

}  // namespace cw::bench
