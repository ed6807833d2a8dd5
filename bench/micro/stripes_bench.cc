// What a group's datagrams cost in stripes (offload/stage/datagrams.h), each on a core of its own.
//
// Rings and buffers of as many stripes as there are cores are filled beforehand; then all are
// served, by cw_bits_serve(). Beside it, in the same run, the same payloads are copied to the same
// places by memcpy on the same cores, and that is all. Two ways:
//      copied   a stripe checks the header, claims the slot and copies the payload
//      told     a stripe checks, claims and tells its owner to have it copied: a DPA's way
//
// Instructions of one that is told, by callgrind:
//
//   valgrind --tool=callgrind --toggle-collect=cw_bits_serve --callgrind-out-file=/dev/null
//     build/bin/stripes_bench --cores 1 --rounds 1 --slots 4096 --only told
//
// Exit codes: 0 done, 2 arguments, 3 it cannot be measured here.
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/machine.h"
#include "bench/micro/race.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "dataplane/base/prng.h"
#include "dataplane/wire/group/header.h"
#include "dataplane/wire/group/slots.h"
#include "offload/stage/datagrams.h"
#include "offload/stage/line_memory.h"

namespace {

using namespace cw;
using namespace cw::bench;

constexpr int exit_refused = 2, exit_failed = 3;
constexpr uint32_t group_key = 0x6a0b5eed, own_key = 0x01234567, chunk_slots = 16;
constexpr uint16_t rank = 1;

struct Arguments {
  uint32_t cores = 2, rounds = 15, slots = 4096, payload = 4096;
  std::string only;
  bool is_json = false;
};

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "stripes_bench: %s\n", why.c_str());
  _exit(exit_failed);
}

/// A step that is received whole, from rank 0, by as many stripes as there are cores.
class Load {
 public:
  Load(const Arguments& arguments, bool is_told)
      : arguments_(arguments),
        slots_({uint64_t{arguments.slots} * arguments.cores * arguments.payload, arguments.payload,
                1, 0}),
        stride_((static_cast<uint32_t>(group::header_bytes) + arguments.payload + 7) / 8 * 8),
        landing_memory_(cw_landing_size(slots_.count(), arguments.cores, chunk_slots)),
        landing_(static_cast<cw_landing*>(landing_memory_.get())),
        memory_(size_t{slots_.count()} * arguments.payload) {
    const cw_datagrams_member member = {group_key, own_key, 2, rank};
    cw_landing_init(landing_, &member, slots_.count(), arguments.cores, chunk_slots);
    const cw_datagrams_shape shape = {.step = 1,
                                      .sources = 1,
                                      .first_source = 0,
                                      .payload_bytes = arguments.payload,
                                      .part_slots = slots_.part_slots(),
                                      .last_bytes = arguments.payload,
                                      .is_copied_by_others = is_told ? 1u : 0u,
                                      .part_bytes = memory_.size()};
    if (cw_landing_shape(landing_, &shape, memory_.data()) != 0) fail("no such step");
    for (uint32_t stripe = 0; stripe < arguments.cores; ++stripe) {
      stripes_.push_back(std::make_unique<Stripe>(arguments.slots, stride_));
      fill(stripe);
    }
  }

  /// A stripe's work, by itself.
  void serve(uint32_t stripe) {
    while (cw_bits_serve(stripes_[stripe]->row) > 0) {
      // to the end
    }
  }
  /// The same bytes to the same places, in the same order, and nothing else.
  void copy(uint32_t stripe) {
    const Stripe& it = *stripes_[stripe];
    for (uint32_t i = 0; i < it.order.size(); ++i) {
      std::memcpy(memory_.data() + slots_.offset_of(it.order[i]),
                  it.buffer(i, stride_) + group::header_bytes, arguments_.payload);
    }
  }
  /// A fast wrong answer is none.
  void check(uint32_t stripe) const {
    const Stripe& it = *stripes_[stripe];
    if (it.row->events_tail != it.order.size() + 1) fail("not all was answered");
    for (const uint32_t slot : it.order) {
      if (cw_landing_has_slot(landing_, slot) == 0) fail("a slot is missing");
    }
  }

 private:
  struct Stripe {
    Stripe(uint32_t count, uint32_t stride)
        : capacity(std::bit_ceil(count + 1)),
          row_memory(cw_bits_row_size(1, capacity, capacity)),
          buffers(size_t{count} * stride),
          row(static_cast<cw_bits_row*>(row_memory.get())) {
      cw_bits_row_init(row, 1, capacity, capacity);
    }
    uint8_t* buffer(uint32_t index, uint32_t stride) const {
      return static_cast<uint8_t*>(buffers.get()) + size_t{index} * stride;
    }
    uint32_t capacity;
    LineMemory row_memory, buffers;
    cw_bits_row* row;
    std::vector<uint32_t> order;
  };

