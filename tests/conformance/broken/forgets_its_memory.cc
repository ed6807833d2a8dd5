// Keeps a piece of memory per open message and frees it when the message ends, not when the
// instance does.
#include "tests/conformance/broken/broken.h"
#include "tests/conformance/broken/plain.h"

namespace cw::conformance::broken {
namespace {

/// Still reachable, so that only counting finds it and a leak detector has nothing to say.
struct Piece {
  Piece* next;
};
Piece* pieces = nullptr;

class Source : public PlainSource {
 public:
  using PlainSource::PlainSource;

  void on_opened(const cw_fact_opened& fact, Instant now) {
    PlainSource::on_opened(fact, now);
    pieces = new Piece{pieces};
  }
  void on_ended(uint32_t sequence, void* state, Instant now) {
    PlainSource::on_ended(sequence, state, now);
    Piece* const piece = pieces;
    pieces = piece->next;
    delete piece;
  }
};

struct Policy : Described<Source, PlainSink> {
  static constexpr const char* name = "forgets_its_memory";
};

}  // namespace

const cw_policy_ops* forgets_its_memory() { return &policy::Table<Policy>::ops; }

}  // namespace cw::conformance::broken
