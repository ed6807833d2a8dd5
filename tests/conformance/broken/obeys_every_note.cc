// Resends whatever a note names, a slot at a time, as many as the note says.
#include "tests/conformance/broken/broken.h"
#include "tests/conformance/broken/plain.h"

namespace cw::conformance::broken {
namespace {

class Source : public PlainSource {
 public:
  using PlainSource::PlainSource;

  void on_note(const cw_fact_note& fact, Instant now) {
    if (fact.count == sizeof(be32)) return PlainSource::on_note(fact, now);
    wanted_ += fact.count;
  }
  void decide(Instant now, Out& out) {
    PlainSource::decide(now, out);
    while (wanted_ > 0 && out.release(0, 0)) --wanted_;
  }

 private:
  uint64_t wanted_ = 0;
};

struct Policy : Described<Source, PlainSink> {
  static constexpr const char* name = "obeys_every_note";
};

}  // namespace

const cw_policy_ops* obeys_every_note() { return &policy::Table<Policy>::ops; }

}  // namespace cw::conformance::broken
