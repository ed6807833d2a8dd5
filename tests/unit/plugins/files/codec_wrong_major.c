#include "tests/unit/plugins/files/codec_table.h"

static const struct cw_codec_ops table = {TABLE_FIELDS, .abi = 2u << 16 | 3};
EXPORT_TABLE(&table)
