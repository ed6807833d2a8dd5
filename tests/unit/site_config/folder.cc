#include "tests/unit/site_config/folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace cw::site {

namespace fs = std::filesystem;

Folder::Folder() : before_(fs::current_path()) {
  std::string name = fs::temp_directory_path() / "causeway-XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  path_ = name;
  fs::current_path(path_);
  write("pair.key", std::string(64, 'k') + "\n");
  // 32 times 1.
  for (const char* key : {"site.key", "a.key", "b.key", "lab-a.key", "lab-b.key"}) {
    write(key, "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n");
  }
}

Folder::~Folder() {
  fs::current_path(before_);
  fs::remove_all(path_);
}

void Folder::write(const std::string& name, const std::string& text, unsigned mode) const {
  const std::string path = path_ + "/" + name;
  std::ofstream(path) << text;
  EXPECT_EQ(chmod(path.c_str(), mode), 0);
}

std::string text_of(const std::string& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  EXPECT_TRUE(stream) << path;
  return text.str();
}

std::string file_with(const std::string& from, const std::string& to, const std::string& more) {
  std::string text = R"([site]
name = "south"
[lan]
addresses = ["10.1.0.1/24"]
[wan]
rate = "1 Gbit/s"
[pair]
key_file = "pair.key"
rtt = "20 ms"
[[peer]]
name = "north"
address = "192.0.2.2"
routes = ["10.2.0.0/16"]
)";
  if (!from.empty()) {
    const size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    text.replace(place, from.size(), to);
  }
  return text + more;
}

}  // namespace cw::site
