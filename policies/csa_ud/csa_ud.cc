// csa_ud: recovery that knows the step. Of the system of that name (arXiv 2606.20582) only the
// abstract is public: unreliable datagrams, one queue pair per process, a detection interval that
// adapts to the collective's step. The rule below is our own.
//
// Idea. A step is over when its last message is whole, so a loss need not be mended before the rest
// of the step has come, and has to be by then. With A bytes to come of the step at rate r, its
// deadline D, the round trip S to the peer and its deviation V, `holes` bytes known to be missing
// of the message and the reorder budget Q,
//
//   slack    = min(A / r, D - now) - (S + holes / r)     what is left when they have been fetched
//   hole     waits clamp(slack / 2, Q, S); Q once the last slot of its message has come
//   passed   by its source's word: Q, as behind the last slot, the first time and again
//   rest     of a message, behind its highest slot: S + 12 V + Q after anything of it came
//   silent   source: asked for its whole message when the slack is used up and nothing of the step
//            has come for S, or the step stands still
//   again    after max(S + 12 V, 2 Q) x 2^tries
//
// Early in a step waiting is free, and most of what was only late comes meanwhile; at its end, and
// in a message that is a step by itself, a hole waits no longer than reordering takes.
//
// The end of a message, and of an answer, has nothing behind it that would show its loss. But its
// source says so when the last of it has left (fact `departed`), and that comes through the same
// queues as the slots before it. What has not come then is lost, however long the queues were, and
// no timeout has to guess. Timeouts are for such words that are lost; where queues grow, S and V of
// a message's beginning are low, so they are long.
//
// When should a silent source have begun? All may send at once or one after the other, and either
// way the last to begin does so before the others are done. So nobody is asked as long as what is
// to come of the others takes longer than a fetch, which is what slack > 0 says with the whole
// message for `holes`; nor as long as the line is used, since who begins last begins when the
// others are done. But when nothing at all has come of the step for S + 12 V + Q, all that are
// silent are asked: what they sent may have come before the step was posted. Nobody is asked sooner
// than S + 12 V + Q after his message was opened. A source with nothing to send yet ignores the ask
// and costs the request; it is asked again at doubling times, up to silent_max.
//
// What is asked for and has not come is `outstanding` r S at most, over all messages: recovery does
// not make the incast that it recovers from. An answer that is overdue does not count.
//
// Spurious asks are seen twice: a slot that comes sooner after an ask than half of S had been under
// way, and a copy comes of what was not lost. When of 128 slots that were asked for as holes more
// than spurious_max were, Q is raised by a quarter, up to S; otherwise it falls back by 1/64. What
// was asked for as the rest of a message says nothing of reordering: it has a factor of its own,
// for the deviations after which it is.
//
// Parameters and the arithmetic of their defaults: settings.h; those of the rule are the design's.
//   patience = 1/2        half of the slack: a second ask fits into the rest.
//   deviations = 12       three times TCP's timeout: it has to bear what queues add meanwhile.
//   outstanding = 1/4     answers take a quarter of the line, and the step keeps the rest.
//   outstanding_least=16  two full requests where the line holds nearly nothing in S.
//   again_max = 64 ms, silent_max = 1 s   who is dead costs 16 requests a second, and one.
//
// Weaknesses. A rate that is measured low makes it patient, one measured high hasty. Q is one for
// all peers. A long message whose peer's round trip grows keeps the S of its beginning.
#include "policies/csa_ud/settings.h"
#include "policies/parts/endpoint/ask_sink.h"

namespace cw::policy::csa_ud {
namespace {

class Endpoint final : public AskSink {
 public:
  explicit Endpoint(const cw_env& env) : AskSink(env), settings_(settings_of(env)) {}

 private:
  /// Makes a wait longer while asks after it prove to have been hasty.
  struct Haste {
    double stretch = 1;
    uint32_t asked = 0, spurious = 0;

    void on_asked(uint32_t slots, double spurious_max, double most) {
      asked += slots;
      if (asked < 128) return;
      stretch *= spurious > spurious_max * asked ? 1.25 : 63.0 / 64;
      stretch = std::clamp(stretch, 1.0, most);
      asked = spurious = 0;
    }
  };

