// The policy that the broken ones are made from, as it is.
#include "tests/conformance/broken/plain.h"
#include "tests/conformance/broken/broken.h"

namespace cw::conformance::broken {
namespace {

struct Policy : Described<PlainSource, PlainSink> {
  static constexpr const char* name = "plain";
};

}  // namespace

const cw_policy_ops* plain() { return &policy::Table<Policy>::ops; }

}  // namespace cw::conformance::broken
