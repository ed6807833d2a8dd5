#include "tests/unit/plugins/files/table.h"

static const struct cw_param params[] = {
    {"alpha", "", NULL, "A factor.", CW_PARAM_REAL, 0, 9, 0.5, 8}};
static const struct cw_policy_ops table = {TABLE_FIELDS, .params = params, .param_count = 1};
EXPORT_TABLE(&table)
