#include "control/perf/message/options.h"

#include <algorithm>
#include <array>

#include "control/perf/shared/exits.h"
#include "control/perf/shared/subcommand.h"
#include "control/units/units.h"

namespace cw::perf {
namespace {

constexpr const char* lesson =
    "Hosts on a simulated leaf-spine fabric (leaves of 16, of 32 above 512 hosts, and as many "
    "spines),\n"
    "in virtual time, with the code that runs on real ports. Receivers know what is to come: each\n"
    "message is posted at both ends at the same time. Times run from there until all of it is "
    "there.\n"
    "\n"
    "  causeway-perf alltoall --hosts 128 --load 80% --policy csa_ud --seed 1 --json\n"
    "      messages to hosts by chance begin as a Poisson process at 80 % of each host's line\n"
    "  causeway-perf alltoall --hosts 16 --size 256KiB --rounds 20\n"
    "      steps: each host has a message for each other one; the next begins when all are there\n"
    "  causeway-perf alltoall --port udp --group 239.7.7.7 --members 192.0.2.1,192.0.2.2 --rank 0\n"
    "      steps between processes, each of which is one member and is told the same but its rank\n"
    "  causeway-perf allreduce --hosts 32 --size 4MiB --background 30% --policy nack_fixed\n"
    "      a ring that adds up 32-bit floats, beside messages between hosts by chance\n";

constexpr std::array<const char*, 2> names = {"alltoall", "allreduce"};
constexpr std::array<const char*, 2> summaries = {
    "Messages from all hosts to all hosts over one queue pair at each.",
    "A ring of messages that adds up what all hosts have."};

struct Texts {
  std::string port = "sim", size = "64KiB", load = "0%", background = "0%", rate, delay,
              buffer = "4MiB", loss = "0%", reorder = "20us";
  std::vector<std::string> settings;
  PlaceTexts place;

