// Texts of deployments, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "control/deploy/file/check.h"

namespace cw::deploy {

/// One [[site]] of a number.
inline std::string site_text(int number, const std::string& more = "") {
  const std::string n = std::to_string(number);
  return "[[site]]\nname = \"s" + n + "\"\naddress = \"192.0.2." + n + "\"\nroutes = [\"10." + n +
         ".0.0/16\"]\n" + more;
}

/// Sites 1 to `count`, alike; `more` are further lines, of tables.
inline std::string deployment_text(int count, const std::string& more = "",
                                   const std::string& pair = "rtt = \"20 ms\"\n") {
  std::string text =
      "[pair]\nkey_file = \"key\"\n" + pair + "[defaults.wan]\nrate = \"100 Mbit/s\"\n";
  for (int i = 1; i <= count; ++i) text += site_text(i);
  return text + more;
}

/// A further site before the hosts of the first.
inline std::string twin_text(const std::string& more = "prefer = 50\n") {
  return "[[site]]\nname = \"twin\"\naddress = \"192.0.2.99\"\nroutes = [\"10.1.0.0/16\"]\n" + more;
}

/// "3:5: sentence" of each mistake, a line each.
inline std::string mistakes_of(const std::string& text) {
  return config::to_text(check(text, "").mistakes, "file");
}

inline std::vector<SiteFile> files_of(const std::string& text) {
  Checked checked = check(text, "");
  EXPECT_EQ(config::to_text(checked.mistakes, "file"), "") << text;
  return std::move(checked.files);
}

}  // namespace cw::deploy
