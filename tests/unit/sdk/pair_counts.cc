// What any pair has counted, whatever joins its ends.
#include "dataplane/sdr/sdk/context.h"
#include "tests/unit/sdk/sim_pair.h"

using namespace cw;

uint64_t sim_rebuilt(const cw_context* context) {
  return context->sdr.counters().read_any_thread(Counter::slots_rebuilt);
}

uint64_t sim_resends(const cw_context* context) {
  return context->sdr.counters().read_any_thread(Counter::resends_sent);
}
