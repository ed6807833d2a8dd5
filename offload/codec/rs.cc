// Reed-Solomon over GF(256), systematic, with a Cauchy matrix: data shard i stands at the point i,
// repair shard j at the point 255 - j, and the coefficient of i in j is 1 / (point j + point i).
//
// Coefficients depend on neither k nor m. So a shard that is missing from a short block counts as
// zeros, the code of a smaller k is the beginning of that of a larger one, and more repair shards
// may be made of a block at any time.
//
// Rebuilding needs no matrix to be inverted. With E the missing data points and R as many points of
// repair shards, interpolation gives missing shard w as the sum over the shards p at hand of
//   A(p) B(w) / (w + p) * p, where
//   A(p) = product over E of (p + e) / product over R without p of (p + r)
//   B(w) = product over R of (w + r) / product over E without w of (w + e)
#include <algorithm>
#include <cstring>
#include <span>

#include "offload/codec/ids.h"

namespace cw::code {
namespace {

constexpr const char* name = "rs";
/// Outputs that give() solves for at once.
constexpr uint32_t give_outputs = 4;

using Points = std::span<const uint8_t>;

uint8_t repair_point(uint32_t number) { return static_cast<uint8_t>(255 - number); }
uint8_t point_of(uint32_t id) {
  return is_repair(id) ? repair_point(number_of(id)) : static_cast<uint8_t>(id);
}

/// A list of points, each at most once.
struct PointList {
  std::array<uint8_t, shards_max + 1> points;
  uint32_t count = 0;
  void add(uint8_t point) { points[count++] = point; }
  operator Points() const { return {points.data(), count}; }
};

/// Logarithm of the product over `points` without `own` of (own + point).
uint32_t log_of_product(uint8_t own, Points points) {
  uint32_t sum = 0;
  for (const uint8_t point : points) {
    if (point != own) sum += log_of(own ^ point);
  }
  return sum % 255;
}

/// Logarithm of A when `inside` is R, of B when it is E.
uint32_t log_of_factor(uint8_t own, Points outside, Points inside) {
  return (log_of_product(own, outside) + 255 - log_of_product(own, inside)) % 255;
}

/// Coefficients by wanted, then by source.
void solve(Points wanted, Points sources, Points missing, Points repair, uint8_t* coefficients) {
  std::array<uint32_t, shards_max> factors;
  for (size_t s = 0; s < sources.size(); ++s) {
    factors[s] = log_of_factor(sources[s], missing, repair);
  }
  for (const uint8_t w : wanted) {
    const uint32_t factor = log_of_factor(w, repair, missing);
    for (size_t s = 0; s < sources.size(); ++s) {
      const uint32_t log = factors[s] + factor + 255 - log_of(w ^ sources[s]);
      *coefficients++ = power_of(log % 255);
    }
  }
}

// ---- memory ------------------------------------------------------------------------------------

struct alignas(64) Header {
  uint32_t k, m, shard_bytes;
};

struct Table : Header {
  const uint8_t* coefficients() const { return reinterpret_cast<const uint8_t*>(this + 1); }
  uint8_t* coefficients() { return reinterpret_cast<uint8_t*>(this + 1); }
};

/// The solution of the last row; the tables of its coefficients lie behind.
struct Solution {
  LastRow last;
  uint8_t* tables() { return reinterpret_cast<uint8_t*>(this + 1); }
};

/// One row in steps: per repair shard the sum of what was taken of it, data and repair alike.
struct alignas(64) State {
  Present taken;
  uint8_t* sum(const Header& shape, uint32_t number) {
    return reinterpret_cast<uint8_t*>(this + 1) + size_t{number} * shape.shard_bytes;
  }
  uint8_t* tables(const Header& shape) { return sum(shape, shape.m); }
};

int sizes(const cw_shape* shape, cw_codec_sizes* sizes, char* why, size_t capacity) {
  if (const int code = check_shape(name, *shape, why, capacity); code != 0) return code;
  const uint64_t k = shape->k, m = shape->m, wanted_max = k < m ? k : m;
  sizes->table_bytes = up_to_line(sizeof(Table) + k * m * coefficient_bytes);
  sizes->scratch_bytes = up_to_line(sizeof(Solution) + k * wanted_max * coefficient_bytes);
  sizes->state_bytes =
      up_to_line(sizeof(State) + m * shape->shard_bytes + give_outputs * m * coefficient_bytes);
  return 0;
}

void generate(const cw_shape* shape, void* memory) {
  Table* const table = static_cast<Table*>(memory);
  static_cast<Header&>(*table) = {shape->k, shape->m, shape->shard_bytes};
  const size_t row_bytes = size_t{shape->k} * coefficient_bytes;
  for (uint32_t j = 0; j < shape->m; ++j) {
    std::array<uint8_t, shards_max> row;
    for (uint32_t i = 0; i < shape->k; ++i) row[i] = power_of(255 - log_of(repair_point(j) ^ i));
    field_kernel().tables(shape->k, 1, row.data(), table->coefficients() + j * row_bytes);
  }
}

// ---- at once -----------------------------------------------------------------------------------

/// How many of `repair`, from the first on, follow each other in the matrix.
uint32_t run_of(const cw_shard* repair, uint32_t count) {
  uint32_t run = 1;
  while (run < count && repair[run].id == repair[0].id + run) ++run;
  return run;
}

void encode(const void* memory, const cw_shard* data, const cw_shard* repair, uint32_t repair_count,
            void*) {
  const Table& table = *static_cast<const Table*>(memory);
  std::array<const uint8_t*, shards_max> sources;
  for (uint32_t i = 0; i < table.k; ++i) sources[i] = data[i].bytes;
  for (uint32_t done = 0; done < repair_count;) {
    const uint32_t first = number_of(repair[done].id);
    if (!is_repair(repair[done].id) || first >= table.m) {
      ++done;
      continue;
    }
    const uint32_t run = std::min(run_of(repair + done, repair_count - done), table.m - first);
    std::array<uint8_t*, shards_max> outputs;
    for (uint32_t o = 0; o < run; ++o) outputs[o] = repair[done + o].bytes;
    field_kernel().dot(table.shard_bytes, table.k, run,
                       table.coefficients() + size_t{first} * table.k * coefficient_bytes,
                       sources.data(), outputs.data());
    done += run;
  }
}

/// A row to be rebuilt: what is there and used, what is missing, what is wanted.
struct Row {
  Present present;
  PointList sources, missing, repair, wanted;
  std::array<uint8_t*, shards_max> wanted_bytes;
};

/// Data first: only then is it known how many repair shards are used. `places` are the sources'.
void sort(const Header& shape, Shards present, Row& row, std::array<uint8_t, shards_max>& places) {
  const auto use = [&](size_t place) {
    places[row.sources.count] = static_cast<uint8_t>(place);
    row.sources.add(point_of(present[place].id));
  };
  for (size_t i = 0; i < present.size(); ++i) {
    const uint32_t id = present[i].id;
    if (row.present.add(id, shape.k, shape.m) && !is_repair(id)) use(i);
  }
  for (uint32_t i = 0; i < shape.k; ++i) {
    if (!row.present.data.has(i)) row.missing.add(static_cast<uint8_t>(i));
  }
  ShardSet used;
  for (size_t i = 0; i < present.size() && row.repair.count < row.missing.count; ++i) {
    const uint32_t number = number_of(present[i].id);
    if (!is_repair(present[i].id) || number >= shape.m || !used.add(number)) continue;
    row.repair.add(point_of(present[i].id));
    use(i);
  }
}

/// False when something is wanted that is there, was named before, or never will be.
bool want(const Header& shape, Shards wanted, Row& row) {
  ShardSet named;
  for (const cw_shard& shard : wanted) {
    if (!row.present.lacks(shard.id, shape.k) || !named.add(shard.id)) return false;
    row.wanted_bytes[row.wanted.count] = shard.bytes;
    row.wanted.add(point_of(shard.id));
  }
  return true;
}

/// Remembers the coefficients of a row, and where its sources lie.
uint32_t solve(const Table& table, Shards present, Shards wanted, Solution& solution,
               uint32_t* need) {
  Row row;
  std::array<uint8_t, shards_max> places;
  sort(table, present, row, places);
  if (!want(table, wanted, row)) return CW_DECODE_SINGULAR;
  if (row.repair.count < row.missing.count) {
    *need = row.missing.count - row.repair.count;
    return CW_DECODE_NEED;
  }
  std::array<uint8_t, shards_max*(shards_max + 1) / 4> coefficients;
  solve(row.wanted, row.sources, row.missing, row.repair, coefficients.data());
  field_kernel().tables(table.k, static_cast<uint32_t>(wanted.size()), coefficients.data(),
                        solution.tables());
  solution.last.sources = places;
  solution.last.remember(present, wanted);
  return CW_DECODE_DONE;
}

uint32_t decode(const void* memory, const cw_shard* present, uint32_t present_count,
                const cw_shard* wanted, uint32_t wanted_count, void* scratch, uint32_t* need) {
  const Table& table = *static_cast<const Table*>(memory);
  Solution& solution = *static_cast<Solution*>(scratch);
  const Shards there = row_of(present, present_count);
  const Shards asked(wanted, wanted_count);
  *need = 0;
  if (wanted_count == 0) return CW_DECODE_DONE;
  if (!solution.last.is_of(there, asked)) {
    const uint32_t result = solve(table, there, asked, solution, need);
    if (result != CW_DECODE_DONE) return result;
  }
  std::array<const uint8_t*, shards_max> sources;
  std::array<uint8_t*, shards_max> outputs;
  for (uint32_t i = 0; i < table.k; ++i) sources[i] = present[solution.last.sources[i]].bytes;
  for (uint32_t i = 0; i < wanted_count; ++i) outputs[i] = wanted[i].bytes;
  field_kernel().dot(table.shard_bytes, table.k, wanted_count, solution.tables(), sources.data(),
                     outputs.data());
  return CW_DECODE_DONE;
}

// ---- in steps ----------------------------------------------------------------------------------

void start(const void* memory, void* state_memory) {
  const Table& table = *static_cast<const Table*>(memory);
  State& state = *static_cast<State*>(state_memory);
  state.taken = {};
  std::memset(state.sum(table, 0), 0, size_t{table.m} * table.shard_bytes);
}

void take(const void* memory, void* state_memory, const cw_shard* shard) {
  const Table& table = *static_cast<const Table*>(memory);
  State& state = *static_cast<State*>(state_memory);
  if (!state.taken.add(shard->id, table.k, table.m)) return;
  if (is_repair(shard->id)) {
    add_shard(table.shard_bytes, shard->bytes, state.sum(table, number_of(shard->id)));
    return;
  }
  std::array<uint8_t*, shards_max> sums;
  for (uint32_t j = 0; j < table.m; ++j) sums[j] = state.sum(table, j);
  field_kernel().add(table.shard_bytes, table.k, table.m, shard->id, table.coefficients(),
                     shard->bytes, sums.data());
}

/// Repair shards, each the sum of all data; CW_DECODE_NEED or _SINGULAR when one cannot be made.
uint32_t can_give_repair(const Header& shape, const State& state, Shards wanted, uint32_t* need) {
  for (const cw_shard& shard : wanted) {
    const uint32_t number = number_of(shard.id);
    if (!is_repair(shard.id) || number >= shape.m) return CW_DECODE_SINGULAR;
    if (state.taken.repair.has(number)) return CW_DECODE_SINGULAR;
  }
  *need = shape.k - state.taken.data.count();
  return *need == 0 ? CW_DECODE_DONE : CW_DECODE_NEED;
}

uint32_t give_repair(const Header& shape, State& state, Shards wanted, uint32_t* need) {
  const uint32_t result = can_give_repair(shape, state, wanted, need);
  if (result != CW_DECODE_DONE) return result;
  for (const cw_shard& shard : wanted) {
    std::memcpy(shard.bytes, state.sum(shape, number_of(shard.id)), shape.shard_bytes);
  }
  return CW_DECODE_DONE;
}

uint32_t give_data(const Header& shape, State& state, Shards wanted, uint32_t* need) {
  Row row;
  std::array<const uint8_t*, shards_max> sums;
  row.present = state.taken;
  if (!want(shape, wanted, row)) return CW_DECODE_SINGULAR;
  for (uint32_t i = 0; i < shape.k; ++i) {
    if (!state.taken.data.has(i)) row.missing.add(static_cast<uint8_t>(i));
  }
  for (uint32_t j = 0; j < shape.m && row.repair.count < row.missing.count; ++j) {
    if (!state.taken.repair.has(j)) continue;
    sums[row.sources.count] = state.sum(shape, j);
    row.sources.add(repair_point(j));
    row.repair.add(repair_point(j));
  }
  *need = row.missing.count - row.repair.count;
  if (*need > 0) return CW_DECODE_NEED;
  const Points all = row.wanted;
  for (size_t done = 0; done < all.size(); done += give_outputs) {
    const Points some = all.subspan(done, std::min<size_t>(give_outputs, all.size() - done));
    std::array<uint8_t, give_outputs * shards_max> coefficients;
    solve(some, row.sources, row.missing, row.repair, coefficients.data());
    const auto outputs = static_cast<uint32_t>(some.size());
    field_kernel().tables(row.sources.count, outputs, coefficients.data(), state.tables(shape));
    field_kernel().dot(shape.shard_bytes, row.sources.count, outputs, state.tables(shape),
                       sums.data(), row.wanted_bytes.data() + done);
  }
  return CW_DECODE_DONE;
}

uint32_t give(const void* memory, void* state_memory, const cw_shard* wanted, uint32_t wanted_count,
              uint32_t* need) {
  const Table& table = *static_cast<const Table*>(memory);
  State& state = *static_cast<State*>(state_memory);
  *need = 0;
  if (wanted_count == 0) return CW_DECODE_DONE;
  return is_repair(wanted[0].id) ? give_repair(table, state, {wanted, wanted_count}, need)
                                 : give_data(table, state, {wanted, wanted_count}, need);
}

constexpr cw_codec_ops ops = {
    .abi = CW_CODEC_ABI,
    .size = sizeof(cw_codec_ops),
    .name = name,
    .version = "1.0",
    .summary = "Reed-Solomon: any k of k + m shards rebuild the rest; k + m is at most 255.",
    .wire_version = 1,
    .traits = CW_CODEC_MDS | CW_CODEC_IN_STEPS,
    .k_max = shards_max - 1,
    .m_max = shards_max - 1,
    .sizes = sizes,
    .generate = generate,
    .encode = encode,
    .decode = decode,
    .start = start,
    .take = take,
    .give = give,
    .forget = nullptr,
};

}  // namespace
}  // namespace cw::code

CW_CODEC_EXPORT(cw::code::ops)
