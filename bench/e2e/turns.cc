#include "bench/e2e/turns.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "bench/machine.h"
#include "dataplane/base/assert.h"

namespace cw::bench {
namespace {

constexpr size_t row_turns = 64;  // work that comes once in many turns, once in all of them

double median_of_rows(const std::vector<double>& turns) {
  std::vector<double> rows;
  for (size_t first = 0; first + row_turns <= turns.size(); first += row_turns) {
    const auto begin = turns.begin() + static_cast<ptrdiff_t>(first);
    rows.push_back(std::accumulate(begin, begin + row_turns, 0.0) / row_turns);
  }
  return median(std::move(rows));
}

}  // namespace

[[gnu::noinline]] bool counted_turn(site::Site& site, Instant now) { return site.turn(now); }

Turns::Turns(std::array<site::Site*, 2> sites, const Setup& setup)
    : sites_(sites), setup_(setup), now_(clock_.read()) {
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
    if (self == 1) now_ += setup_.step;
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
  site::Site& site = *sites_[self];
  return self == setup_.counted ? counted_turn(site, now_) : site.turn(now_);
}

void Turns::turn(unsigned self) {
  if (self == 0) is_measured_ = left_.load(std::memory_order_acquire) > 0;  // the pair
  const Instant before = clock_.read();
  const size_t turns_max = self == 0 ? 1 : 4;
  for (size_t i = 0; i < turns_max && try_turn(self); ++i) {
  }
  const Instant after = clock_.read();
  if (!is_measured_) return;
  ns_[self].push_back(static_cast<double>((after - before).ns()));
  if (self == 1) left_.fetch_sub(1, std::memory_order_release);
}

std::array<double, 2> Turns::measure(size_t turns) {
  CW_ASSERT(turns >= row_turns && left_ == 0);
  for (auto& each : ns_) {
    each.clear();
    each.reserve(turns + 1);
  }
  left_.store(turns, std::memory_order_release);
  while (left_.load(std::memory_order_acquire) > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {median_of_rows(ns_[0]), median_of_rows(ns_[1])};
}

}  // namespace cw::bench
