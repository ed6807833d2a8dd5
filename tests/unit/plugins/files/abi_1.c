/* From before: the last version of the first major. */
#include "tests/unit/plugins/files/table.h"

static const struct cw_policy_ops table = {TABLE_FIELDS, .abi = 1u << 16 | 1};
EXPORT_TABLE(&table)
