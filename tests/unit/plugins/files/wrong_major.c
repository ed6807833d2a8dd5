#include "tests/unit/plugins/files/table.h"

static const struct cw_policy_ops table = {TABLE_FIELDS, .abi = CW_POLICY_ABI + (1u << 16)};
EXPORT_TABLE(&table)
