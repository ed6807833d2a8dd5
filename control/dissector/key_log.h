// A key log: the keys of every session that a gateway agrees upon, in a file, for who has to open
// what was recorded. README.md has the format, a line of JSON for each session.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/kernel/owned_fd.h"
#include "dataplane/seal/keyring.h"

namespace cw::dissector {

/// As a gateway's log has it: `agreement.send` is that gateway's, to `peer`.
struct LoggedSession {
  std::string peer;
  seal::Agreement agreement;
};

/// Without the line's end.
std::string line_of(const LoggedSession& session);
/// Errors: the number of the first line that is none. Empty lines are passed over.
Result<std::vector<LoggedSession>> parse_key_log(std::string_view text);
/// The same of a file.
Result<std::vector<LoggedSession>> read_key_log(const std::string& path);

/// Writes one, each line as soon as there are keys.
class KeyLogFile final : public seal::KeyLog {
 public:
  /// Makes the file, mode 0600, or writes on behind what this user's own has, if nobody else may
  /// read it. Errors: any other file.
  static Result<std::unique_ptr<KeyLogFile>> open(const std::string& path);

  /// A line that cannot be written is left out: traffic does not depend on it.
  void agreed(const std::string& peer, const seal::Agreement& agreement) override;

 private:
  explicit KeyLogFile(OwnedFd fd) : fd_(std::move(fd)) {}
  OwnedFd fd_;
};

}  // namespace cw::dissector
