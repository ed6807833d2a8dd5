#include "control/daemon/adapt/adapting.h"

#include <pthread.h>
#include <sys/resource.h>

#include <utility>

#include "control/gateway/site/site.h"
#include "control/json/json.h"

namespace cw::daemon {
namespace {

/// It may take a second of a core, which packets have more use for.
constexpr int thinker_nice = 10;

}  // namespace

Adapting::Adapting(site::Site& site, const Log& log, std::function<void()> wake)
    : site_(site), log_(log), wake_(std::move(wake)) {}

Adapting::~Adapting() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  if (thinker_.joinable()) thinker_.join();
}

void Adapting::look(const site::SiteState& state) {
  auto questions = places_.questions(state, site_.plan());
  if (questions.empty() || is_stopped_) return;
  {
    const std::lock_guard lock(mutex_);
    if (asked_ || !answers_.empty()) return;
    asked_ = std::move(questions);
  }
  changed_.notify_one();
  if (thinker_.joinable()) return;
  thinker_ = std::thread([this] { think(); });
  pthread_setname_np(thinker_.native_handle(), "adapt");
}

void Adapting::think() {
  (void)setpriority(PRIO_PROCESS, 0, thinker_nice);  // of a thread alone, on Linux
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_over_ || asked_; });
    if (is_over_) return;
    const Questions questions = *asked_;
    lock.unlock();
    Answers answers = mind_.think(questions);
    lock.lock();
    answers_ = std::move(answers);
    asked_.reset();
    if (!answers_.empty()) wake_();
  }
}

bool Adapting::carry_out(Instant now, Duration patience) {
  Answers answers;
  {
    const std::lock_guard lock(mutex_);
    answers = std::exchange(answers_, {});
  }
  if (is_stopped_) return false;
  const auto order = [&](const site::SwapOrder& swap) { return site_.order_swap(swap, patience); };
  for (const site::AdaptAnswer& each : answers) {
    tell(each, places_.carry_out(each, site_.plan(), now, order));
  }
  return !answers.empty();
}

void Adapting::tell(const site::AdaptAnswer& answer, site::SiteAdapt::Carried carried) const {
  using Carried = site::SiteAdapt::Carried;
  if (carried == Carried::Outdated) return;
  const site::Plan& plan = site_.plan();
  log_.info(carried == Carried::Dry ? "would_adapt" : "adapted",
            {{"peer", plan.gateway.peers[answer.place.peer].name},
             {"class", plan.classes[answer.place.class_index].name},
             {"what", answer.decision.what}});
}

}  // namespace cw::daemon
