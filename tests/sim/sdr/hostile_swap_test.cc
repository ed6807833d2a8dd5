// What a peer with the key may say of swaps, out of turn: it changes nothing, and the link goes on.
#include <gtest/gtest.h>

#include <string>

#include "dataplane/sdr/seat/seat.h"
#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/swap/swap_end.h"
#include "tests/sim/sdr/liar.h"
#include "tests/sim/sdr/scribe.h"

namespace cw::sim {
namespace {
using namespace literals;

constexpr auto to_sink = SwapDirection::SourceIsSender, to_source = SwapDirection::SourceIsReceiver;

PairOptions knowing_pair() {
  PairOptions options = reliable_pair();
  options.a.knows = options.b.knows = {cw_policy_passthrough()};
  return options;
}

struct SwapLiar : Liar {
  SwapLiar() : Liar(knowing_pair()) { send_one_slot(); }
  const sdr::SwapEnd& sink() { return *pair.b->link().swap(0, CW_SINK); }
  const sdr::SwapEnd& source() { return *pair.b->link().swap(0, CW_SOURCE); }
  void expect_unmoved() {
    EXPECT_TRUE(sink().is_idle());
    EXPECT_TRUE(source().is_idle());
    EXPECT_EQ(count_at_b(Counter::policies_swapped), 0u);
    EXPECT_TRUE(pair.a->is_up() && pair.b->is_up());
    EXPECT_FALSE(pair.b->recv_stream().seat().is_swapping());
  }
};

TEST(HostileSwap, answers_to_what_was_never_asked_change_nothing) {
  SwapLiar liar;
  for (const uint32_t id : {0u, 1u, 41u, 0x7fff'ffffu, 0x8000'0000u, 0x8000'0001u, 0xffff'ffffu}) {
    liar.say(SwapBoundary{0, 1, id, MessageSeq(5)}, SwapAcknowledge{0, 1, id, MessageSeq(5)},
             SwapReady{0, SwapStatus::Ready, id, ""}, SwapReady{0, SwapStatus::Busy, id, "no"},
             SwapCancel{0, to_sink, id, "why"}, SwapCancel{0, to_source, id, "why"});
    liar.pair.run_for(20_ms);
    liar.expect_unmoved();
  }
  // Of QPs that there are not.
  liar.say(SwapBoundary{9, 1, 1, MessageSeq(5)}, SwapPrepare{9, to_sink, 1, {"x/1", ""}});
  liar.pair.run_for(20_ms);
  liar.expect_unmoved();
}

TEST(HostileSwap, names_and_parameters_that_cannot_be_are_refused) {
  SwapLiar liar;
  const std::string endless(600, 'x');
  uint32_t id = 0;
  for (const NamedText& policy :
       std::initializer_list<NamedText>{{"x", ""},
                                        {"/", ""},
                                        {"//////", "/////"},
                                        {"passthrough", ""},
                                        {"passthrough/", ""},
                                        {"passthrough/9", ""},
                                        {"passthrough/1x", ""},
                                        {"\n\x01\xff/1", ""},
                                        {"passthrough/1", "="},
                                        {"passthrough/1", "nan=nan inf=inf"},
                                        {endless, ""},
                                        {"passthrough/1", endless}}) {
    const uint64_t refused = liar.count_at_b(Counter::swaps_refused);
    liar.say(SwapPrepare{0, to_sink, ++id, policy});
    liar.pair.run_for(50_ms);
    liar.expect_unmoved();
    const bool is_short = policy.name.size() + policy.text.size() < 200;
    EXPECT_EQ(liar.count_at_b(Counter::swaps_refused) - refused, is_short ? 1u : 0u) << id;
  }
}

/// Half of all numbers away, before what is retired, of another epoch: whoever says so is
/// cancelled.
TEST(HostileSwap, boundaries_that_no_source_can_have_are_refused) {
  const struct {
    uint32_t seq;
    uint16_t policy_epoch;
  } rows[] = {{0x8000'0002, 1}, {0x7fff'fff0, 1}, {1000, 1},  {0xffff'ffff, 1},
              {5, 0},           {5, 2},           {5, 0xffff}};
  SwapLiar liar;
  uint32_t id = 0;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.seq);
    liar.say(SwapPrepare{0, to_sink, ++id, {"passthrough/1", ""}});
    liar.pair.run_for(50_ms);
    ASSERT_EQ(liar.sink().state(), sdr::SwapState::Ready);
    liar.say(SwapBoundary{0, row.policy_epoch, id, MessageSeq(row.seq)});
    liar.pair.run_for(50_ms);
    liar.expect_unmoved();
    EXPECT_EQ(liar.sink().report().sentence.view(), "its boundary cannot be");
  }
}

/// Who prepares and never goes on holds nobody up for longer than ten seconds.
TEST(HostileSwap, that_is_never_bound_is_forgotten) {
  SwapLiar liar;
  liar.say(SwapPrepare{0, to_sink, 1, {"passthrough/1", ""}});
  liar.pair.run_for(50_ms);
  EXPECT_EQ(liar.sink().state(), sdr::SwapState::Ready);
  liar.pair.run_for(11_s);
  liar.expect_unmoved();
  EXPECT_FALSE(liar.pair.b->endpoint().wants_care());
}

TEST(HostileSwap, that_begins_again_and_again_holds_one_successor) {
  SwapLiar liar;
  for (uint32_t id = 1; id <= 300; ++id) {
    liar.say(SwapPrepare{0, to_sink, id, {"passthrough/1", ""}});
    liar.pair.run_for(1_ms);
  }
  liar.pair.run_for(50_ms);
  EXPECT_EQ(liar.sink().state(), sdr::SwapState::Ready);
  EXPECT_EQ(liar.sink().report().id, 300u);
  liar.say(SwapCancel{0, to_sink, 300, ""});
  liar.pair.run_for(50_ms);
  liar.expect_unmoved();
}

/// Of a peer that opens what is not to be opened yet.
struct HastyLiar {
  static inline bool has_opened, knew_link;

