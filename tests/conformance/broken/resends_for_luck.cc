// Sends the first slot of some messages a second time, in case it is lost.
#include "tests/conformance/broken/broken.h"
#include "tests/conformance/broken/plain.h"

namespace cw::conformance::broken {
namespace {

class Source : public PlainSource {
 public:
  using PlainSource::PlainSource;

  void on_closed(const cw_fact_closed& fact, Instant now) {
    PlainSource::on_closed(fact, now);
    // Often enough to be seen, too rarely to look like a wrong idea of the order of arrival.
    if (fact.message % 32 == 16 && fact.slots > 0) lucky_ = policy::state_of<Message>(fact);
  }
  void on_ended(uint32_t sequence, void* state, Instant now) {
    if (lucky_ == state) lucky_ = nullptr;
    PlainSource::on_ended(sequence, state, now);
  }
  void decide(Instant now, Out& out) {
    PlainSource::decide(now, out);
    if (lucky_ != nullptr && send(*lucky_, {0, 1}, CW_SEND_RESEND, out)) lucky_ = nullptr;
  }

 private:
  const Message* lucky_ = nullptr;
};

struct Policy : Described<Source, PlainSink> {
  static constexpr const char* name = "resends_for_luck";
};

}  // namespace

const cw_policy_ops* resends_for_luck() { return &policy::Table<Policy>::ops; }

}  // namespace cw::conformance::broken
