// Files that are ours to write, and others.
#include "control/deploy/site/disk.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cw::deploy {
namespace {

class Disk : public testing::Test {
 protected:
  Disk() {
    std::string path = (std::filesystem::temp_directory_path() / "causeway-deploy-XXXXXX").string();
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
  }
  ~Disk() override { std::filesystem::remove_all(folder_); }
  std::string file() const { return (folder_ / "a.toml").string(); }
  Found::State state() const { return find_file(file()).value().state; }

  std::filesystem::path folder_;
};

TEST_F(Disk, a_file_is_ours_until_somebody_changes_it) {
  EXPECT_EQ(state(), Found::State::Missing);
  const std::string text = with_head("[site]\nname = \"a\"\n", "a", "deployment.toml");
  ASSERT_TRUE(write_file(file(), text));
  EXPECT_EQ(state(), Found::State::Made);
  EXPECT_EQ(find_file(file()).value().text, text);
  std::ofstream(file(), std::ios::app) << "# mine\n";
  EXPECT_EQ(state(), Found::State::Edited);
  std::ofstream(file()) << "[site]\nname = \"a\"\n";
  EXPECT_EQ(state(), Found::State::Foreign);
  ASSERT_TRUE(write_file(file(), text));
  EXPECT_EQ(state(), Found::State::Made);
  EXPECT_FALSE(std::filesystem::exists(file() + ".new"));
}

TEST_F(Disk, what_cannot_be_written_is_told) {
  const auto written = write_file((folder_ / "none" / "a.toml").string(), "text");
  ASSERT_FALSE(written);
  EXPECT_TRUE(written.error().sentence.contains("cannot be written")) << written.error().sentence;
}

}  // namespace
}  // namespace cw::deploy
