#include "control/perf/message/traffic.h"

#include <array>
#include <utility>

namespace cw::perf {

Traffic::Traffic(group::MessageWorld& world) : world_(world) {}

void Traffic::begin(const Order& order) {
  if (free_.empty()) {
    free_.push_back(flows_.size());
    flows_.emplace_back();
  }
  const uint64_t number = free_.back();
  free_.pop_back();
  flows_[number] = {.order = order, .begun = world_.now()};
  ++open_;
  if (!waiting_.empty() || !try_post(number)) waiting_.push_back(number);
}

/// False: for later.
bool Traffic::try_post(uint64_t number) {
  Flow& flow = flows_[number];
  const Order& order = flow.order;
  if (!flow.is_posted_there) {
    const auto there = world_.messages(order.to).post_receive({.from = order.from,
                                                               .step = order.step,
                                                               .memory = order.target,
                                                               .bytes = order.bytes,
                                                               .cookie = number},
                                                              world_.now());
    if (!there && there.error().is_for_now) return false;
    world_.touch(order.to);
    flow.is_posted_there = true;
  }
  const auto here = world_.messages(order.from)
                        .post_send({.to = order.to,
                                    .step = order.step,
                                    .memory = order.source,
                                    .bytes = order.bytes,
                                    .step_bytes = order.step_bytes,
                                    .cookie = number},
                                   world_.now());
  world_.touch(order.from);
  return here || !here.error().is_for_now;
}

void Traffic::post_waiting() {
  for (size_t count = waiting_.size(); count > 0; --count) {
    const uint64_t number = waiting_.front();
    waiting_.pop_front();
    if (!try_post(number)) waiting_.push_back(number);
  }
}

void Traffic::gather(const std::function<void(const Ended&)>& on_ended) {
  std::array<group::Completion, 64> completions;
  for (size_t rank = 0; rank < world_.members(); ++rank) {
    while (const size_t count = world_.messages(rank).poll(completions)) {
      for (const auto& each : std::span(completions).first(count)) note(each, on_ended);
    }
  }
  if (!waiting_.empty()) post_waiting();
}

void Traffic::note(const group::Completion& completion,
                   const std::function<void(const Ended&)>& on_ended) {
  Flow& flow = flows_[completion.cookie];
  if (!completion.is_send) flow.arrived = completion.at;
  if (!completion.is_whole) {
    flow.is_whole = false;
    flow.why = "a message of host " + std::to_string(flow.order.from) + " to " +
               std::to_string(flow.order.to) + " failed, reason " +
               std::to_string(static_cast<int>(completion.reason)) + " of SPEC.md 18.16";
  }
  if (!completion.is_send && completion.is_whole && hear_) hear_(flow.order);
  if (++flow.ends < 2) return;
  const Ended ended{.order = flow.order,
                    .begun = flow.begun,
                    .arrived = flow.arrived,
                    .is_whole = flow.is_whole,
                    .why = std::move(flow.why)};
  free_.push_back(completion.cookie);
  --open_;
  on_ended(ended);
}

}  // namespace cw::perf
