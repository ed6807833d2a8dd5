// GB/s of data coded by `rs` and `xor`, row by row through the checked door, beside ISA-L called
// directly on the same shards in turns within the same run: encoding, and rebuilding 1, m/2 and m
// lost data shards. The data of all rows lies in more memory than the second-level cache holds.
//
// The counter `vs_raw` is the time of raw calls divided by ours, the median over rounds that
// measure both; it is what a report should quote. `--self-check` fails below 0.9. Built without
// ISA-L, there is nothing to compare with: the counter is left out and the self-check skipped.
// `vs_memcpy` is our time divided by that of copying the same data, likewise.
#include <benchmark/benchmark.h>

#ifdef CW_HAVE_ISAL
#include <isa-l/erasure_code.h>
#include <isa-l/raid.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine.h"
#include "dataplane/base/prng.h"
#include "offload/codec/codecs.h"
#include "offload/coding/coder.h"

namespace {
using namespace cw;
using bench::median;

constexpr uint32_t shard_bytes = 4096;
constexpr size_t data_bytes = size_t{8} << 20;

struct Case {
  const cw_codec_ops* ops;
  uint32_t k, m;
  uint32_t losses;  ///< 0: encode
  bool operator==(const Case&) const = default;
};

double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Rows of shards, coded by us and by raw calls. The first `losses` data shards are the lost ones,
/// spread over the groups of xor as a burst is.
class Rows {
 public:
  explicit Rows(const Case& it)
      : it_(it),
        count_(std::max<size_t>(1, data_bytes / (size_t{it.k} * shard_bytes))),
        coder_(*Coder::make(*it.ops, {it.k, it.m, shard_bytes})),
        shards_(count_ * (it.k + it.m), shard_bytes),
        outputs_(it.k + it.m, shard_bytes),
        scratch_(1, coder_.scratch_bytes() + 1) {
    std::memset(scratch_.at(0), 0, coder_.scratch_bytes());
    Prng prng(1);
    for (size_t row = 0; row < count_; ++row) {
      for (uint32_t i = 0; i < it.k; ++i) {
        uint8_t* const bytes = at(row, i);
        for (uint32_t b = 0; b < shard_bytes; ++b) bytes[b] = static_cast<uint8_t>(prng.next());
      }
      encode(row);
    }
  }
  size_t count() const { return count_; }
  const Case& shape() const { return it_; }

  void ours(size_t row) { it_.losses == 0 ? encode(row) : decode(row); }
  /// All data of the row, to where it is in the cache.
  void copy(size_t row) {
    for (uint32_t i = 0; i < it_.k; ++i) std::memcpy(outputs_.at(i), at(row, i), shard_bytes);
    benchmark::ClobberMemory();
  }

  /// Whether what was rebuilt of the row is what was lost.
  bool is_right(size_t row) {
    decode(row);
    for (uint32_t i = 0; i < it_.losses; ++i) {
      if (std::memcmp(outputs_.at(i), at(row, i), shard_bytes) != 0) return false;
    }
    return true;
  }

  uint8_t* at(size_t row, uint32_t shard) const {
    return shards_.at(row * (it_.k + it_.m) + shard);
  }
  uint8_t* output(uint32_t n) const { return outputs_.at(n); }

 private:
  void encode(size_t row) {
    cw_shard data[255], repair[255];
    for (uint32_t i = 0; i < it_.k; ++i) data[i] = {i, 0, it_.k, 0, at(row, i)};
    for (uint32_t j = 0; j < it_.m; ++j) {
      repair[j] = {CW_REPAIR_ID | j, 0, it_.k, 0, at(row, it_.k + j)};
    }
    coder_.encode({data, it_.k}, {repair, it_.m}, scratch_.at(0));
  }
  void decode(size_t row) {
    cw_shard present[255], wanted[255];
    uint32_t count = 0;
    for (uint32_t i = 0; i < it_.losses; ++i) wanted[i] = {i, 0, it_.k, 0, outputs_.at(i)};
    for (uint32_t i = it_.losses; i < it_.k; ++i) present[count++] = {i, 0, it_.k, 0, at(row, i)};
    for (uint32_t j = 0; j < it_.losses; ++j) {
      present[count++] = {CW_REPAIR_ID | j, 0, it_.k, 0, at(row, it_.k + j)};
    }
    coder_.decode({present, count}, {wanted, it_.losses}, scratch_.at(0));
  }

  Case it_;
  size_t count_;
  Coder coder_;
  Buffers shards_, outputs_, scratch_;
};

#ifdef CW_HAVE_ISAL
/// The same work by ISA-L's own functions, its tables made before.
class Raw {
 public:
  explicit Raw(const Rows& rows) : rows_(rows), tables_(size_t{255} * 255 * 32) {
    const Case& it = rows.shape();
    const uint32_t outputs = it.losses == 0 ? it.m : it.losses;
    // What the coefficients are makes no difference to the time.
    std::vector<uint8_t> coefficients(size_t{it.k} * outputs);
    Prng prng(2);
    for (uint8_t& c : coefficients) c = static_cast<uint8_t>(prng.between(1, 255));
    ec_init_tables(static_cast<int>(it.k), static_cast<int>(outputs), coefficients.data(),
                   tables_.data());
  }
  void operator()(size_t row) { rows_.shape().ops == cw_codec_xor() ? sum(row) : dot(row); }