  bool is_udp() const { return port == "udp"; }
  std::string rate_text() const {
    return !rate.empty() ? rate : is_udp() ? "1Gbit/s" : "100Gbit/s";
  }
  std::string delay_text() const { return !delay.empty() ? delay : is_udp() ? "0ns" : "500ns"; }
};

Result<void> read_settings(const Texts& texts, MessageOptions& options) {
  for (const std::string& text : texts.settings) {
    auto setting = plugins::parse_setting(text);
    if (!setting) return failure("--policy-param: " + setting.error().sentence);
    options.settings.push_back(std::move(*setting));
  }
  return {};
}

Result<void> read_members(const Texts& texts, MessageOptions& options) {
  options.is_udp = true;
  if (options.kind != MessageKind::AllToAll || options.load > 0) {
    return failure("--port udp: only for alltoall in steps, without --load");
  }
  options.paths = 1;
  auto place = read_place(texts.place);
  if (!place) return std::unexpected(place.error());
  options.place = std::move(*place);
  options.hosts = static_cast<uint32_t>(options.place.members.size());
  return {};
}

Result<void> read_all(const Texts& texts, MessageOptions& options) {
  const std::array done = {read("--size", parse_bytes(texts.size), options.size),
                           read("--load", parse_share(texts.load), options.load),
                           read("--background", parse_share(texts.background), options.background),
                           read("--rate", parse_rate(texts.rate_text()), options.rate),
                           read("--delay", parse_duration(texts.delay_text()), options.delay),
                           read("--buffer", parse_bytes(texts.buffer), options.buffer),
                           read("--loss", parse_share(texts.loss), options.loss),
                           read("--reorder", parse_duration(texts.reorder), options.reorder),
                           read_settings(texts, options)};
  const auto mistake = std::ranges::find(done, false, &Result<void>::has_value);
  if (mistake != done.end()) return *mistake;
  if (texts.is_udp()) {
    if (auto placed = read_members(texts, options); !placed) return placed;
  }
  if (options.size.count() == 0) return failure("--size: a message has at least one byte");
  if (options.payload_bytes % 4 != 0) return failure("--payload: it must be a multiple of 4");
  const uint64_t cut = uint64_t{4} * options.hosts;
  if (options.kind == MessageKind::AllReduce && options.size.count() % cut != 0) {
    return failure("--size: of an all-reduce of " + std::to_string(options.hosts) +
                   " hosts it must be a multiple of " + std::to_string(cut));
  }
  return {};
}

void add_fabric(CommandLine& app, Texts& texts, MessageOptions& options) {
  app.add_option("--rate", texts.rate,
                 "of each cable, else 100Gbit/s; over sockets what a member sends and receives, "
                 "else 1Gbit/s")
      .type_name("RATE");
  app.add_option("--delay", texts.delay,
                 "of each cable, else 500ns; over sockets of what comes to a member, else none")
      .type_name("TIME");
  app.add_option("--buffer", texts.buffer, "that the ports of a switch share")
      .type_name("BYTES")
      .shows_default();
  app.add_option(
         "--loss", texts.loss,
         "on each cable, besides what switches drop; over sockets of what comes to a member")
      .type_name("SHARE")
      .shows_default();
  app.add_option("--reorder", texts.reorder, "how late a packet may come and not be lost")
      .type_name("TIME")
      .shows_default();
  app.add_option("--payload", options.payload_bytes, "bytes of a slot")
      .between(224, 8160)
      .shows_default();
  app.add_option(
         "--paths", options.paths,
         "source ports over which slots are sprayed; 1: each pair has one way, as over sockets "
         "always")
      .between(1, 16)
      .shows_default();
}

void add_load(CommandLine& app, Texts& texts, MessageOptions& options) {
  app.add_option("--port", texts.port, "what is between hosts")
      .one_of({"sim", "udp"})
      .shows_default();
  app.add_option("--hosts", options.hosts, "on the fabric").between(2, 4096).shows_default();
  app.add_option("--size", texts.size, "bytes of a message; of all that is reduced")
      .type_name("BYTES")
      .shows_default();
  if (options.kind == MessageKind::AllToAll) {
    app.add_option("--load", texts.load, "of hosts' line, by chance; 0: in steps")
        .type_name("SHARE")
        .shows_default();
  } else {
    app.add_option("--background", texts.background, "of hosts' line, messages of 64 KiB by chance")
        .type_name("SHARE")
        .shows_default();
  }
  app.add_option("--messages", options.messages, "that each host begins, by chance")
      .between(1, 1'000'000)
      .shows_default();
  app.add_option("--rounds", options.rounds, "steps, one after the other")
      .between(1, 1'000'000)
      .shows_default();
}

CommandLine command_line(Texts& texts, MessageOptions& options) {
  const auto place = static_cast<size_t>(options.kind);
  CommandLine app(summaries[place], std::string("causeway-perf ") + names[place]);
  app.footer(lesson);
  app.ends_with(endings());
  add_load(app, texts, options);
  app.add_option("--policy", options.policy,
                 "who decides what is asked for again (csa_ud, or that of --plugin)")
      .type_name("NAME");
  app.add_option("--policy-param", texts.settings, "a parameter of the policy; may be repeated")
      .type_name("NAME=VALUE");
  app.add_option("--plugin", options.plugin, "a policy as a shared object").type_name("FILE");
  add_fabric(app, texts, options);
  app.add_option("--seed", options.seed, "of all that is drawn").shows_default();
  if (options.kind == MessageKind::AllToAll) add_place(app, texts.place);
  app.add_flag("--json", options.is_json, "one JSON object");
  return app;
}

}  // namespace

bool is_message_load(std::string_view subcommand) {
  return std::ranges::find(names, subcommand) != names.end();
}

const char* name_of(MessageKind kind) { return names[static_cast<size_t>(kind)]; }

std::vector<NamedLine> lines_of_message_loads() {
  std::vector<NamedLine> lines;
  for (size_t kind = 0; kind < names.size(); ++kind) {
    Texts texts;
    MessageOptions options;
    options.kind = static_cast<MessageKind>(kind);
    lines.emplace_back(names[kind], command_line(texts, options));
  }
  return lines;
}

Result<MessageOptions> parse_message_load(std::span<char* const> arguments) {
  MessageOptions options;
  const auto place = std::ranges::find(names, std::string_view(arguments[1])) - names.begin();
  options.kind = static_cast<MessageKind>(place);
  Texts texts;
  CommandLine app = command_line(texts, options);
  auto parsed = parse_rest(app, arguments);
  if (!parsed) return std::unexpected(parsed.error());
  options.help = std::move(*parsed);
  if (!options.help.empty()) return options;
  if (const auto done = read_all(texts, options); !done) return std::unexpected(done.error());
  return options;
}

}  // namespace cw::perf
