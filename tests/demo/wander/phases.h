// What the line of --wander goes through while hosts send.
#pragma once

#include <string>
#include <vector>

#include "tests/demo/options.h"

namespace cw::demo {

/// Each way alike.
struct Phase {
  const char* name;
  Duration rtt;
  double loss = 0;
  double burst = 1;  ///< packets lost in a row, on average
};

/// In this order; each as long as the options say.
std::vector<Phase> phases_of(const Options& options);
/// What causeway-wan is asked for, so that nothing of another phase remains.
std::string request_of(const Phase& phase);
/// As a person would tell it.
std::string sentence_of(const Phase& phase);

}  // namespace cw::demo
