// Looks around once a second, whether there is something to see or not.
#include "tests/conformance/broken/broken.h"
#include "tests/conformance/broken/plain.h"

namespace cw::conformance::broken {
namespace {

class Source : public PlainSource {
 public:
  using PlainSource::PlainSource;

  void on_drain(Instant by, Instant now) {
    is_draining_ = true;
    PlainSource::on_drain(by, now);
  }
  void decide(Instant now, Out& out) {
    send_unsent(out);
    finish(out);
    send_overdue(now, out);
    look_at_ = is_draining_ ? Instant::never() : std::max(look_at_, now + Duration::from_ms(1));
    arm(std::min(next_due(), look_at_), out);
  }

 private:
  bool is_draining_ = false;
  Instant look_at_;
};

struct Policy : Described<Source, PlainSink> {
  static constexpr const char* name = "keeps_a_timer";
};

}  // namespace

const cw_policy_ops* keeps_a_timer() { return &policy::Table<Policy>::ops; }

}  // namespace cw::conformance::broken
