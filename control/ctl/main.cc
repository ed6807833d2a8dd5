// causewayctl: asks a gateway that runs, and tells it what to change. How it ends: exits.h.
#include <cstdio>
#include <exception>
#include <iterator>
#include <string>
#include <vector>

#include "control/command_line/command_line.h"
#include "control/command_line/completion.h"
#include "control/ctl/commands.h"
#include "control/ctl/exits.h"

namespace {

using namespace cw;
using namespace cw::ctl;

constexpr const char* summary = "Asks a gateway that runs how it is, and tells it what to change.";

constexpr const char* lesson = R"(
A gateway is found by its file, or by one of its sockets:
  causewayctl --config a.toml status
  causewayctl --socket /run/causeway/south/control.sock swap bulk hybrid k=32 m=4
  causewayctl --config a.toml reload --wait 10s
  causewayctl --config a.toml top
From another machine, where the file has api.listen:
  causewayctl --url https://192.0.2.1:9443 --certificate me.pem --key me.key --ca ca.pem links)";

const std::vector<Ending> endings = {
    {exit_done, "Done."},
    {exit_failed, "Failed: a mistake in the gateway's file, a step that could not be."},
    {exit_usage, "A mistake in the arguments."},
    {exit_no_daemon, "No gateway answers."},
    {exit_peer_refused, "The other site refused; its sentence says why."},
    {exit_busy, "Busy: something is under way, try again."},
    {exit_not_allowed, "Not allowed, for whoever this is."},
    {exit_waiting,
     "It waits: for a link that is down, a key for a restart, or frames that still cross."}};

struct Entry {
  const char *name, *what;
  Command run;
  const char* more = "";  // of what may be asked only once one uses it
};

constexpr Entry entries[] = {
    {"status", "The gateway, its links and classes.", status},
    {"links", "Each peer: up or down and why, round trip, rate.", links},
    {"paths", "Each path of each link: round trip, queue, loss both ways.", paths},
    {"classes", "Each class with each peer: policies, frames sent, received, given up.", classes},
    {"streams", "Each end of each stream: messages, places, which policy.", streams},
    {"flows", "Which flows hosts have, by looking at one packet of 64.", flows},
    {"drops", "What was dropped here, and what each reason means.", drops},
    {"policies", "The policies there are, with their parameters.", policies},
    {"swaps", "The latest swap of each class, and what became of it.", swaps},
    {"adaptive", "Classes that adapt: their lines, and what was decided last and why.", adaptive},
    {"bars", "Policies that were put in quarantine, which no swap brings again.", bars},
    {"config", "What is in force, as a gateway's file; takes the right to control.", config,
     "The file of its start, and what reloads have taken since. It names files of the machine, so "
     "this\n"
     "takes the right to control. Policies that swap has brought are not in it."},
    {"forgive", "Let swaps bring a barred policy again.", forgive},
    {"swap", "Replace the policy of a class while traffic flows.", swap,
     "Waits for what becomes of it. With --guard it is swapped back, once, when it does worse than "
     "the\n"
     "one before. A class that adapts is left to this order until the file is read again, or "
     "adapt."},
    {"adapt", "Let a class that adapts choose by itself again, after a swap.", adapt},
    {"plan", "What a reload of the file would do.", plan},
    {"reload", "Read the file again and take what can be taken.", reload,
     "Waits for what the peers must take part in."},
    {"drain", "Let other gateways take over, before this one is stopped.", drain,
     "Peers with another way to the same hosts send by that one, and /healthz says 503 to whoever\n"
     "chooses for the hosts. What still comes is carried. It waits until nothing has crossed for "
     "two\n"
     "seconds."},
    {"top", "Rates, losses and queues, drawn anew each second.", top},
    {"capture", "Packets before and after the gateway, 128 bytes of each, as pcapng.", capture,
     "60 seconds and 64 MiB at most, one at a time. The long haul's outer headers are made from "
     "the\n"
     "gateway's file."},
    {"trace", "What a stream's policies are told and decide, as a file for causeway-sim.", trace,
     "Begins with a change from the policy of now to the same, which costs no packet anything, and "
     "goes\n"
     "on for 60 seconds and 4 MiB a direction at most, without payload. To see it played again:\n"
     "  causeway-sim --replay FILE"},
    {"bundle", "All that a report of a mistake needs, in one file, without secrets.", bundle,
     "With --trace, what the policies of one stream are told and decide meanwhile is in it, as "
     "trace has it."},
};

/// Which stream of a class, and for how long.
void add_trace(CommandLine& command, Options::Trace& trace) {
  command.add_option("--peer", trace.peer, "with which site; needed where there are several");
  command.add_option("--link", trace.link, "which of the pair's links; 0");
  command.add_option("--direction", trace.direction, "of what this site sends, or receives")
      .one_of({"out", "in", "both"})
      .shows_default();
  command.add_option("--seconds", trace.seconds, "how long at most").between(1, 60);
}

/// The options of each command besides what all have.
void add_own(CommandLine& command, const std::string& name, Options& options) {
  if (name == "swap") {
    Options::Swap& swap = options.swap;
    command.add_option("CLASS", swap.class_name, "of the gateway's file").required();
    command.add_option("POLICY", swap.policy, "one of `causewayctl policies`").required();
    command.add_option("PARAM=VALUE", swap.params, "of the policy; the rest have their defaults");
    command.add_option("--peer", swap.peer, "with this site alone; else with all");
    command.add_option("--direction", swap.direction, "of what this site sends, or receives")
        .one_of({"out", "in", "both"})
        .shows_default();
    command.add_flag("--guard", swap.is_guarded, "swap back what makes things worse");
  }
  if (name == "adapt") {
    command.add_option("CLASS", options.swap.class_name, "of the gateway's file").required();
    command.add_option("--peer", options.swap.peer, "with this site alone; else with all");
  }
  if (name == "drain") {
    command.add_flag("--undo", options.is_undone, "peers may send by this one again");
  }
  if (name == "reload") {
    command.add_flag("--links-later", options.is_links_later,
                     "do not wait for links by the new keys: other sites have yet to load them");
  }
  if (name == "swap" || name == "reload" || name == "drain") {
    const char* const otherwise = name == "drain" ? "60s" : "10s";
    command
        .add_option("--wait", options.wait,
                    std::string("how long for what comes of it; ") + otherwise)
        .type_name("TIME");
  }
  if (name == "top") {
    command.add_option("--rounds", options.top.rounds, "end after so many; 0: at Ctrl-C");
  }
  if (name == "flows") {
    command.add_option("--seconds", options.flow_seconds, "how long to look").between(1, 10);
  }
  if (name == "capture") {
    Options::Capture& capture = options.capture;
    command.add_option("--seconds", capture.seconds, "how long at most").between(1, 60);
    command.add_option("--packets", capture.packets, "how many at most");
    command.add_option("--side", capture.side, "of hosts, of the long haul")
        .one_of({"lan", "wan", "both"});
    command.add_option("--peer", capture.peer, "of the long haul's, those of this site");
    command.add_option("--output", options.file, "the file to write; else it goes to a pipe")
        .type_name("FILE");
  }
  if (name == "forgive") {
    command.add_option("POLICY", options.policy, "as `causewayctl bars` has it").required();
  }
  if (name == "trace") {
    command.add_option("CLASS", options.trace.class_name, "of the gateway's file").required();
    add_trace(command, options.trace);
    command.add_option("--output", options.file, "the file to write").type_name("FILE");
  }
  if (name == "bundle") {
    command.add_option("--trace", options.trace.class_name, "with a trace of this class")
        .type_name("CLASS");
    add_trace(command, options.trace);
    command.add_option("--output", options.file, "the file to write").type_name("FILE");
  }
}

int refuse(const char* sentence) {
  std::fprintf(stderr, "causewayctl: %s\n", sentence);
  return exit_usage;
}

int run(const Entry& entry, const Options& options) {
  const int given = (options.config.empty() ? 0 : 1) + (options.socket.empty() ? 0 : 1) +
                    (options.url.empty() ? 0 : 1);
  if (given == 0) return refuse("which gateway? give --config FILE, or --socket or --url");
  // A bundle has the file in it, wherever the gateway is.
  const bool is_file_for_bundle = entry.run == bundle && given == 2 && !options.config.empty();
  if (given > 1 && !is_file_for_bundle) return refuse("one of --config, --socket and --url");
  Place place = {
      .url = options.url, .certificate = options.certificate, .key = options.key, .ca = options.ca};
  if (!options.socket.empty()) {
    place = place_of_socket(options.socket);
  } else if (options.url.empty()) {
    const auto found = place_of_config(options.config);
    if (!found) return refuse(found.error().sentence.c_str());
    place = *found;
  }
  Client client(place);
  return entry.run(client, options);
}

int run_with(int argc, char** argv) {
  Options options;
  CommandLine app(summary, "causewayctl");
  app.footer(lesson);
  app.ends_with(endings);
  app.set_version(CW_VERSION);
  app.add_option("--config", options.config, "the gateway's file").type_name("FILE");
  app.add_option("--socket", options.socket, "its socket").type_name("FILE");
  app.add_option("--url", options.url, "its address of TLS, https://HOST:PORT");
  app.add_option("--certificate", options.certificate, "with --url: whose we are")
      .type_name("FILE");
  app.add_option("--key", options.key, "and its key").type_name("FILE");
  app.add_option("--ca", options.ca, "with --url: who signed the gateway's").type_name("FILE");
  app.add_flag("--json", options.is_json, "for programs");
  std::vector<CommandLine> commands;
  for (const Entry& each : entries) {
    CommandLine& command = commands.emplace_back(app.add_subcommand(each.name, each.what));
    if (*each.more != '\0') command.footer(each.more);
    add_own(command, each.name, options);
  }
  CommandLine completion = app.add_subcommand("completion", "A script that completes commands.");
  completion.add_option("SHELL", options.shell, "whose").one_of({"bash", "zsh"}).required();
  if (const auto end = app.parse_or_end(argc, argv, exit_usage)) return *end;
  if (completion.is_chosen()) {
    std::fputs(completion_of(app.told(), options.shell).c_str(), stdout);
    return exit_done;
  }
  for (size_t i = 0; i < std::size(entries); ++i) {
    if (commands[i].is_chosen()) return run(entries[i], options);
  }
  return exit_usage;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_with(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "causewayctl: %s\n", error.what());
    return exit_failed;
  }
}