  Duration reorder_of(const OpenMessage& message) const {
    return std::clamp(budget().scaled(holes_.stretch), Duration::from_ns(1), rtt_of(message));
  }
  Duration budget() const {
    return settings_.reorder_budget < Duration() ? timing_.reorder : settings_.reorder_budget;
  }
  Duration answer(const OpenMessage& message) const {
    return answer_of(message, settings_.deviations);
  }

  /// An hour at most.
  static Duration time_for(uint64_t bytes, Rate rate) {
    const double seconds = 8 * static_cast<double>(bytes) / static_cast<double>(rate.bps());
    return Duration::from_s(3600).scaled(std::min(seconds / 3600, 1.0));
  }
  Duration slack(const OpenMessage& message, uint64_t hole_bytes, Instant now) const {
    const OpenStep& step = *message.step;
    Duration left = time_for(step.to_come(), step.rate);
    if (step.deadline != Instant::never()) left = std::min(left, step.deadline - now);
    return left - rtt_of(message) - time_for(hole_bytes, step.rate);
  }

  Duration hole_wait(const AskedMessage& message, Instant now) const override {
    const Duration least = reorder_of(message);
    if (message.is_end_passed()) return least;
    const uint32_t holes = message.missing({message.received.cumulative, message.passed()});
    const Duration wait = slack(message, uint64_t{holes} * env_.payload_bytes, now);
    const Duration most = rtt_of(message).scaled(settings_.hole_wait_max);
    return std::clamp(wait.scaled(settings_.patience), least, std::max(least, most));
  }

  Duration quiet_wait(const AskedMessage& message) const override {
    return reorder_of(message) + answer_of(message, settings_.deviations * rests_.stretch);
  }
  bool believes_sources() const override { return true; }

  Instant silent_due(const OpenStep& step, const OpenMessage& oldest, Instant now) const override {
    const Duration patience = answer(oldest) + reorder_of(oldest);
    const Instant may_have_begun = oldest.heard_at + patience;
    const Duration left = slack(oldest, oldest.expected_bytes, now);
    if (left <= Duration()) return std::max(may_have_begun, step.heard_at + rtt_of(oldest));
    const Instant stands_still = step.heard_at + patience;
    return std::max(may_have_begun, std::min(stands_still, now + left));
  }

  Duration again_wait(const AskedMessage& message, uint32_t tries) const override {
    const Duration first =
        std::max(answer(message), reorder_of(message).scaled(settings_.reorders));
    return doubled(first, tries, message.is_heard ? settings_.again_max : settings_.silent_max);
  }

  uint32_t outstanding_max() const override {
    const double bytes =
        settings_.outstanding * timing_.rtt.seconds() * static_cast<double>(timing_.rate.bps()) / 8;
    const double slots = std::min(bytes / env_.slot_wire_bytes, double{1u << 30});
    return std::max(static_cast<uint32_t>(slots), settings_.outstanding_least);
  }

  void on_asked(uint32_t slots, bool is_rest) override {
    const double most = timing_.rtt.seconds() / std::max(budget().seconds(), 1e-9);
    (is_rest ? rests_ : holes_)
        .on_asked(slots, settings_.spurious_max, is_rest ? 16.0 : std::max(most, 1.0));
  }
  void on_spurious(uint32_t slots, bool is_rest) override {
    (is_rest ? rests_ : holes_).spurious += slots;
  }

  const Settings settings_;
  Haste holes_, rests_;
};

struct CsaUd {
  using Endpoint = csa_ud::Endpoint;
  static constexpr const char* name = "csa_ud";
  static constexpr const char* version = "1.0";
  static constexpr const char* summary =
      "At endpoints: asks for what is missing by the time that its step has left.";
  static constexpr const auto& params = csa_ud::params;
  static constexpr uint32_t wire_version = 1;
  static constexpr uint32_t message_state_bytes = sizeof(AskedMessage);

  static const char* refusal(const cw_env&) { return nullptr; }
  static void limits(const cw_env&, const cw_fact_link&, cw_policy_limits& limits) { limits = {}; }
};

}  // namespace
}  // namespace cw::policy::csa_ud

CW_POLICY(cw::policy::csa_ud::CsaUd)
