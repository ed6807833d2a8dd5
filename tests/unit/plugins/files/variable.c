#include "tests/unit/plugins/files/table.h"

/* The table itself under the name of the function that should return it. */
#define cw_policy_table cw_policy_function
EXPORTED const struct cw_policy_ops table __asm__("cw_policy_table") = {TABLE_FIELDS};
