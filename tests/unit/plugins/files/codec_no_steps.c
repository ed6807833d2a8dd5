#include "tests/unit/plugins/files/codec_table.h"

static const struct cw_codec_ops table = {TABLE_FIELDS, .traits = CW_CODEC_IN_STEPS};
EXPORT_TABLE(&table)
