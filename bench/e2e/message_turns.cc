// message_turns: what a turn of a member of a group of messages costs, per datagram that it sends
// or receives, under each policy. One member sends to another over a wire in memory, so many
// messages at a time; nothing is lost. The wire's copies count: one out, one in, and one to where
// it belongs.
//
// Instructions instead, at one end:
//
//   valgrind --tool=callgrind --toggle-collect='*counted_turn*' --callgrind-out-file=/dev/null
//            build/bin/message_turns --policies csa_ud --rounds 1 --count receiver
//
// Exit codes: 0 done, 2 arguments, 3 it cannot be measured here.
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/e2e/memory_ports.h"
#include "bench/machine.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "control/perf/message/load_report.h"
#include "dataplane/base/prng.h"
#include "dataplane/message/end/message_end.h"

namespace {

using namespace cw;
using namespace cw::group;

constexpr int exit_refused = 2, exit_failed = 3;
constexpr uint8_t key[] = "what both members share, and nobody else";

struct Arguments {
  std::vector<std::string> policies = {"csa_ud", "irn", "nack_fixed", "rto_only", "go_back_n"};
  uint64_t bytes = 1 << 20;
  uint32_t payload = 1024, open = 8, rounds = 5, messages = 64;
  std::string counted = "receiver";
  bool is_json = false;
};

[[gnu::noinline]] void counted_turn(MessageEnd& end, Instant now) { end.turn(now); }
[[gnu::noinline]] void other_turn(MessageEnd& end, Instant now) { end.turn(now); }

class Pair {
 public:
  Pair(const Arguments& arguments, const std::string& policy)
      : arguments_(arguments),
        wire_(4096, arguments.payload + limits::group_header_bytes),
        sent_(arguments.bytes, 7),
        received_(arguments.bytes * arguments.open) {
    perf::MessageOptions choice;
    choice.policy = policy;
    if (auto chosen = perf::choose(choice, recovery_); !chosen) fail(chosen.error().sentence);
    for (const uint16_t rank : {0, 1}) ends_[rank] = make(rank);
    while (!ends_[0]->messages().is_up() || !ends_[1]->messages().is_up()) turn();
  }

  /// Nanoseconds of both per datagram, over so many messages.
  std::pair<double, double> measure() {
    for (uint32_t i = 0; i < arguments_.open; ++i) post(i);
    ns_ = {};
    for (uint32_t left = arguments_.messages; left > 0;) {
      turn();
      left -= std::min(left, take(left));
    }
    while (open_ > 0) turn(), take(0);
    const uint64_t slots = (arguments_.bytes + arguments_.payload - 1) / arguments_.payload;
    const auto datagrams = static_cast<double>(slots * done_);
    return {ns_[0] / datagrams, ns_[1] / datagrams};
  }
  uint64_t datagrams() const {
    return (arguments_.bytes + arguments_.payload - 1) / arguments_.payload * done_;
  }

 private:
  [[noreturn]] static void fail(const std::string& why) { throw std::runtime_error(why); }

  std::unique_ptr<MessageEnd> make(uint16_t rank) {
    MessageEndOptions options;
    options.rank = rank;
    options.addresses = {"first", "second"};
    // What comes is of peer 0 at both.
    options.peers = rank == 0 ? std::vector<uint16_t>{1, 0} : std::vector<uint16_t>{0, 1};
    options.key = key;
    options.random = RandomSource::of(prng_);
    options.rate = Rate::from_gbps(100);
    options.payload_bytes = arguments_.payload;
    options.rtt = Duration::from_us(20);
    options.reorder = Duration::from_us(20);
    options.bytes_max = arguments_.bytes;
    options.policy = recovery_.choice;
    options.fallback = recovery_.fallback;
    auto made = MessageEnd::make(rank == 0 ? *wire_.a : *wire_.b, options);
    if (!made) fail(made.error().sentence);
    return std::move(*made);
  }

  void post(uint32_t place) {
    const Step step{++steps_};
    uint8_t* const memory = &received_[place * arguments_.bytes];
    const auto in = ends_[1]->messages().post_receive(
        {.from = 0, .step = step, .memory = memory, .bytes = arguments_.bytes, .cookie = place},
        now_);
    const auto out = ends_[0]->messages().post_send({.to = 1,
                                                     .step = step,
                                                     .memory = sent_.data(),
                                                     .bytes = arguments_.bytes,
                                                     .step_bytes = arguments_.bytes,
                                                     .is_last = true},
                                                    now_);
    if (!in || !out) fail(!in ? in.error().why : out.error().why);
    ++open_;
  }