  /// Of every hundred slots two are late, by up to 63 of their stripe.
  void fill(uint32_t stripe) {
    Stripe& it = *stripes_[stripe];
    cw_bits_row_add(it.row, 0, landing_);
    cw_datagrams_row(it.row, stripe, 1, it.buffers.get(), stride_);
    Prng random(stripe + 1);
    for (uint32_t i = 0; i < arguments_.slots; ++i) {
      it.order.push_back((i / 64 * arguments_.cores + stripe) * 64 + i % 64);
      const uint64_t back = random.chance(0.02) ? random.below(64) : 0;
      if (back <= i) std::swap(it.order[i], it.order[i - back]);
    }
    put(it, {0, 0, 0, CW_DATAGRAMS_OPEN});
    for (uint32_t i = 0; i < arguments_.slots; ++i) {
      const group::Header header = header_of(it.order[i]);
      group::encode_header(header, {it.buffer(i, stride_), group::header_bytes});
      const auto bytes = static_cast<uint32_t>(group::header_bytes) + arguments_.payload;
      put(it, {header.immediate(), static_cast<uint16_t>(i), static_cast<uint8_t>(bytes),
               static_cast<uint8_t>(bytes >> 8)});
    }
  }
  group::Header header_of(uint32_t slot) const {
    return {.kind = group::Kind::Multicast,
            .is_last_slot = slots_.is_last(slot),
            .source = 0,
            .key = group_key,
            .step = group::Step{1},
            .slot = slot,
            .message_slots = slots_.part_slots()};
  }
  static void put(Stripe& it, const cw_bits_record& record) {
    cw_bits_records(it.row)[it.row->records_tail % it.capacity] = record;
    __atomic_store_n(&it.row->records_tail, it.row->records_tail + 1, __ATOMIC_RELEASE);
  }

  const Arguments& arguments_;
  group::Slots slots_;
  uint32_t stride_;
  LineMemory landing_memory_;
  cw_landing* landing_;
  std::vector<uint8_t> memory_;
  std::vector<std::unique_ptr<Stripe>> stripes_;
};

/// Millions of datagrams a second, on as many cores as `cores` of the load's.
template <class Act>
double rate_on(uint32_t cores, const Arguments& arguments, const Act& act) {
  Gate gate;
  std::vector<std::jthread> threads;
  for (uint32_t core = 0; core < cores; ++core) {
    threads.emplace_back([&, core] {
      if (!try_bind_to(core)) fail("core " + std::to_string(core) + " is not ours");
      race(gate, core, [&] { act(core); });
    });
  }
  start(gate, cores);
  threads.clear();
  return rate_of(gate, cores, arguments.slots);
}

/// Medians of rounds.
struct Rates {
  std::vector<double> served, one, copied, of_copies;
};

Rates measure(const Arguments& arguments, bool is_told) {
  Rates rates;
  Arguments alone = arguments;
  alone.cores = 1;
  for (uint32_t round = 0; round < arguments.rounds; ++round) {
    Load load(arguments, is_told), single(alone, is_told);
    const auto copy = [&](uint32_t stripe) { load.copy(stripe); };
    // Pages that nobody has touched cost whoever comes first.
    rate_on(arguments.cores, arguments, copy);
    single.copy(0);
    rates.copied.push_back(rate_on(arguments.cores, arguments, copy));
    rates.served.push_back(
        rate_on(arguments.cores, arguments, [&](uint32_t stripe) { load.serve(stripe); }));
    rates.one.push_back(rate_on(1, alone, [&](uint32_t) { single.serve(0); }));
    rates.of_copies.push_back(rates.served.back() / rates.copied.back());
    for (uint32_t stripe = 0; stripe < arguments.cores; ++stripe) load.check(stripe);
    single.check(0);
  }
  return rates;
}

Json as_json(const char* way, const Rates& rates) {
  return {{"way", way},
          {"mdps", median(rates.served)},
          {"one_core_mdps", median(rates.one)},
          {"memcpy_mdps", median(rates.copied)},
          {"of_memcpy", median(rates.of_copies)}};
}

void print(const Json& row) {
  const double served = row.at("mdps").get<double>(), one = row.at("one_core_mdps").get<double>();
  std::printf("| %s | %.2f | %.1f | %.2f | %.2f | %.2f | %.3f |\n",
              row.at("way").get<std::string>().c_str(), one, 1e3 / one, served, served / one,
              row.at("memcpy_mdps").get<double>(), row.at("of_memcpy").get<double>());
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) {
  Arguments it;
  CommandLine line("What a group's datagrams cost in stripes, each on a core of its own.",
                   "stripes_bench --rounds 15");
  line.add_option("--cores", it.cores, "and stripes").between(1, 16).shows_default();
  line.add_option("--rounds", it.rounds, "the median counts").between(1, 1000).shows_default();
  line.add_option("--slots", it.slots, "of each stripe; a multiple of 64")
      .between(64, 32'768)
      .shows_default();
  line.add_option("--payload", it.payload, "bytes of a slot").between(64, 8160).shows_default();
  line.add_option("--only", it.only, "this way; both without").one_of({"copied", "told"});
  line.add_flag("--json", it.is_json, "the same as JSON");
  if (const auto status = line.parse_or_end(count, words, exit_refused)) return *status;
  if (it.slots % 64 != 0) {
    std::fprintf(stderr, "stripes_bench: --slots %u is no multiple of 64\n", it.slots);
    return exit_refused;
  }
  if (!it.is_json) {
    std::printf(
        "%u stripes of %u datagrams of %u bytes, 2 of 100 late\n\n"
        "| way | one core, million a second | ns each | all cores | times one | memcpy alone, all "
        "cores | of memcpy |\n|---|---|---|---|---|---|---|\n",
        it.cores, it.slots, it.payload);
  }
  Json all = Json::array();
  for (const char* way : {"copied", "told"}) {
    if (!it.only.empty() && it.only != way) continue;
    all.push_back(as_json(way, measure(it, std::string(way) == "told")));
    if (!it.is_json) print(all.at(all.size() - 1));
  }
  if (it.is_json) std::printf("%s\n", all.dump().c_str());
  return 0;
}
