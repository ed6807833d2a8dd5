// What causeway-deploy can do, each by one function that prints, and returns how the program ends.
#pragma once

#include "control/deploy/draft.h"

namespace cw::deploy {

inline constexpr int exit_done = 0, exit_failed = 1, exit_mistakes = 2;

int plan(const Options& options);
int render(const Options& options);
int apply(const Options& options);

}  // namespace cw::deploy