  /// What has come gives way to another message, as long as some are wanted.
  uint32_t take(uint32_t wanted) {
    std::array<Completion, 64> ended;
    (void)ends_[0]->messages().poll(ended);
    const size_t count = ends_[1]->messages().poll(ended);
    for (size_t i = 0; i < count; ++i) {
      if (!ended[i].is_whole) fail("a message did not come whole");
      --open_;
      ++done_;
      if (wanted > open_) post(static_cast<uint32_t>(ended[i].cookie));
    }
    return static_cast<uint32_t>(count);
  }

  /// Of both, a burst of datagrams apart at the members' rate.
  void turn() {
    now_ += Duration::from_us(3);
    for (const uint16_t rank : {0, 1}) {
      const auto begun = std::chrono::steady_clock::now();
      const bool is_counted = (rank == 0) == (arguments_.counted == "sender");
      (is_counted ? counted_turn : other_turn)(*ends_[rank], now_);
      ns_[rank] +=
          std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begun)
              .count();
    }
  }

  const Arguments& arguments_;
  bench::MemoryWire wire_;
  std::vector<uint8_t> sent_, received_;
  perf::Recovery recovery_;
  Prng prng_{1};
  std::array<std::unique_ptr<MessageEnd>, 2> ends_;
  Instant now_ = Instant::from_ns(1'000'000);
  uint32_t steps_ = 0;
  uint32_t open_ = 0;
  uint64_t done_ = 0;
  std::array<double, 2> ns_{};
};

Json measure(const Arguments& arguments, const std::string& policy) {
  std::vector<double> sender, receiver;
  uint64_t datagrams = 0;
  for (uint32_t round = 0; round < arguments.rounds; ++round) {
    Pair pair(arguments, policy);
    const auto [out, in] = pair.measure();
    sender.push_back(out);
    receiver.push_back(in);
    datagrams += pair.datagrams();
  }
  return {{"policy", policy},
          {"sender_ns", bench::median(sender)},
          {"receiver_ns", bench::median(receiver)},
          {"datagrams", datagrams}};
}

void run(const Arguments& arguments) {
  if (!arguments.is_json) {
    std::printf(
        "messages of %llu bytes in datagrams of %u, %u at a time\n\n"
        "| policy | ns a datagram, sending | receiving | datagrams |\n|---|---|---|---|\n",
        static_cast<unsigned long long>(arguments.bytes), arguments.payload, arguments.open);
  }
  Json all = Json::array();
  for (const std::string& policy : arguments.policies) {
    all.push_back(measure(arguments, policy));
    if (arguments.is_json) continue;
    const Json& row = all.back();
    std::printf("| `%s` | %.0f | %.0f | %llu |\n", policy.c_str(),
                row.at("sender_ns").get<double>(), row.at("receiver_ns").get<double>(),
                static_cast<unsigned long long>(row.at("datagrams").get<uint64_t>()));
    std::fflush(stdout);
  }
  if (arguments.is_json) std::printf("%s\n", all.dump().c_str());
}

}  // namespace

int main(int count, char** words) {
  Arguments it;
  CommandLine line("What a turn of a member costs, per datagram of a message.",
                   "message_turns --policies csa_ud,irn");
  line.add_option("--policies", it.policies, "at the receiver").delimiter(',');
  line.add_option("--bytes", it.bytes, "of a message").between(1, 1 << 24).shows_default();
  line.add_option("--payload", it.payload, "bytes of a slot").between(224, 1700).shows_default();
  line.add_option("--open", it.open, "messages at a time").between(1, 64).shows_default();
  line.add_option("--messages", it.messages, "of a round").between(1, 1'000'000).shows_default();
  line.add_option("--rounds", it.rounds, "the median counts").between(1, 1000).shows_default();
  line.add_option("--count", it.counted, "whose turns are counted_turn()")
      .one_of({"sender", "receiver"});
  line.add_flag("--json", it.is_json, "all of it on one line");
  if (const auto status = line.parse_or_end(count, words, exit_refused)) return *status;
  try {
    run(it);
    return 0;
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "message_turns: %s\n", error.what()), exit_failed;
  }
}
