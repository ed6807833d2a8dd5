// No cache line is written by two shards in their turns, nor by a shard and whoever grants: of
// lines that two cores write each takes the other's time, though nothing in them is shared. Every
// store of shard_writes.cc is traced by valgrind's lackey, and asked for its line.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace cw::sim {
namespace {

constexpr uint64_t line_bytes = 64;
// Two shards and who grants, as bits; the sites meet in a simulated wire.
constexpr uint32_t of_site_1 = 0b010'0110, of_site_2 = 0b101'1000;

struct Trace {
  std::map<uint64_t, int> actor_of_place;          // by line
  std::unordered_map<uint64_t, uint32_t> writers;  // one bit for each actor, by line
  std::map<uint64_t, std::string> maps;            // by where they begin
  uint64_t stores = 0;
  int actor = 0;  // whose turn it is; 0: nobody's

  void on_store(uint64_t address, uint64_t bytes) {
    const auto place = actor_of_place.find(address / line_bytes);
    if (place != actor_of_place.end()) {
      actor = place->second;
      return;
    }
    if (actor == 0 || is_stack(address)) return;
    ++stores;
    for (uint64_t line = address / line_bytes; line <= (address + bytes - 1) / line_bytes; ++line) {
      writers[line] |= 1u << actor;
    }
  }
  /// All turns are one thread's here, and its stack is where Linux puts the first.
  static bool is_stack(uint64_t address) { return address >= 0x1f'0000'0000; }
  void on_line(const char* text) {
    int number = 0;
    uint64_t address = 0, bytes = 0;
    if (std::sscanf(text, "place %d %" SCNx64, &number, &address) == 2) {
      actor_of_place[address / line_bytes] = number;
    } else if (std::sscanf(text, "map %" SCNx64, &address) == 1) {
      maps[address] = text;
    } else if ((text[1] == 'S' || text[1] == 'M') && text[0] == ' ' &&
               std::sscanf(text + 2, "%" SCNx64 ",%" SCNu64, &address, &bytes) == 2) {
      on_store(address, bytes);
    }
  }
};

TEST(ShardLines, are_written_by_one_shard_each) {
  const std::string command =
      "valgrind --tool=lackey --trace-mem=yes --log-fd=1 " CW_SHARD_WRITES " 2>/dev/null";
  const auto close = [](FILE* file) { return pclose(file); };
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), +close);
  ASSERT_TRUE(pipe);
  Trace trace;
  std::array<char, 256> text{};
  while (std::fgets(text.data(), text.size(), pipe.get()) != nullptr) trace.on_line(text.data());
  ASSERT_EQ(pclose(pipe.release()), 0) << "is valgrind there?";
  EXPECT_EQ(trace.actor_of_place.size(), 7u);
  EXPECT_GT(trace.stores, 100'000u);
  size_t shared = 0;
  for (const auto& [line, actors] : trace.writers) {
    if (std::popcount(actors & of_site_1) < 2 && std::popcount(actors & of_site_2) < 2) continue;
    ++shared;
    if (shared <= 200) {
      char place[64];
      std::snprintf(place, sizeof(place), "%" PRIx64 " by %" PRIx32, line * line_bytes, actors);
      const auto map = trace.maps.upper_bound(line * line_bytes);
      ADD_FAILURE() << place << ", " << (map == trace.maps.begin() ? "" : std::prev(map)->second);
    }
  }
  EXPECT_EQ(shared, 0u);
}

}  // namespace
}  // namespace cw::sim
