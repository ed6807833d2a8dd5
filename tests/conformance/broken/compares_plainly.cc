// Takes a message for old when its number is smaller than one that it has seen.
#include "tests/conformance/broken/broken.h"
#include "tests/conformance/broken/plain.h"

namespace cw::conformance::broken {
namespace {

class Source : public PlainSource {
 public:
  using PlainSource::PlainSource;

  void on_appended(const cw_fact_appended& fact, Instant now) {
    if (fact.message < newest_) return;
    newest_ = fact.message;
    PlainSource::on_appended(fact, now);
  }

 private:
  uint32_t newest_ = 0;
};

struct Policy : Described<Source, PlainSink> {
  static constexpr const char* name = "compares_plainly";
};

}  // namespace

const cw_policy_ops* compares_plainly() { return &policy::Table<Policy>::ops; }

}  // namespace cw::conformance::broken
