// The smallest policy that codes, for tests of the core's part of it: the source lays blocks out,
// encodes each when it closes and sends all of its repair; the sink decodes whatever it can as soon
// as it can. What no code repairs is sent again, all of it, now and then.
#pragma once

#include <vector>

#include "dataplane/policy.h"

namespace cw::sim {

struct CodingKnobs {
  uint32_t k = 8, m = 2, rows = 2;
  uint32_t codec = 0;
  double resend_ms = 0;    ///< 0: never
  bool is_grown = false;   ///< half of the repair at first, the rest later
  uint32_t row_first = 0;  ///< rows before it are left uncoded
  std::vector<double> params() const {
    return {double(k), double(m),        double(rows),     double(codec),
            resend_ms, double(is_grown), double(row_first)};
  }
};

const cw_policy_ops* coding_policy();

/// The same, until its so manieth `appended` (at a source) or `arrived` (at a sink); from then on
/// it never has enough of deciding.
const cw_policy_ops* insatiable_policy(cw_role role, uint32_t facts);

/// What all instances of coding_policy() have heard, since it was last made empty.
struct CodingLog {
  std::vector<cw_fact_block_closed> closed_at_source, closed_at_sink;
  std::vector<cw_fact_coded> coded_at_source, coded_at_sink;
  std::vector<cw_fact_refused> refused;
  void clear();
};
CodingLog& coding_log();

/// A decision that the next source to decide makes first.
void inject_decision(const cw_decision& decision);

}  // namespace cw::sim
