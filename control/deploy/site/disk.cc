#include "control/deploy/site/disk.h"

#include <cstring>
#include <filesystem>
#include <system_error>

#include "control/config/text/file.h"
#include "control/units/text.h"
#include "offload/crc32.h"

namespace cw::deploy {
namespace {

constexpr const char* made_by = "made by causeway-deploy from ";
constexpr const char* sum_mark = "# sum ";

std::string sum_of(std::string_view body) {
  return text_of("%08x", cw_crc32(0, body.data(), body.size()));
}

}  // namespace

std::string with_head(const std::string& body, const std::string& site,
                      const std::string& deployment) {
  return "# Site " + site + ", " + made_by + deployment +
         ". Change that, and render it again: what is changed here is in the way.\n" + sum_mark +
         sum_of(body) + "\n\n" + body;
}

Result<Found> find_file(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return Found{};
  auto text = config::text_of_file(file);
  if (!text) return std::unexpected(text.error());
  Found found{Found::State::Foreign, std::move(*text)};
  const std::string& all = found.text;
  const size_t first = all.find('\n');
  if (first == all.npos || !all.starts_with("# Site ") || !all.substr(0, first).contains(made_by) ||
      all.compare(first + 1, std::strlen(sum_mark), sum_mark) != 0) {
    return found;
  }
  const size_t sum = first + 1 + std::strlen(sum_mark), end = all.find('\n', sum);
  const bool is_whole = end != all.npos && end + 2 <= all.size() && all[end + 1] == '\n';
  const bool is_made =
      is_whole && all.substr(sum, end - sum) == sum_of(std::string_view(all).substr(end + 2));
  found.state = is_made ? Found::State::Made : Found::State::Edited;
  return found;
}

Result<void> write_file(const std::string& file, const std::string& text) {
  const auto written = config::replace_file(file, text, config::Lasting::Yes);
  if (written) return {};
  const auto [error, is_replacing] = written.error();
  const std::string what =
      is_replacing ? file + " cannot be replaced" : config::draft_of(file) + " cannot be written";
  return failure(what + " (" + std::strerror(error) + ")");
}

}  // namespace cw::deploy
