// Kinds of traffic, and how many instructions a hart of the emulated DPA spends on a record of
// each. The emulator counts exactly: the same kind always costs the same.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "tests/unit/offload/dpa_rows.h"

namespace cw {

struct DpaKind {
  std::string name;
  Records before;       ///< what must have been run first, and is not counted
  Records records;      ///< whole bursts
  double per_unit = 1;  ///< records that are counted as one: 1 a packet, else more
};

/// One stream: 16 messages of 32,768 slots.
Streams dpa_kind_streams();

DpaKind dpa_in_order();
/// A message whose slots go to `partitions` in turn, as one of them sees it.
DpaKind dpa_every_nth(uint32_t partitions);
/// Shuffled within rows of 256.
DpaKind dpa_out_of_order();
/// Two messages in turn: every packet is of another word than the last.
DpaKind dpa_alternating();
DpaKind dpa_duplicates();
DpaKind dpa_late();
DpaKind dpa_out_of_range();
/// A close and an arm of a message that had 2,048 slots; both count as one.
DpaKind dpa_next_life();
std::vector<DpaKind> dpa_kinds();

struct DpaCost {
  double instructions = 0;  ///< per unit
  double events = 0;        ///< per record
};
/// Bursts are full. `program` and `emulator` of the options. Errors: of EmulatedDpa; it stood
/// still.
Result<DpaCost> dpa_cost(const EmulatedDpaOptions& options, const DpaKind& kind);

}  // namespace cw
