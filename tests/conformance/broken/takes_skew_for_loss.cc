// Asks at once for the first slot that is missing below one that is there.
#include "tests/conformance/broken/broken.h"
#include "tests/conformance/broken/plain.h"

namespace cw::conformance::broken {
namespace {

/// Asks for a slot; told apart from the other note by its length.
struct Ask {
  be32 message, slot;
};

class Sink : public PlainSink {
 public:
  using PlainSink::PlainSink;

  void on_arrived(const cw_fact_arrived& fact, Instant now) {
    PlainSink::on_arrived(fact, now);
    if (fact.first_missing < fact.highest) asks_ = true;
    ask_ = {be32(fact.message), be32(fact.first_missing)};
  }
  void decide(Instant now, Out& out) {
    PlainSink::decide(now, out);
    if (asks_) asks_ = !note(&ask_, sizeof ask_, out);
  }

 private:
  bool asks_ = false;
  Ask ask_;
};

class Source : public PlainSource {
 public:
  using PlainSource::PlainSource;

  void on_note(const cw_fact_note& fact, Instant now) {
    if (fact.count != sizeof(Ask)) return PlainSource::on_note(fact, now);
    Ask ask;
    std::memcpy(&ask, fact.bytes, sizeof ask);
    const Message* message = messages_.find(ask.message.host());
    if (message != nullptr && ask.slot.host() < message->sent_end) asked_ = ask;
  }
  void decide(Instant now, Out& out) {
    PlainSource::decide(now, out);
    const Message* message = messages_.find(asked_.message.host());
    const uint32_t slot = asked_.slot.host();
    const bool is_wanted = message != nullptr && !message->is_over && slot < message->sent_end;
    if (is_wanted && !send(*message, {slot, slot + 1}, CW_SEND_RESEND, out)) return;
    asked_ = nothing;
  }

 private:
  static constexpr Ask nothing{be32(0), be32(UINT32_MAX)};
  Ask asked_ = nothing;
};

struct Policy : Described<Source, Sink> {
  static constexpr const char* name = "takes_skew_for_loss";
};

}  // namespace

const cw_policy_ops* takes_skew_for_loss() { return &policy::Table<Policy>::ops; }

}  // namespace cw::conformance::broken
