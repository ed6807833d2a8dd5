#include "tests/unit/plugins/files/table.h"

/* The name that a typing mistake makes. */
EXPORTED const struct cw_policy_ops* cw_policy_tabel(void);
const struct cw_policy_ops* cw_policy_tabel(void) {
  static const struct cw_policy_ops table = {TABLE_FIELDS};
  return &table;
}
