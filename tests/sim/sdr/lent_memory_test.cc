// Memory that an application lends is its own again when no packet names it any more, and not
// before, though the message be over: a port may refuse packets, and keep what it has taken.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "dataplane/port/impair/impaired_port.h"
#include "tests/sim/sdr/pair.h"

namespace cw::sim {
namespace {
using namespace literals;

constexpr uint64_t message_bytes = 20 * 1024;

/// Lends memory that is gone as soon as its stream has released it: a read after that is one of
/// memory that is free, and AddressSanitizer says so.
class Lending {
 public:
  explicit Lending(sdr::Source source) : source_(source) {
    memory_ = std::make_unique<uint8_t[]>(message_bytes);
    handle_ = *source.try_open({});
    EXPECT_TRUE(source.append(handle_, 0, {memory_.get(), message_bytes}));
    EXPECT_TRUE(source.close(handle_));
  }
  const sdr::SendHandle& handle() const { return handle_; }
  sdr::MessageStatus status() const { return source_.status(handle_); }
  bool try_free() {
    if (!source_.is_released(handle_)) return false;
    memory_.reset();
    return true;
  }

 private:
  sdr::Source source_;
  sdr::SendHandle handle_;
  std::unique_ptr<uint8_t[]> memory_;
};

TEST(LentMemory, is_not_free_while_the_port_refuses_its_packets) {
  WireScript script;
  Pair pair(reliable_pair(), script);
  pair.courier().stop();
  ASSERT_TRUE(pair.run_until([&] { return pair.are_up(); }, 1_s));
  pair.run_for(50_ms);
  // given: packets of a message that the port does not take
  script.is_full = true;
  const sdr::Source source = pair.a->sends();
  Lending lending(source);
  pair.run_for(5_ms);
  source.cancel(lending.handle(), pair.network().now());
  EXPECT_EQ(lending.status(), sdr::MessageStatus::GivenUp);
  pair.run_for(5_ms);
  EXPECT_FALSE(lending.try_free()) << "they name it, and will be sent";
  // when: it takes them
  script.is_full = false;
  EXPECT_TRUE(pair.run_until([&] { return lending.try_free(); }, 1_s));
  source.forget(lending.handle());
  EXPECT_TRUE(pair.run_until([&] { return source.is_idle(); }, 1_s)) << "its place is free again";
}

TEST(LentMemory, keeps_its_place_while_a_nic_has_what_it_has_sent) {
  WireScript script;
  script.linger = 300_ms;
  Pair pair(reliable_pair(), script);
  pair.courier().stop();
  pair.courier().post_nothing();
  ASSERT_TRUE(pair.run_until([&] { return pair.are_up(); }, 1_s));
  std::vector<uint8_t> target(message_bytes);
  const auto receive = pair.b->receives().try_post(target);
  ASSERT_TRUE(receive);
  pair.run_for(50_ms);
  const sdr::Source source = pair.a->sends();
  Lending lending(source);
  const auto is_done = [&] { return lending.status() == sdr::MessageStatus::Done; };
  EXPECT_TRUE(pair.run_until(is_done, 200_ms)) << "all of it has come";
  EXPECT_FALSE(lending.try_free());
  source.forget(lending.handle());
  ASSERT_TRUE(pair.b->receives().complete(*receive, pair.network().now()));
  pair.run_for(100_ms);
  EXPECT_FALSE(source.is_idle()) << "the next message there would count its packets";
  EXPECT_TRUE(pair.run_until([&] { return source.is_idle(); }, 500_ms));
}

/// A site whose port keeps for 40 ms what it has taken, and doubles half of it.
struct SlowSite {
  SimNetwork network{{.seed = 3, .wire_packets = 2048, .payload_max = 1024}};
  SimPort &near = network.add_port(), &far = network.add_port();
  SimPeers peers = network.join(near, far, {.delay = 1_ms});
  ImpairedPort slow{near, {.tx = {.duplicate = 0.5, .delay = 40_ms}}};
};

TEST(LentMemory, is_not_free_while_a_port_keeps_its_packets) {
  SlowSite slow;
  Stage stage(slow.network);
  PairOptions options = reliable_pair();
  options.b.seed = options.a.seed + 1;
  Site a(slow.slow, slow.peers.of_first, options.a, slow.network.now());
  Site b(slow.far, slow.peers.of_second, options.b, slow.network.now());
  stage.add(a);
  stage.add(b);
  const auto run_for = [&](Duration time) {
    (void)stage.run_until([] { return false; }, slow.network.now() + time);
  };
  run_for(500_ms);
  ASSERT_TRUE(a.is_up() && b.is_up());
  std::vector<uint8_t> target(message_bytes);
  ASSERT_TRUE(b.receives().try_post(target));
  run_for(100_ms);
  Lending lending(a.sends());
  run_for(5_ms);
  a.sends().cancel(lending.handle(), slow.network.now());
  EXPECT_EQ(lending.status(), sdr::MessageStatus::GivenUp);
  EXPECT_FALSE(lending.try_free());
  run_for(20_ms);
  EXPECT_FALSE(lending.try_free()) << "they have not left yet";
  run_for(30_ms);
  EXPECT_TRUE(lending.try_free());
  run_for(100_ms);
}

}  // namespace
}  // namespace cw::sim
