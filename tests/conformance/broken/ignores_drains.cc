// Does not hear that a drain is under way.
#include "tests/conformance/broken/broken.h"
#include "tests/conformance/broken/plain.h"

namespace cw::conformance::broken {
namespace {

class Source : public PlainSource {
 public:
  using PlainSource::PlainSource;
  void on_drain(Instant, Instant) {}
};

struct Policy : Described<Source, PlainSink> {
  static constexpr const char* name = "ignores_drains";
};

}  // namespace

const cw_policy_ops* ignores_drains() { return &policy::Table<Policy>::ops; }

}  // namespace cw::conformance::broken
