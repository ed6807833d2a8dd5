/* Runs code at load, and needs thread-local memory for it. Unwise, and allowed. */
#include "tests/unit/plugins/files/table.h"

static _Thread_local int calls;
static struct cw_policy_ops table = {TABLE_FIELDS, .version = "not constructed"};

__attribute__((constructor)) static void construct(void) {
  if (++calls == 1) table.version = "constructed once";
}
EXPORT_TABLE(&table)
