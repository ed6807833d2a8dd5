// Waits a little differently in every instance: it keeps a number outside of them.
#include "tests/conformance/broken/broken.h"
#include "tests/conformance/broken/plain.h"

namespace cw::conformance::broken {
namespace {

uint64_t instances_made = 0;

class Source : public PlainSource {
 public:
  explicit Source(const cw_env& env)
      : PlainSource(env),
        extra_(Duration::from_us(static_cast<int64_t>(++instances_made % 1000))) {}

  void on_sent(const cw_fact_sent& fact, Instant now) {
    PlainSource::on_sent(fact, now);
    Message& message = *policy::state_of<Message>(fact);
    message.due = message.due + extra_;
  }

 private:
  Duration extra_;
};

struct Policy : Described<Source, PlainSink> {
  static constexpr const char* name = "remembers_other_runs";
};

}  // namespace

const cw_policy_ops* remembers_other_runs() { return &policy::Table<Policy>::ops; }

}  // namespace cw::conformance::broken
