// Two hosts and a middle, each a network namespace of its own, joined by two cables:
//
//   host A [va 10.9.0.1] ------ [ma] middle [mb] ------ [vb 10.9.0.2] host B
#pragma once

#include <array>
#include <string>

#include "tests/lab/program.h"
#include "tests/lab/space.h"

namespace cw::lab {

enum Place { HostA, Middle, HostB };
inline constexpr const char* address_of_a = "10.9.0.1";
inline constexpr const char* address_of_b = "10.9.0.2";

class Lab {
 public:
  /// Throws when a command fails.
  Lab();

  int namespace_of(Place place) const { return spaces_[place].fd(); }
  /// For `ip link ... netns PATH`.
  std::string path_of(Place place) const { return spaces_[place].path(); }
  /// Runs a program to its end.
  Outcome run(Place place, const Arguments& arguments) const {
    return spaces_[place].run(arguments);
  }
  /// A socket for IPv4 that lives in a place.
  int socket(Place place, int type) const;

 private:
  std::array<Space, 3> spaces_;
};

}  // namespace cw::lab
