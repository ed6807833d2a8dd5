#include "tests/unit/plugins/files/table.h"

EXPORT_TABLE(NULL)
