// A folder for a gateway's file and its key, and a file that is right.
#pragma once

#include <string>

namespace cw::site {

/// A new folder, and the current one, with `pair.key` and private keys in it; gone with the object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& text, unsigned mode = 0600) const;

 private:
  std::string path_, before_;
};

std::string text_of(const std::string& path);

/// A file without mistakes, of which `from` has been replaced by `to`; `more` follows at its end.
std::string file_with(const std::string& from, const std::string& to, const std::string& more = "");

}  // namespace cw::site
