#include "dataplane/sdr/sdk/misuse.h"

#include <cstdarg>
#include <cstdio>

namespace {
constinit thread_local char last_error[256] = "nothing has gone wrong yet";
}

int cw::sdk::misuse(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(last_error, sizeof(last_error), format, arguments);
  va_end(arguments);
  return CW_ERROR;
}

const char* cw_last_error(void) { return last_error; }
