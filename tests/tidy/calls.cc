#include <algorithm>
#include <array>
#include <map>

#include "tests/tidy/rules.h"

namespace cw::tidy {
namespace {

/// The rooms that run inside a worker's turn or inside a policy.
constexpr std::array pure_rooms = {
    "dataplane/core",      "dataplane/sdr",      "dataplane/wire",        "dataplane/gateway",
    "dataplane/neighbour", "dataplane/port/sim", "dataplane/port/impair", "policies",
    "dataplane/collective"};

/// `name(` is a call of a free function, `std::name` a name of the standard library, `name` the
/// bare word wherever it stands.
struct Ban {
  const char* rule;
  std::vector<std::string> names;
  const char* advice;
  std::vector<std::string> except = {};  ///< files whose paths begin so may
};

const std::vector<Ban>& bans() {
  static const std::vector<Ban> table = {
      {"no-allocation",
       {"malloc(", "calloc(", "realloc(", "free(", "aligned_alloc(", "posix_memalign(", "strdup("},
       "memory is taken at start: a Pool, a Ring or a vector sized from limits in a constructor",
       {"dataplane/core/large_memory."}},
      {"no-throw",
       {"throw", "try", "catch"},
       "return a count, a Result (cold paths), or drop with a counted reason"},
      {"no-lock",
       {"std::mutex", "std::recursive_mutex", "std::shared_mutex", "std::timed_mutex",
        "std::lock_guard", "std::unique_lock", "std::scoped_lock", "std::shared_lock",
        "std::condition_variable", "std::condition_variable_any", "std::counting_semaphore",
        "std::binary_semaphore", "std::latch", "std::barrier", "std::call_once",
        "pthread_mutex_lock", "pthread_cond_wait"},
       "one thread owns the state; others reach it through a SpscRing"},
      {"no-clock",
       {"std::system_clock", "std::steady_clock", "std::high_resolution_clock", "clock_gettime",
        "gettimeofday", "timespec_get", "__rdtsc", "__rdtscp", "_rdtsc", "__builtin_ia32_rdtsc",
        "time(", "clock("},
       "take `now` as an argument: the turn reads the clock once, and the simulator sets it",
       {"dataplane/core/turn/clock."}},
      {"no-unseeded-randomness",
       {"rand(", "srand(", "random(", "drand48(", "getrandom", "getentropy", "std::random_device",
        "std::mt19937", "std::mt19937_64", "std::default_random_engine"},
       "take a Prng (base/prng.h), or the keys and nonces themselves, as an argument"},
      {"no-printing",
       {"printf(", "fprintf(", "vprintf(", "vfprintf(", "puts(", "fputs(", "putchar(", "perror(",
        "fwrite(", "syslog(", "std::cout", "std::cerr", "std::clog", "std::ostream", "std::istream",
        "std::stringstream", "std::ostringstream", "std::ofstream", "std::ifstream"},
       "count it or trace it; control does the talking"},
      {"no-waiting",
       {"sleep(", "usleep(", "nanosleep(", "sched_yield(", "sleep_for", "sleep_until",
        "std::yield"},
       "return: the worker decides when to wait",
       // Calibrating the clock, an idle worker, and a control thread waiting for its change.
       {"dataplane/core/turn/clock.", "dataplane/core/turn/idle.", "dataplane/core/turn/mailbox."}},
  };
  return table;
}

using BanOfName = std::map<std::string, const Ban*, std::less<>>;

const BanOfName& ban_of_name() {
  static const BanOfName map = [] {
    BanOfName made;
    for (const Ban& ban : bans()) {
      for (const std::string& name : ban.names) made.emplace(name, &ban);
    }
    return made;
  }();
  return map;
}

const Ban* ban_of(const Word& word) {
  const std::string text(word.text);
  const auto found = [](const std::string& name) {
    const auto entry = ban_of_name().find(name);
    return entry == ban_of_name().end() ? nullptr : entry->second;
  };
  if (const Ban* ban = found(text)) return ban;
  if (word.is_std) {
    if (const Ban* ban = found("std::" + text)) return ban;
  }
  const bool is_free_call = word.is_called && !word.is_member && !word.is_scoped;
  return is_free_call ? found(text + "(") : nullptr;
}

bool is_pure(const std::string& path) {
  return std::ranges::any_of(pure_rooms, [&](const char* room) { return is_below(path, room); });
}

bool is_excepted(const std::string& path, const Ban& ban) {
  return std::ranges::any_of(ban.except,
                             [&](const auto& begin) { return path.starts_with(begin); });
}

void check_file(const File& file, Violations& found) {
  const auto lines = lines_of(file.code);
  for (size_t i = 0; i < lines.size(); ++i) {
    for (const Word& word : words_of(lines[i])) {
      const Ban* const ban = ban_of(word);
      if (ban == nullptr || is_excepted(file.path, *ban)) continue;
      found.push_back({file.path, i + 1, ban->rule,
                       "`" + std::string(word.text) + "` is not for this room: " + ban->advice});
    }
  }
}

}  // namespace

Violations check_calls(const Files& files) {
  Violations found;
  for (const File& file : files) {
    if (is_cpp(file.path) && is_pure(file.path)) check_file(file, found);
  }
  return found;
}

}  // namespace cw::tidy
