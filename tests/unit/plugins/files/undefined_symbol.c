#include "tests/unit/plugins/files/table.h"

void from_nowhere(struct cw_policy* policy);
static const struct cw_policy_ops table = {TABLE_FIELDS, .destroy = from_nowhere};
EXPORT_TABLE(&table)
