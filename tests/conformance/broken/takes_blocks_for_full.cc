// Encodes a block that was closed early in the shape of a full one.
#include "tests/conformance/broken/broken.h"
#include "tests/conformance/broken/coding.h"

namespace cw::conformance::broken {
namespace {

struct Policy : Coding<Policy> {
  class Source final : public policy::CodedSource {
   public:
    explicit Source(const cw_env& env) : CodedSource(env, settings_of(env)), env_(env) {}

    void on_block_closed(const cw_fact_block_closed& fact, Instant now) {
      cw_fact_block_closed full = fact;
      full.rows = static_cast<uint16_t>(env_.rows);
      full.k = static_cast<uint8_t>(env_.k);
      CodedSource::on_block_closed(full, now);
    }

   private:
    const cw_env env_;
  };
  static constexpr const char* name = "takes_blocks_for_full";
};

}  // namespace

const cw_policy_ops* takes_blocks_for_full() { return &policy::Table<Policy>::ops; }

}  // namespace cw::conformance::broken
