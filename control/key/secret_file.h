// Secrets in files: 32 bytes as Base64 on a line, in a file that only its owner can read.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "dataplane/seal/keys.h"

namespace cw::key {

/// Errors: not there (with the command that makes one), open to others (with the command that
/// closes it), no such secret. Of a file that changes meanwhile, one state is read.
Result<seal::Secret> read_secret_file(const std::string& path, const char* how_to_make);

/// Makes the file, mode 0600, and has it on the disk before it returns. Errors: it is there, or
/// what the system says; then nothing is left.
Result<void> write_secret_file(const std::string& path, const seal::Secret& secret);

}  // namespace cw::key
