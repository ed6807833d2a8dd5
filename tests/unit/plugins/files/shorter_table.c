/* From the past: a table that ends behind `destroy`, with no memory behind it to read. */
#include "tests/unit/plugins/files/table.h"

struct shorter {
  uint32_t abi, size;
  const char *name, *version, *summary;
  const struct cw_param* params;
  uint32_t param_count, wire_version, message_state_bytes, reserved;
  void (*limits)(const struct cw_env*, const struct cw_fact_link*, struct cw_policy_limits*);
  int (*create)(const struct cw_env*, struct cw_policy**, char*, size_t);
  void (*destroy)(struct cw_policy*);
};
_Static_assert(sizeof(struct shorter) == offsetof(struct cw_policy_ops, opened), "a prefix");
static const struct shorter table = {TABLE_FIELDS, .size = sizeof(struct shorter)};
EXPORT_TABLE((const struct cw_policy_ops*)&table)
