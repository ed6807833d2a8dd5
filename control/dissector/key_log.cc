#include "control/dissector/key_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <utility>

#include "control/config/text/file.h"
#include "control/json/json.h"

namespace cw::dissector {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

std::string hex_of(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t each : bytes) text.append({digits[each >> 4], digits[each & 15]});
  return text;
}

seal::Secret secret_of(std::string_view hex, size_t bytes) {
  if (hex.size() != 2 * bytes) throw Json::Error("a key of another length");
  seal::Secret secret;
  for (size_t i = 0; i < hex.size(); ++i) {
    const size_t digit = digits.find(hex[i]);
    if (digit == digits.npos) throw Json::Error("a key that is not hex");
    secret.bytes()[i / 2] = static_cast<uint8_t>(secret.bytes()[i / 2] << 4 | digit);
  }
  return secret;
}

cw_aead_kind kind_called(std::string_view name) {
  for (int kind = 0; kind < CW_AEAD_KINDS; ++kind) {
    if (name == cw_aead_name(static_cast<cw_aead_kind>(kind)))
      return static_cast<cw_aead_kind>(kind);
  }
  throw Json::Error("an unknown cipher");
}

LoggedSession session_of(const Json& line) {
  LoggedSession session;
  session.peer = line.at("peer").get<std::string>();
  seal::Agreement& it = session.agreement;
  it.kind = kind_called(line.at("cipher").get<std::string>());
  it.receive_index = line.at("receive_index").get<uint8_t>();
  it.send_index = line.at("send_index").get<uint8_t>();
  it.covers_psns = line.at("covers_psns").get<bool>();
  const size_t bytes = cw_aead_key_bytes(it.kind);
  it.receive = secret_of(line.at("receive_key").get<std::string>(), bytes);
  it.send = secret_of(line.at("send_key").get<std::string>(), bytes);
  return session;
}

}  // namespace

std::string line_of(const LoggedSession& session) {
  const seal::Agreement& it = session.agreement;
  const size_t bytes = cw_aead_key_bytes(it.kind);
  const Json line = {{"peer", session.peer},
                     {"cipher", cw_aead_name(it.kind)},
                     {"receive_index", it.receive_index},
                     {"send_index", it.send_index},
                     {"covers_psns", it.covers_psns},
                     {"receive_key", hex_of(it.receive.bytes().first(bytes))},
                     {"send_key", hex_of(it.send.bytes().first(bytes))}};
  return line.dump();
}

Result<std::vector<LoggedSession>> parse_key_log(std::string_view text) {
  std::vector<LoggedSession> sessions;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.empty()) continue;
    try {
      sessions.push_back(session_of(Json::parse(line)));
    } catch (const std::exception&) {
      return failure("line " + std::to_string(number) +
                     " is no session of a key log, as `causewayd --seal-key-log` writes them");
    }
  }
  return sessions;
}

Result<std::vector<LoggedSession>> read_key_log(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return failure(path + " cannot be read");
  auto sessions = parse_key_log(text);
  if (!sessions) return failure(path + ": " + sessions.error().sentence);
  if (sessions->empty()) return failure(path + " has no session yet");
  return sessions;
}

Result<std::unique_ptr<KeyLogFile>> KeyLogFile::open(const std::string& path) {
  OwnedFd fd(::open(path.c_str(),
                    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                    S_IRUSR | S_IWUSR));
  struct stat about{};
  if (fd.get() < 0 || fstat(fd.get(), &about) != 0) {
    return failure(path + " cannot be written (" + std::strerror(errno) + ")");
  }
  if (!S_ISREG(about.st_mode) || about.st_uid != geteuid()) {
    return failure(path + " is no file of this user's own, and keys go nowhere else");
  }
  if ((about.st_mode & config::of_others) != 0) {
    return failure(path + " has mode " + config::mode_text(about.st_mode) +
                   ", and others may open it; keys go to a file that is its owner's alone");
  }
  return std::unique_ptr<KeyLogFile>(new KeyLogFile(std::move(fd)));
}

void KeyLogFile::agreed(const std::string& peer, const seal::Agreement& agreement) {
  std::string line = line_of({peer, agreement}) + "\n";
  const off_t before = lseek(fd_.get(), 0, SEEK_END);
  const bool is_written = config::try_write_all(fd_.get(), line);
  if (!is_written && before >= 0) (void)!ftruncate(fd_.get(), before);
  explicit_bzero(line.data(), line.size());
}

}  // namespace cw::dissector
