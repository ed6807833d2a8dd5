/* From the future: one more function at the end of the table. */
#include "tests/unit/plugins/files/table.h"

struct longer {
  struct cw_policy_ops known;
  void (*unheard_of)(void);
};
static const struct longer table = {
    .known = {TABLE_FIELDS, .abi = CW_POLICY_ABI + 1, .size = sizeof(struct longer)},
    .unheard_of = (void (*)(void))1};
EXPORT_TABLE(&table.known)
