#include "tests/unit/plugins/files/table.h"

static const struct cw_policy_ops table = {TABLE_FIELDS, .version = "2"};
EXPORT_TABLE(&table)
