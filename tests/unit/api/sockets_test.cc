#include "control/api/sockets.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/unit/api/clients.h"

namespace cw::api {
namespace {

TEST(ApiSockets, makes_a_folder_of_a_sites_name_whatever_is_in_it) {
  EXPECT_EQ(folder_of("/run/causeway", "south"), "/run/causeway/south");
  EXPECT_EQ(folder_of("/run/causeway", "../../etc"), "/run/causeway/.._.._etc");
  EXPECT_EQ(folder_of("/run/causeway", ".."), "/run/causeway/_");
  EXPECT_EQ(folder_of("/run/causeway", "s\xc3\xbc d"), "/run/causeway/s___d");
}

TEST(ApiSockets, is_for_its_owner_and_group_alone) {
  const TestFolder folder;
  const auto fd = listen_at(folder.file("a"), {});
  ASSERT_TRUE(fd) << fd.error().sentence;
  struct stat it{};
  ASSERT_EQ(stat(folder.file("a").c_str(), &it), 0);
  EXPECT_EQ(it.st_mode & 0777, 0660u);
  EXPECT_TRUE(RawClient(folder.file("a")).is_connected());
}

TEST(ApiSockets, takes_the_place_of_one_that_is_dead_and_of_none_that_lives) {
  const TestFolder folder;
  const std::string file = folder.file("a");
  {
    const auto first = listen_at(file, {});
    ASSERT_TRUE(first);
    const auto second = listen_at(file, {});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().sentence, "another process listens at " + file);
  }
  EXPECT_TRUE(listen_at(file, {})) << "nobody listens there any more";
  std::ofstream(folder.file("b")) << "a file";
  EXPECT_TRUE(listen_at(folder.file("b"), {}));
}

TEST(ApiSockets, names_what_is_wrong) {
  const TestFolder folder;
  const auto sentence = [](const auto& result) {
    return result ? std::string() : result.error().sentence;
  };
  EXPECT_NE(sentence(listen_at(folder.file(std::string(200, 'x')), {})).find("too long"),
            std::string::npos);
  EXPECT_NE(sentence(listen_at(folder.file("a"), {.user = "", .group = "nobody_at_all"}))
                .find("no group \"nobody_at_all\""),
            std::string::npos);
  EXPECT_NE(sentence(listen_at(folder.file("none/a"), {})).find("cannot make the socket"),
            std::string::npos);
  EXPECT_NE(sentence(make_folder("/proc/none/a")).find("cannot make the folder"),
            std::string::npos);
  for (const char* const text :
       {"", "9443", "192.0.2.1", "192.0.2.1:0", "192.0.2.1:x", "a:70000"}) {
    EXPECT_NE(sentence(listen_on(text)).find("is no address with a port"), std::string::npos)
        << text;
  }
  EXPECT_NE(sentence(listen_on("somewhere:9443")).find("cannot listen at"), std::string::npos);
}

TEST(ApiSockets, listens_on_either_family) {
  for (const char* const text : {"127.0.0.1:19443", "[::1]:19443"}) {
    const auto fd = listen_on(text);
    ASSERT_TRUE(fd) << fd.error().sentence;
    EXPECT_NE(host_of(text), text);
  }
  EXPECT_EQ(host_of("[::1]:19443"), "[::1]");
}

}  // namespace
}  // namespace cw::api
