#include "dataplane/port/dpdk/eal/eal_log.h"

#include <rte_log.h>
#include <stdio.h>

#include <cstring>
#include <mutex>

namespace cw::eal_log {
namespace {

constexpr size_t line_bytes_max = 256;

struct State {
  std::mutex mutex;  // EAL's own threads log too
  EalLog log = nullptr;
  std::string error;
};

/// Never destroyed: DPDK logs until the very end.
State& state() {
  static State* const it = new State;
  return *it;
}

/// "EAL: no such device" without the end of the line; DPDK writes a line at a time.
ssize_t write_line(void*, const char* text, size_t bytes) {
  size_t length = std::min(bytes, line_bytes_max);
  while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' ')) --length;
  if (length == 0) return static_cast<ssize_t>(bytes);
  const std::string line(text, length);
  const int level = rte_log_cur_msg_loglevel();
  const std::lock_guard lock(state().mutex);
  if (level <= static_cast<int>(RTE_LOG_ERR) && state().error.empty()) state().error = line;
  // Levels count from 1 here and from 0 in syslog.
  if (state().log != nullptr) state().log(level - 1, line.c_str());
  return static_cast<ssize_t>(bytes);
}

}  // namespace

bool open(EalLog log) {
  state().log = log;
  const cookie_io_functions_t functions = {
      .read = nullptr, .write = write_line, .seek = nullptr, .close = nullptr};
  FILE* const stream = fopencookie(nullptr, "w", functions);
  if (stream == nullptr) return false;
  setvbuf(stream, nullptr, _IOLBF, line_bytes_max);
  return rte_openlog_stream(stream) == 0;
}

std::string first_error() {
  const std::lock_guard lock(state().mutex);
  return state().error;
}

void clear_error() {
  const std::lock_guard lock(state().mutex);
  state().error.clear();
}

}  // namespace cw::eal_log
