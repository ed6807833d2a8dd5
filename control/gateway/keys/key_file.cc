#include "control/gateway/keys/key_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

#include "control/config/text/file.h"

namespace cw::site {
namespace {

std::string how_to_make(const std::string& path) {
  return "`(umask 077; openssl rand -hex 32 > " + path +
         ")` makes a key; the other site needs a copy";
}

std::string_view trimmed(std::string_view text) {
  constexpr const char* blanks = " \t\r\n";
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace

Result<PairKey> read_key_file(const std::string& path) {
  std::array<char, 4096> bytes{};
  const auto count = config::read_file(path, bytes);
  if (!count) {
    explicit_bzero(bytes.data(), bytes.size());
    const bool is_missing = access(path.c_str(), F_OK) != 0;
    return failure(count.error().sentence + (is_missing ? "; " + how_to_make(path) : ""));
  }
  struct stat about{};
  const bool is_known = stat(path.c_str(), &about) == 0;

  const std::string_view key = trimmed({bytes.data(), *count});
  if (key.size() < key_bytes_min) {
    explicit_bzero(bytes.data(), bytes.size());
    return failure(path + " holds " + std::to_string(key.size()) +
                   " bytes and must hold at least " + std::to_string(key_bytes_min) + "; " +
                   how_to_make(path));
  }
  PairKey made{};
  cw_mac_init(&made.mac, key.data(), key.size());
  explicit_bzero(bytes.data(), bytes.size());
  if (is_known && (about.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    made.warning = path + " has mode " + config::mode_text(about.st_mode) +
                   ": everybody on this machine can read the key; chmod 600 " + path;
  }
  return made;
}

}  // namespace cw::site