 private:
  void dot(size_t row) {
    const Case& it = rows_.shape();
    uint8_t *sources[255], *outputs[255];
    const uint32_t count = it.losses == 0 ? it.m : it.losses;
    for (uint32_t s = 0; s < it.k; ++s) sources[s] = rows_.at(row, it.losses + s);
    for (uint32_t o = 0; o < count; ++o) {
      outputs[o] = it.losses == 0 ? rows_.at(row, it.k + o) : rows_.output(o);
    }
    ec_encode_data(shard_bytes, static_cast<int>(it.k), static_cast<int>(count), tables_.data(),
                   sources, outputs);
  }
  void sum(size_t row) {
    const Case& it = rows_.shape();
    const uint32_t count = it.losses == 0 ? it.m : it.losses;
    for (uint32_t group = 0; group < count; ++group) {
      void* shards[256];
      int used = 0;
      for (uint32_t i = group; i < it.k; i += it.m) {
        if (it.losses == 0 || i != group) shards[used++] = rows_.at(row, i);
      }
      if (it.losses > 0) shards[used++] = rows_.at(row, it.k + group);
      shards[used++] = it.losses == 0 ? rows_.at(row, it.k + group) : rows_.output(group);
      xor_gen(used, shard_bytes, shards);
    }
  }
  const Rows& rows_;
  std::vector<uint8_t> tables_;
};
#endif

double time_of(size_t rows, const std::function<void(size_t)>& code) {
  const double start = seconds();
  for (size_t row = 0; row < rows; ++row) code(row);
  return seconds() - start;
}

/// Time of raw calls over ours: above 1, we are faster. 0 when there is nothing to compare with.
double ratio(Rows& rows, [[maybe_unused]] int rounds) {
#ifdef CW_HAVE_ISAL
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    Raw raw(rows);
    // Raw encoding writes repair shards of another code: ours comes last.
    const double theirs = time_of(rows.count(), [&](size_t row) { raw(row); });
    const double own = time_of(rows.count(), [&](size_t row) { rows.ours(row); });
    ratios.push_back(theirs / own);
  }
  return median(ratios);
#else
  (void)rows;
  return 0;
#endif
}

double time_over_copies(Rows& rows, int rounds) {
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const double copied = time_of(rows.count(), [&](size_t row) { rows.copy(row); });
    ratios.push_back(time_of(rows.count(), [&](size_t row) { rows.ours(row); }) / copied);
  }
  return median(ratios);
}

void run(benchmark::State& state, const Case& it) {
  Rows rows(it);
  size_t row = 0;
  for (auto _ : state) {
    rows.ours(row);
    row = (row + 1) % rows.count();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * it.k * shard_bytes);
  if (const double found = ratio(rows, 21); found > 0) state.counters["vs_raw"] = found;
  state.counters["vs_memcpy"] = time_over_copies(rows, 21);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const cw_codec_ops* ops : code::all()) {
    for (const auto& [k, m] : {std::pair{8u, 2u}, {16u, 4u}, {32u, 4u}, {32u, 8u}, {64u, 16u}}) {
      for (const uint32_t losses : {0u, 1u, m / 2, m}) {
        const Case it = {ops, k, m, losses};
        if (all.empty() || all.back() != it) all.push_back(it);
      }
    }
  }
  return all;
}

std::string name_of(const Case& it) {
  const std::string shape =
      std::string(it.ops->name) + "(" + std::to_string(it.k) + "," + std::to_string(it.m) + ")";
  return shape + (it.losses == 0 ? "/encode" : "/rebuild_" + std::to_string(it.losses));
}

int self_check() {
  [[maybe_unused]] constexpr double share_min = 0.9;
  int bad = 0;
  for (const Case& it : cases()) {
    Rows rows(it);
    for (size_t row = 0; row < rows.count(); ++row) {
      if (it.losses > 0 && !rows.is_right(row)) {
        return std::printf("%s: wrong bytes\n", name_of(it).c_str()), 1;
      }
    }
    double found = ratio(rows, 21);
    // A busy machine slows one side or the other: three tries.
    for (int tries = 1; tries < 3 && found < share_min; ++tries) found = ratio(rows, 41);
    if (found == 0) continue;
    std::printf("%-22s %.3f of the speed of raw ISA-L\n", name_of(it).c_str(), found);
    bad += found < share_min;
  }
  return bad == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::string_view(arguments[1]) == "--self-check") return self_check();
  for (const Case& it : cases()) {
    benchmark::RegisterBenchmark(name_of(it).c_str(), [it](auto& state) { run(state, it); });
  }
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
