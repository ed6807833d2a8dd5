// Every command of every document, as a stranger would type it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/docs/reader.h"
#include "tests/docs/runners.h"
#include "tests/lab/space.h"

namespace cw::docs {
namespace {

class Documents : public testing::TestWithParam<std::string> {};

TEST_P(Documents, do_what_they_say) {
  const std::string why_not = lab::obstacle();
  if (!why_not.empty()) GTEST_SKIP() << why_not;
  Reader reader(CW_SOURCE_DIR, CW_PROGRAMS, CW_IS_NIGHT);
  const std::string wrong = reader.follow(GetParam());
  if (!wrong.empty()) FAIL() << wrong;
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(0, info.param.rfind('.'));
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

/// By day all; in the night those that have more to run then.
std::vector<std::string> documents() {
  std::vector<std::string> paths = documents_of(CW_SOURCE_DIR);
  if (CW_IS_NIGHT) {
    std::erase_if(paths, [](const std::string& path) {
      const Document document = read_document(CW_SOURCE_DIR, path);
      return std::ranges::none_of(document.blocks, &Block::is_for_night);
    });
  }
  return paths;
}

INSTANTIATE_TEST_SUITE_P(, Documents, testing::ValuesIn(documents()), name_of);

}  // namespace
}  // namespace cw::docs
