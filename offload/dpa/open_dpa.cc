#include "offload/dpa/open_dpa.h"

#include <unistd.h>

#include <climits>
#include <string>
#include <string_view>
#include <utility>

#include "offload/dpa/emulated_dpa.h"

namespace cw {
namespace {

std::string program_file() {
  constexpr std::string_view name = "causeway-dpa.elf";
  char own[PATH_MAX];
  const ssize_t bytes = readlink("/proc/self/exe", own, sizeof(own));
  if (bytes > 0) {
    const std::string_view path(own, static_cast<size_t>(bytes));
    const std::string beside = std::string(path.substr(0, path.rfind('/') + 1)).append(name);
    if (access(beside.c_str(), R_OK) == 0) return beside;
  }
  return std::string(CW_DPA_INSTALLED "/").append(name);
}

}  // namespace

Result<std::unique_ptr<RowRunner>> open_emulated_dpa(uint32_t threads) {
  EmulatedDpaOptions options;
  options.harts = threads;
  options.program = program_file();
  auto made = EmulatedDpa::make(options);
  if (!made) return std::unexpected(made.error());
  return std::move(*made);
}

}  // namespace cw
