// What causewayctl can do, each by one function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/ctl/ask/client.h"

namespace cw::ctl {

struct Options {
  std::string config, socket, url, certificate, key, ca;
  bool is_json = false;
  std::string wait;  ///< "10s"; how long for what begins; empty: as the command has it

  struct Swap {
    std::string class_name, policy;
    std::vector<std::string> params;  ///< "k=32"
    std::string peer, direction = "out";
    bool is_guarded = false;
  } swap;
  struct Capture {
    uint32_t seconds = 10;
    std::optional<uint64_t> packets;
    std::string side = "both", peer;
  } capture;
  struct Trace {
    std::string class_name;  ///< empty: a bundle has none
    std::string peer;
    std::optional<uint64_t> link;
    std::string direction = "both";
    uint32_t seconds = 5;
  } trace;
  struct Top {
    uint32_t rounds = 0;  ///< 0: until Ctrl-C
  } top;
  uint32_t flow_seconds = 1;    ///< how long flows are looked at
  std::string policy;           ///< that is forgiven
  bool is_undone = false;       ///< a drain
  bool is_links_later = false;  ///< a reload: links that wait for other sites' files are left alone
  std::string file;             ///< that bundle writes
  std::string shell;            ///< that completion is for
};

/// Prints, and returns how the program ends.
using Command = int (*)(Client& client, const Options& options);

int status(Client& client, const Options& options);
int links(Client& client, const Options& options);
int paths(Client& client, const Options& options);
int classes(Client& client, const Options& options);
int streams(Client& client, const Options& options);
int flows(Client& client, const Options& options);
int drops(Client& client, const Options& options);
int policies(Client& client, const Options& options);
int swaps(Client& client, const Options& options);
int adaptive(Client& client, const Options& options);
int bars(Client& client, const Options& options);
int config(Client& client, const Options& options);

int swap(Client& client, const Options& options);
int adapt(Client& client, const Options& options);
int reload(Client& client, const Options& options);
int plan(Client& client, const Options& options);
int forgive(Client& client, const Options& options);
int drain(Client& client, const Options& options);

int top(Client& client, const Options& options);
int bundle(Client& client, const Options& options);
int capture(Client& client, const Options& options);
int trace(Client& client, const Options& options);
/// The answer of a trace that was ordered, or why there is none.
Answer ask_for_trace(Client& client, const Options& options);

/// False: it cannot be written, which has been said.
bool try_write(const std::string& file, const std::string& text);
/// The sentence of an answer that is none; what the program ends with.
int tell_failure(const Answer& answer, const Options& options);

}  // namespace cw::ctl
