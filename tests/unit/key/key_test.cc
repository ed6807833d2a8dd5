// A site's keys in files, and the program that makes them.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "control/key/secret_file.h"
#include "tests/command.h"

namespace cw::key {
namespace {

class KeyFiles : public testing::Test {
 protected:
  KeyFiles() {
    std::string path = (std::filesystem::temp_directory_path() / "causeway-key-XXXXXX").string();
    folder_ = mkdtemp(path.data());
  }
  ~KeyFiles() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& text, mode_t mode = 0600) const {
    std::ofstream(path("made")) << text;
    chmod(path("made").c_str(), mode);
    return path("made");
  }
  static std::string refusal_of(const std::string& path) {
    const auto secret = read_secret_file(path, "causeway-key generate");
    return secret ? "" : secret.error().sentence;
  }
  static test::Output run(const std::string& arguments) {
    return test::output_of(std::string(CW_KEY_PROGRAM) + " " + arguments + " 2>&1");
  }

  std::string folder_;
};

TEST_F(KeyFiles, hold_what_was_written_and_are_nobody_elses) {
  const seal::Secret secret = seal::Secret::random();
  ASSERT_TRUE(write_secret_file(path("a.key"), secret));
  struct stat about{};
  ASSERT_EQ(stat(path("a.key").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777u, 0600u);
  const auto read = read_secret_file(path("a.key"), "causeway-key generate");
  ASSERT_TRUE(read) << read.error().sentence;
  EXPECT_TRUE(*read == secret);
  const auto again = write_secret_file(path("a.key"), seal::Secret::random());
  ASSERT_FALSE(again);
  EXPECT_TRUE(again.error().sentence.contains("is there already")) << again.error().sentence;
  EXPECT_TRUE(*read_secret_file(path("a.key"), "causeway-key generate") == secret);
}

TEST_F(KeyFiles, are_refused_with_what_to_do) {
  const std::string text = seal::text_of(seal::Secret::random().bytes());
  EXPECT_EQ(refusal_of(write(text)), "");
  EXPECT_EQ(refusal_of(write(text + "\r\n", 0400)), "");
  for (const mode_t mode : {0640u, 0604u, 0620u, 0601u}) {
    EXPECT_TRUE(refusal_of(write(text, mode)).contains("`chmod 600 ")) << mode;
  }
  for (const std::string& none : {std::string(), text + text, text.substr(1), " " + text}) {
    EXPECT_TRUE(refusal_of(write(none)).contains("no secret of 32 bytes")) << none;
  }
  EXPECT_TRUE(refusal_of(path("none")).contains("`causeway-key generate " + path("none") + "`"));
  EXPECT_TRUE(refusal_of(folder_).contains("cannot be read")) << refusal_of(folder_);
}

TEST_F(KeyFiles, are_made_and_told_by_the_program) {
  const test::Output made = run("generate " + path("s.key"));
  EXPECT_EQ(made.status, 0) << made.out;
  const auto secret = read_secret_file(path("s.key"), "");
  ASSERT_TRUE(secret);
  EXPECT_EQ(made.out, seal::text_of(seal::Identity::of(*secret).public_key) + "\n");
  EXPECT_EQ(run("public " + path("s.key")).out, made.out);
  EXPECT_TRUE(run("public --json " + path("s.key")).out.contains("\"public_key\":\""));
  EXPECT_EQ(run("generate " + path("s.key")).status, 1);
  EXPECT_EQ(run("preshared " + path("s.psk")).out, "");
  EXPECT_TRUE(read_secret_file(path("s.psk"), ""));
  EXPECT_EQ(run("public").status, 2);
  EXPECT_EQ(run("generate /proc/nowhere/s.key").status, 1);
}

/// A disk that is full in the middle of a key.
TEST_F(KeyFiles, are_not_left_half_written) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{.rlim_cur = 20, .rlim_max = before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &little);
  const auto written = write_secret_file(path("a.key"), seal::Secret::random());
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(written);
  EXPECT_TRUE(written.error().sentence.contains("cannot be written")) << written.error().sentence;
  EXPECT_FALSE(std::filesystem::exists(path("a.key")));
}

}  // namespace
}  // namespace cw::key
