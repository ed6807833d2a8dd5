// The example in the README is the program that is compiled and run.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(CW_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(SdkReadme, shows_the_example_that_is_compiled_and_run) {
  const std::string readme = text_of("dataplane/sdr/README.md");
  const std::string fence = "```c\n";
  const size_t first = readme.find(fence);
  ASSERT_NE(first, std::string::npos);
  const size_t begin = first + fence.size();
  EXPECT_EQ(readme.substr(begin, readme.find("```", begin) - begin),
            text_of("tests/unit/sdk/example.c"));
}

}  // namespace
