#include "tests/unit/plugins/files/codec_table.h"

static const struct cw_codec_ops table = {TABLE_FIELDS, .size = 79};
EXPORT_TABLE(&table)
