// Columns that several commands show.
#pragma once

#include <string>
#include <vector>

#include "control/ctl/show/table.h"

namespace cw::ctl {

std::vector<Column> link_columns();
std::vector<Column> class_columns();
std::vector<Column> swap_columns();
/// The line or lines about the whole gateway, with its alarms.
std::string summary_of(const Json& status);

}  // namespace cw::ctl
