/* What the plugins of this folder share: a policy that does nothing, and the table around it. Each
 * file changes what its test is about. */
#pragma once

#include "dataplane/policy.h"

static int no_instance;

static inline int create(const struct cw_env* env, struct cw_policy** policy, char* why,
                         size_t capacity) {
  (void)env, (void)why, (void)capacity;
  *policy = (struct cw_policy*)&no_instance;
  return 0;
}
static inline void destroy(struct cw_policy* policy) { (void)policy; }

/* Overriding is what TABLE_FIELDS is for. */
#pragma GCC diagnostic ignored "-Woverride-init"

/* Members of a table that is right; later ones of the same name override. */
#define TABLE_FIELDS                                                                           \
  .abi = CW_POLICY_ABI, .size = sizeof(struct cw_policy_ops), .name = "tried", .version = "1", \
  .summary = "Does nothing.", .create = create, .destroy = destroy

#define EXPORTED __attribute__((visibility("default")))
#define EXPORT_TABLE(table) \
  EXPORTED const struct cw_policy_ops* cw_policy_table(void) { return (table); }
