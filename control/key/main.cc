// causeway-key: a site's keys. How it ends: 0 done, 1 failed, 2 mistakes.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "control/command_line/command_line.h"
#include "control/dissector/capture_copy.h"
#include "control/dissector/key_log.h"
#include "control/dissector/opener.h"
#include "control/json/json.h"
#include "control/key/secret_file.h"
#include "dataplane/kernel/owned_fd.h"
#include "dataplane/seal/keys.h"

namespace {

using namespace cw;

constexpr int exit_done = 0, exit_failed = 1, exit_mistakes = 2;

constexpr const char* summary = "A site's keys, by which other sites know it.";

constexpr const char* lesson = R"(
A site has a private key, in a file that only its owner can read, and a public one, which anybody
may know: the other sites have it in their files. Two sites may share a secret besides, which keeps
what they say sealed even if X25519 is broken one day; it goes to both on a way that nobody else
sees.

  causeway-key generate south.key       # makes a private key; says the public one
  causeway-key public south.key         # says it again
  causeway-key preshared south-north.psk
  causeway-key open in.pcapng --key-log south.log --out plain.pcapng

Keys are 32 bytes in Base64, as WireGuard writes them, and of the same kind (X25519).

What `causewayd --seal-key-log` wrote opens what was recorded meanwhile.)";

const std::vector<Ending> endings = {
    {exit_done, "Done."},
    {exit_failed, "The file is there already, cannot be read or written, or others can read it."},
    {exit_mistakes, "A mistake in the arguments."}};

int fail(const Error& error) {
  std::fprintf(stderr, "causeway-key: %s\n", error.sentence.c_str());
  return exit_failed;
}

int tell_public(const std::string& file, const seal::Secret& secret, bool is_json) {
  const std::string text = seal::text_of(seal::Identity::of(secret).public_key);
  if (is_json) {
    std::printf("%s\n", Json({{"file", file}, {"public_key", text}}).dump().c_str());
  } else {
    std::printf("%s\n", text.c_str());
  }
  return exit_done;
}

int make(const std::string& file, bool is_private_key, bool is_json) {
  const seal::Secret secret = seal::Secret::random();
  if (const auto written = key::write_secret_file(file, secret); !written) {
    return fail(written.error());
  }
  if (is_private_key) return tell_public(file, secret, is_json);
  if (is_json) std::printf("%s\n", Json({{"file", file}}).dump().c_str());
  return exit_done;
}

struct OpenArguments {
  std::string capture, key_log, out;
};

/// A file of one's own that is not there yet: it holds what hosts said.
Result<void> make_private(const std::string& path) {
  const OwnedFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (fd.get() >= 0) return {};
  return failure(path + " cannot be made (" + std::strerror(errno) + ")");
}

int open_capture(const OpenArguments& arguments, bool is_json) {
  const auto text = dissector::read_key_log(arguments.key_log);
  if (!text) return fail(text.error());
  std::ifstream from(arguments.capture, std::ios::binary);
  if (!from) return fail({arguments.capture + " cannot be read"});
  if (const auto made = make_private(arguments.out); !made) return fail(made.error());
  std::ofstream to(arguments.out, std::ios::binary);
  dissector::Opener opener(*text);
  const auto copied = dissector::copy_capture(from, to, opener);
  if (!copied || !to.flush()) {
    unlink(arguments.out.c_str());
    return fail(copied ? Error{arguments.out + " cannot be written"}
                       : Error{arguments.capture + " " + copied.error().sentence});
  }
  const auto [opened, kept] = opener.counts();
  const Json counts = {{"packets", copied->packets},
                       {"opened", opened},
                       {"without_key", kept},
                       {"cut", copied->cut}};
  std::printf("%s\n", is_json ? counts.dump().c_str()
                              : (std::to_string(opened) + " of " + std::to_string(copied->packets) +
                                 " packets opened, " + std::to_string(kept) +
                                 " left for which the log has no key, " +
                                 std::to_string(copied->cut) + " of which the capture has a part")
                                    .c_str());
  return exit_done;
}

int run(int argc, char** argv) {
  std::string file;
  OpenArguments opens;
  bool is_json = false;
  CommandLine app(summary, "causeway-key");
  app.footer(lesson);
  app.ends_with(endings);
  app.set_version(CW_VERSION);
  app.add_flag("--json", is_json, "for programs");
  CommandLine generating =
      app.add_subcommand("generate", "Makes a private key, says the public one.");
  CommandLine telling = app.add_subcommand("public", "Says the public key of a private one.");
  CommandLine sharing = app.add_subcommand("preshared", "Makes a secret for two sites.");
  for (CommandLine* each : {&generating, &telling, &sharing}) {
    each->add_option("FILE", file, "the secret's").type_name("FILE").required();
  }
  CommandLine opening =
      app.add_subcommand("open", "Opens what was recorded (pcapng) of gateways that seal.");
  opening.add_option("CAPTURE", opens.capture, "what was recorded").type_name("FILE").required();
  opening.add_option("--key-log", opens.key_log, "what causewayd --seal-key-log wrote")
      .type_name("FILE")
      .required();
  opening.add_option("--out", opens.out, "where it is written; no file that is there")
      .type_name("FILE")
      .required();
  if (const auto end = app.parse_or_end(argc, argv, exit_mistakes)) return *end;
  if (opening.is_chosen()) return open_capture(opens, is_json);
  if (!telling.is_chosen()) return make(file, generating.is_chosen(), is_json);
  const auto secret = key::read_secret_file(file, "causeway-key generate");
  return secret ? tell_public(file, *secret, is_json) : fail(secret.error());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "causeway-key: %s\n", error.what());
    return exit_failed;
  }
}
