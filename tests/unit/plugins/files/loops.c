/* Stands in a fact for as long as there is the file that CAUSEWAY_TEST_LOOP names. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/plugins/files/table.h"

static void appended(struct cw_policy* policy, const struct cw_fact_appended* fact, int64_t now_ns,
                     struct cw_out* out) {
  const char* file = getenv("CAUSEWAY_TEST_LOOP");
  (void)policy, (void)fact, (void)now_ns, (void)out;
  while (file != NULL && access(file, F_OK) == 0) continue;
}

static const struct cw_policy_ops table = {TABLE_FIELDS, .name = "loops", .appended = appended};
EXPORT_TABLE(&table)
