// Where the plugins of files/ are, and folders to put copies in.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace cw::plugins_test {

inline std::string plugin(const std::string& name) {
  return std::string(CW_TEST_PLUGIN_DIR) + "/" + name + ".so";
}

/// A folder of its own, gone with the object.
class Folder {
 public:
  Folder() {
    std::string name = testing::TempDir() + "/plugins_XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  /// Makes the file, or overwrites it in place: same name, same inode.
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

 private:
  std::string path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace cw::plugins_test