  HastyLiar() {
    has_opened = knew_link = false;
    scribe() = {};
    liar.send_one_slot();
    EXPECT_TRUE(liar.receives().try_post(to));
    opened.data_slots_max = liar.recv_stream().config().data_slots_max;
    liar.say(SwapPrepare{0, to_sink, 1, {"scribe/1", ""}});
    liar.pair.run_for(50_ms);
  }
  static const cw_policy_ops* next() {
    static cw_policy_ops table = *scribe_policy();
    table.opened = [](cw_policy*, const cw_fact_opened*, int64_t, cw_out*) {
      has_opened = true;
      knew_link = !scribe().sink().links.empty();
    };
    return &table;
  }
  static PairOptions options() {
    PairOptions options = knowing_pair();
    options.b.knows = {next()};
    return options;
  }

  Liar liar{options()};
  std::array<uint8_t, Liar::payload> to;
  Opened opened{.qp = 0, .seq = MessageSeq(1), .slots = slots_unknown};
  SwapBoundary boundary{0, 1, 1, MessageSeq(1)};
};

/// What has just begun hears of the link before anything else.
TEST(HostileSwap, tells_of_the_link_before_a_message_of_its_boundarys_envelope) {
  HastyLiar hasty;
  hasty.liar.say(hasty.boundary, hasty.opened);
  hasty.liar.pair.run_for(20_ms);
  EXPECT_TRUE(HastyLiar::has_opened);
  EXPECT_TRUE(HastyLiar::knew_link);
}

TEST(HostileSwap, tells_of_the_link_before_a_message_that_was_opened_beyond_the_boundary) {
  HastyLiar hasty;
  hasty.liar.say(hasty.opened);
  hasty.liar.pair.run_for(20_ms);
  EXPECT_FALSE(HastyLiar::has_opened);
  hasty.liar.say(hasty.boundary);
  hasty.liar.pair.run_for(20_ms);
  EXPECT_TRUE(HastyLiar::has_opened);
  EXPECT_TRUE(HastyLiar::knew_link);
}

TEST(HostileNote, of_a_policy_that_is_not_here_is_dropped) {
  SwapLiar liar;
  const uint8_t bytes[4] = {};
  Note note{.qp = 0, .policy_epoch = 7};
  note.bytes = Row<uint8_t>(bytes, sizeof(bytes));
  liar.say(note);
  liar.pair.run_for(20_ms);
  EXPECT_EQ(liar.pair.dropped_at_b(DropReason::note_policy), 1u);
}

}  // namespace
}  // namespace cw::sim
