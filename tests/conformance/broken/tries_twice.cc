// Sends a message again once. When that is lost as well, it waits for ever.
#include "tests/conformance/broken/broken.h"
#include "tests/conformance/broken/plain.h"

namespace cw::conformance::broken {
namespace {

class Source : public PlainSource {
 public:
  using PlainSource::PlainSource;

  void on_sent(const cw_fact_sent& fact, Instant now) {
    PlainSource::on_sent(fact, now);
    if (fact.kind == CW_SEND_RESEND) policy::state_of<Message>(fact)->due = Instant::never();
  }
};

struct Policy : Described<Source, PlainSink> {
  static constexpr const char* name = "tries_twice";
};

}  // namespace

const cw_policy_ops* tries_twice() { return &policy::Table<Policy>::ops; }

}  // namespace cw::conformance::broken
