// Scripts by which shells complete what is typed.
#pragma once

#include <string>
#include <vector>

namespace cw::ctl {

/// For "bash" or "zsh", which takes bash's by its own means.
std::string completion_of(const std::string& shell, const std::vector<std::string>& commands);

}  // namespace cw::ctl
