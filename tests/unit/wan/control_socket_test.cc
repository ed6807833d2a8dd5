#include "control/wan/control_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace cw::wan {
namespace {

class Control : public testing::Test {
 protected:
  ~Control() override { std::filesystem::remove(path_); }

  ControlSocket open() {
    auto opened = ControlSocket::open(path_);
    if (!opened) throw std::runtime_error(opened.error().sentence);
    return std::move(*opened);
  }
  /// Answers `count` lines with what `answer` makes of them.
  static void serve(ControlSocket& socket, int count, auto answer) {
    while (count > 0) {
      const auto line = socket.try_receive();
      if (!line) {
        std::this_thread::yield();
        continue;
      }
      socket.answer(answer(*line));
      --count;
    }
  }
  int client() const {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, path_.c_str(), sizeof(name.sun_path) - 1);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
    return fd;
  }

  std::string path_ = testing::TempDir() + "control_" + std::to_string(getpid());
};

TEST_F(Control, a_line_is_asked_and_answered) {
  ControlSocket socket = open();
  std::thread server([&] {
    serve(socket, 2, [](const std::string& line) {
      return line == "loss=1%" ? std::string("ok\n") : "error: not " + line + "\n";
    });
  });
  const auto taken = ask(path_, "loss=1%");
  const auto refused = ask(path_, "loss=7");
  server.join();
  ASSERT_TRUE(taken) << taken.error().sentence;
  EXPECT_EQ(*taken, "");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sentence, path_ + ": not loss=7");
}

TEST_F(Control, what_stands_before_ok_is_what_was_asked_for) {
  ControlSocket socket = open();
  std::thread server(
      [&] { serve(socket, 1, [](const std::string&) { return "a=1\nb=2\nok\n"; }); });
  const auto shown = ask(path_, "");
  server.join();
  ASSERT_TRUE(shown) << shown.error().sentence;
  EXPECT_EQ(*shown, "a=1\nb=2\n");
}

TEST_F(Control, lines_come_in_pieces_and_several_at_once) {
  ControlSocket socket = open();
  const int fd = client();
  EXPECT_EQ(write(fd, "lo", 2), 2);
  EXPECT_EQ(socket.try_receive(), std::nullopt);
  EXPECT_EQ(write(fd, "ss=1%\ndelay=1ms\n", 16), 16);
  EXPECT_EQ(socket.try_receive(), "loss=1%");
  EXPECT_EQ(socket.try_receive(), "delay=1ms");
  EXPECT_EQ(socket.try_receive(), std::nullopt);
  close(fd);
}

TEST_F(Control, the_next_is_served_when_one_has_hung_up_or_said_too_much) {
  ControlSocket socket = open();
  const int loud = client();
  const std::string noise(3000, 'x');
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(write(loud, noise.data(), noise.size()), 3000);
    EXPECT_EQ(socket.try_receive(), std::nullopt);
  }
  const int gone = client();
  EXPECT_EQ(socket.try_receive(), std::nullopt);
  close(gone);
  EXPECT_EQ(socket.try_receive(), std::nullopt);
  const int fd = client();
  EXPECT_EQ(write(fd, "loss=1%\n", 8), 8);
  EXPECT_EQ(socket.try_receive(), "loss=1%");
  close(fd);
  socket.answer("ok\n");  // nobody is there, and nothing happens
  close(loud);
}

TEST_F(Control, the_file_goes_with_its_link_and_one_that_was_left_is_replaced) {
  {
    const ControlSocket socket = open();
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, path_.c_str(), sizeof(name.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  close(fd);  // as after a crash
  const ControlSocket replaced = open();
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(Control, says_why_it_cannot_be) {
  const ControlSocket socket = open();
  EXPECT_NE(ControlSocket::open(path_).error().sentence.find("belongs to a link that runs"),
            std::string::npos);
  const std::string file = path_ + "_file";
  std::ofstream(file) << "precious";
  EXPECT_NE(ControlSocket::open(file).error().sentence.find("no socket"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(file));
  std::filesystem::remove(file);
  EXPECT_NE(ControlSocket::open(std::string(200, 'x')).error().sentence.find("107 bytes"),
            std::string::npos);
  EXPECT_NE(ask(path_ + "_nobody", "").error().sentence.find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace cw::wan
