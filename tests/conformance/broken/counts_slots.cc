// Decides about 64 slots at a time.
#include "tests/conformance/broken/broken.h"
#include "tests/conformance/broken/plain.h"

namespace cw::conformance::broken {
namespace {

class Source : public PlainSource {
 public:
  using PlainSource::PlainSource;

  void decide(Instant now, Out& out) {
    while (!unsent_.is_empty()) {
      auto& entry = unsent_.front();
      const Message* message = messages_.find(entry.message);
      const SlotRun slots{entry.slots.first, std::min(entry.slots.end, entry.slots.first + 64)};
      if (message != nullptr && !send(*message, slots, CW_SEND_DATA, out)) return;
      entry.slots.first = slots.end;
      if (entry.slots.is_empty()) unsent_.pop();
    }
    PlainSource::decide(now, out);
  }
};

struct Policy : Described<Source, PlainSink> {
  static constexpr const char* name = "counts_slots";
};

}  // namespace

const cw_policy_ops* counts_slots() { return &policy::Table<Policy>::ops; }

}  // namespace cw::conformance::broken
