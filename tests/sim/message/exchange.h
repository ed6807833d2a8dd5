// Messages between members on a fabric, and whether they came as they were sent.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "control/perf/fabric/message_world.h"
#include "policies/policies.h"

namespace cw::group {

/// A policy with its parameters as they begin.
class ChosenPolicy {
 public:
  explicit ChosenPolicy(const char* name) {
    for (const cw_policy_ops* ops : policy::all()) {
      if (std::strcmp(ops->name, name) == 0) ops_ = ops;
    }
    EXPECT_NE(ops_, nullptr) << name;
    for (uint32_t i = 0; i < ops_->param_count; ++i) params_.push_back(ops_->params[i].initial);
  }
  sdr::PolicyChoice choice() const { return {ops_, params_}; }

 private:
  const cw_policy_ops* ops_ = nullptr;
  std::vector<double> params_;
};

/// A fabric that loses nothing.
inline MessageWorldOptions calm(uint16_t hosts, const char* policy = "csa_ud") {
  static const ChosenPolicy fallback("passthrough");
  static std::deque<ChosenPolicy> chosen;
  chosen.emplace_back(policy);
  MessageWorldOptions options;
  options.shape.hosts = hosts;
  options.shape.payload_bytes = 1024;
  options.policy = chosen.back().choice();
  options.fallback = fallback.choice();
  return options;
}

/// Posts, memory and completions of all members. Thread: one.
class Exchange {
 public:
  explicit Exchange(MessageWorld& world) : world_(world), completions_(world.members()) {}

  struct Options {
    Step step = Step(1);
    uint64_t bytes = 10'000;
    Duration deadline;
    bool is_last = false;
  };
  /// Returns the number of the memory, which both ends' completions bring.
  size_t send(uint16_t from, uint16_t to, const Options& options, bool is_for_pool = false) {
    const size_t number = add(options.bytes);
    fill(parts_[number].sent, number);
    parts_[number].from = from;
    const auto posted = world_.messages(from).post_send({.to = to,
                                                         .step = options.step,
                                                         .memory = parts_[number].sent.data(),
                                                         .bytes = options.bytes,
                                                         .cookie = number,
                                                         .deadline = options.deadline,
                                                         .is_last = options.is_last,
                                                         .is_for_pool = is_for_pool},
                                                        world_.now());
    EXPECT_TRUE(posted) << posted.error().why;
    if (posted) parts_[number].send = *posted;
    world_.touch(from);
    return number;
  }
  void receive(uint16_t at, uint16_t from, size_t number, const Options& options) {
    Part& part = parts_[number];
    part.received.assign(options.bytes, 0);
    const auto posted = world_.messages(at).post_receive({.from = from,
                                                          .step = options.step,
                                                          .memory = part.received.data(),
                                                          .bytes = options.bytes,
                                                          .cookie = number,
                                                          .deadline = options.deadline},
                                                         world_.now());
    EXPECT_TRUE(posted) << posted.error().why;
    if (posted) part.receive = *posted;
    world_.touch(at);
  }
  /// What nobody sends.
  size_t await(uint16_t at, uint16_t from, const Options& options) {
    const size_t number = add(options.bytes);
    receive(at, from, number, options);
    return number;
  }
  size_t both(uint16_t from, uint16_t to, const Options& options) {
    const size_t number = send(from, to, options);
    receive(to, from, number, options);
    return number;
  }
  /// Until so many completions are here at both ends together.
  bool run(size_t completions, Duration limit = Duration::from_s(20)) {
    return world_.run(limit, [&] { return gather() >= completions; });
  }
  size_t gather() {
    std::array<Completion, 64> out;
    for (size_t rank = 0; rank < world_.members(); ++rank) {
      while (const size_t count = world_.messages(rank).poll(out)) {
        completions_[rank].insert(completions_[rank].end(), out.begin(), out.begin() + count);
        count_ += count;
      }
    }
    return count_;
  }
  const std::vector<Completion>& completions(size_t rank) const { return completions_[rank]; }
  /// The only one of this number at this end.
  Completion completion(size_t rank, size_t number, bool is_send) const {
    Completion found;
    size_t count = 0;
    for (const Completion& each : completions_[rank]) {
      if (each.cookie == number && each.is_send == is_send) found = each, ++count;
    }
    EXPECT_EQ(count, 1u) << "message " << number << " at rank " << rank;
    return found;
  }
  void expect_whole() const {
    for (const auto& of_rank : completions_) {
      for (const Completion& each : of_rank) {
        EXPECT_TRUE(each.is_whole) << "message " << each.cookie << " of " << each.peer << ": "
                                   << static_cast<int>(each.reason);
        if (each.is_whole && !each.is_send) {
          EXPECT_EQ(parts_[each.cookie].sent, parts_[each.cookie].received) << each.cookie;
        }
      }
    }
  }
  /// What this rank has sent of this size, the only one.
  const std::vector<uint8_t>& sent_of(uint16_t from, uint64_t bytes) const {
    for (const Part& each : parts_) {
      if (each.from == from && each.sent.size() == bytes) return each.sent;
    }
    return parts_.front().sent;
  }
  MessageTicket sending(size_t number) const { return parts_[number].send; }
  MessageTicket receiving(size_t number) const { return parts_[number].receive; }

 private:
  struct Part {
    std::vector<uint8_t> sent, received;
    MessageTicket send, receive;
    uint16_t from = 0;
  };
  size_t add(uint64_t bytes) {
    parts_.emplace_back();
    parts_.back().sent.resize(bytes);
    return parts_.size() - 1;
  }
  static void fill(std::vector<uint8_t>& bytes, size_t number) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<uint8_t>((i * 131 + number * 7) >> 3);
    }
  }

  MessageWorld& world_;
  std::deque<Part> parts_;
  std::vector<std::vector<Completion>> completions_;
  size_t count_ = 0;
};

}  // namespace cw::group
