// What cold paths (create, configure, load) return. The sentence names the key, file or device, the
// value seen and the values accepted; it is written for the person who must mend it.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace cw {

struct Error {
  std::string sentence;
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> failure(std::string sentence) {
  return std::unexpected(Error{std::move(sentence)});
}

}  // namespace cw
