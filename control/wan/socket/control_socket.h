// The door through which a running link is changed: a UNIX socket that takes lines and answers
// each. Whoever is connected has it alone until it hangs up; the link waits for nobody.
//
//   -> loss=1% a-to-b.rate=100Mbit/s        -> (an empty line)         -> loss=200%
//   <- ok                                   <- a-to-b.delay=10ms ...   <- error: --loss: ...
//                                           <- ok
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "control/units/lines.h"
#include "dataplane/base/result.h"

namespace cw::wan {

/// The link's end. The file is removed with it. Thread: one.
class ControlSocket {
 public:
  /// Takes the place of a file that another run has left. Errors: the path is too long, is no
  /// socket, belongs to a link that runs, or lies where nothing may be made.
  static Result<ControlSocket> open(const std::string& path);
  ControlSocket(ControlSocket&& other) noexcept;
  ControlSocket& operator=(ControlSocket&&) = delete;
  ~ControlSocket();

  /// Readable when try_receive() has something to do.
  int fd() const { return peer_ >= 0 ? peer_ : listener_; }
  /// The next line, without its end; never waits.
  std::optional<std::string> try_receive();
  /// To whoever sent the last line, if it is still there.
  void answer(std::string_view text);

 private:
  ControlSocket(int listener, std::string path) : listener_(listener), path_(std::move(path)) {}
  void hang_up();

  static constexpr size_t line_bytes_max = 4096;

  int listener_ = -1, peer_ = -1;
  std::string path_;
  Lines lines_{line_bytes_max};
};

/// Asks the link behind `path` to change; returns its settings when nothing is asked for. Waits for
/// the answer, a second at most. Errors: nobody is there; what the link says against it.
Result<std::string> ask(const std::string& path, std::string_view request);

}  // namespace cw::wan
