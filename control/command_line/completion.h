// What a shell needs to complete a program's words.
#pragma once

#include <string>

#include "control/command_line/told.h"

namespace cw {

/// A script for bash, or a function that zsh loads by itself from a file named _PROGRAM.
std::string completion_of(const ToldCommand& program, const std::string& shell);

}  // namespace cw
