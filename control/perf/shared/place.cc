#include "control/perf/shared/place.h"

#include <filesystem>
#include <utility>

#include "control/config/text/file.h"
#include "dataplane/base/limits.h"

namespace cw::perf {
namespace {

// As the rest of causeway-perf has it.
constexpr const char* key_default = "causeway-perf measures in the open";
constexpr size_t key_bytes_min = 16;

/// One a line of a file, or between commas.
Result<std::vector<std::string>> read_members(const std::string& text) {
  std::string all = text;
  if (std::filesystem::exists(text)) {
    auto read = config::text_of_file(text);
    if (!read) return failure("--members: " + read.error().sentence);
    all = std::move(*read);
  }
  std::vector<std::string> members;
  std::string member;
  for (const char each : all + "\n") {
    if (each != ',' && each != '\n') {
      member += each;
    } else if (!member.empty()) {
      members.push_back(std::move(member));
      member.clear();
    }
  }
  return members;
}

}  // namespace

void add_place(CommandLine& app, PlaceTexts& texts) {
  app.add_option("--rank", texts.rank, "over sockets: which member this is");
  app.add_option(
         "--members", texts.members,
         "addresses by rank, between commas, or a file of one a line; ADDRESS:PORT where it "
         "is not --udp-port")
      .type_name("LIST");
  app.add_option("--group", texts.group, "their multicast address").type_name("ADDRESS");
  app.add_option("--interface", texts.interface, "of multicast; else the one that has the address")
      .type_name("NAME");
  app.add_option("--udp-port", texts.udp_port, "of members and group").between(1, 65535);
  app.add_option("--ttl", texts.ttl, "hops that multicast may go").between(1, 4).shows_default();
  app.add_option("--key-file", texts.key_file, "a secret of 16 bytes or more; else a public one")
      .type_name("FILE");
}

Result<Place> read_place(const PlaceTexts& texts) {
  auto members = read_members(texts.members);
  if (!members) return std::unexpected(members.error());
  if (members->size() < 2 || members->size() > limits::group_members_max) {
    return failure("--members: " + std::to_string(members->size()) + " named, 2 to " +
                   std::to_string(limits::group_members_max) + " accepted");
  }
  if (texts.rank >= members->size()) return failure("--rank: there are not so many members");
  if (texts.group.empty()) return failure("--group: name the multicast address of the group");
  Place place{.rank = static_cast<uint16_t>(texts.rank),
              .members = std::move(*members),
              .group = texts.group,
              .interface = texts.interface,
              .udp_port = static_cast<uint16_t>(texts.udp_port),
              .hops = static_cast<uint8_t>(texts.ttl),
              .key = key_default};
  if (texts.key_file.empty()) return place;
  auto key = config::text_of_file(texts.key_file);
  if (!key) return failure("--key-file: " + key.error().sentence);
  if (key->size() < key_bytes_min) return failure("--key-file: a secret has 16 bytes or more");
  place.key = std::move(*key);
  return place;
}

}  // namespace cw::perf
