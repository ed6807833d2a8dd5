// Lines out of a stream of bytes from somebody who may never end one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cw {

class Lines {
 public:
  /// No line is longer; so much and what came with its end may be held.
  explicit Lines(size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}

  void take(std::string_view bytes) { held_ += bytes; }
  /// The next line, without its end.
  std::optional<std::string> next();

  bool has_next() const { return held_.find('\n') != std::string::npos; }
  /// More than a line is held: there is no need to take more, and no line when has_next() denies
  /// it.
  bool is_full() const { return held_.size() > line_bytes_max_; }
  void clear() { held_.clear(); }

 private:
  size_t line_bytes_max_;
  std::string held_;
};

}  // namespace cw
