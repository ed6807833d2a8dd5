// The codes, and the field that they count in.
#include <gtest/gtest.h>

#include "offload/codec/field.h"
#include "tests/property/property.h"
#include "tests/unit/codec/rows.h"

namespace cw::code {
namespace {
using namespace codec_test;

// ---- The field's numbers and kernels against multiplication by shifting ----

TEST(Field, has_logarithms_that_add_as_numbers_multiply) {
  for (unsigned a = 1; a < 256; ++a) {
    for (unsigned b = 1; b < 256; ++b) {
      ASSERT_EQ(power_of(log_of(a) + log_of(b)), naive_product(a, b)) << a << " * " << b;
    }
  }
}

class Kernel : public testing::TestWithParam<const FieldKernel*> {};
INSTANTIATE_TEST_SUITE_P(Both, Kernel, testing::Values(&portable_kernel(), &field_kernel()));

// Sizes around the widths that kernels unroll to.
TEST_P(Kernel, sums_as_the_naive_field_does) {
  const FieldKernel& kernel = *GetParam();
  Prng prng(5);
  for (const uint32_t bytes : {64u, 128u, 192u, 320u, 1024u, 4096u}) {
    for (const auto& [sources, outputs] : {std::pair{1u, 1u}, {2u, 3u}, {5u, 7u}, {17u, 13u}}) {
      const Row in({sources, 1, bytes}, bytes), out({outputs, outputs, bytes}, 1);
      std::vector<uint8_t> coefficients(sources * outputs);
      for (uint8_t& c : coefficients) c = static_cast<uint8_t>(prng.next());
      coefficients[0] = 0;
      const Memory tables(coefficients.size() * coefficient_bytes);
      kernel.tables(sources, outputs, coefficients.data(), tables.get());
      std::vector<const uint8_t*> from;
      std::vector<uint8_t*> at_once, in_steps;
      for (uint32_t s = 0; s < sources; ++s) from.push_back(in.data(s).bytes);
      for (uint32_t o = 0; o < outputs; ++o) {
        at_once.push_back(out.repair(o).bytes);
        in_steps.push_back(out.rebuilt(o).bytes);
        std::memset(in_steps[o], 0, bytes);
      }
      kernel.dot(bytes, sources, outputs, tables.get(), from.data(), at_once.data());
      for (uint32_t s = 0; s < sources; ++s) {
        kernel.add(bytes, sources, outputs, s, tables.get(), from[s], in_steps.data());
      }
      for (uint32_t o = 0; o < outputs; ++o) {
        for (uint32_t b = 0; b < bytes; ++b) {
          uint8_t sum = 0;
          for (uint32_t s = 0; s < sources; ++s) {
            sum ^= naive_product(coefficients[o * sources + s], from[s][b]);
          }
          ASSERT_EQ(at_once[o][b], sum) << kernel.name << " " << bytes << " " << o << " " << b;
          ASSERT_EQ(in_steps[o][b], sum) << kernel.name << " " << bytes << " " << o << " " << b;
        }
      }
      kernel.sum(bytes, sources, from.data(), at_once[0]);
      for (uint32_t b = 0; b < bytes; ++b) {
        uint8_t sum = 0;
        for (const uint8_t* source : from) sum ^= source[b];
        ASSERT_EQ(at_once[0][b], sum) << kernel.name;
      }
    }
  }
}

}  // namespace

}  // namespace cw::code

namespace cw {
namespace {
using namespace codec_test;

// ---- codec ----
// Both codes through the checked door: what is lost and can be rebuilt is the original again, and
// what cannot is left alone and said so.

const char* name_of(const testing::TestParamInfo<const cw_codec_ops*>& info) {
  return info.param->name;
}

class Codec : public testing::TestWithParam<const cw_codec_ops*> {
 protected:
  const cw_codec_ops& ops() const { return *GetParam(); }
  Coder coder(uint32_t k, uint32_t m, uint32_t bytes = 64) const {
    auto made = Coder::make(ops(), {k, m, bytes});
    EXPECT_TRUE(made) << made.error().sentence;
    return std::move(*made);
  }
};
INSTANTIATE_TEST_SUITE_P(All, Codec, testing::ValuesIn(code::all()), name_of);

void encode(const Coder& coder, const Row& row) {
  const Memory scratch(coder.scratch_bytes());
  ASSERT_EQ(coder.encode(row.all_data(), row.all_repair(), scratch.get()).coded, Coded::Done);
}

/// Decodes and compares; the codec's word is held against elimination.
void expect_right(const Coder& coder, Row& row, const Arrival& arrival, CodeResult result) {
  const bool can = is_determined(coder.ops(), coder.shape().m, arrival.missing, arrival.repair);
  EXPECT_EQ(result.coded == Coded::Done, can);
  for (const uint32_t i : arrival.missing) {
    EXPECT_TRUE(can ? row.is_rebuilt(i) : row.is_untouched(i)) << "data shard " << i;
    row.forget(i);
  }
  if (can) return;
  const bool are_enough = arrival.present.size() >= coder.shape().k;
  EXPECT_EQ(result.coded, are_enough ? Coded::Singular : Coded::NeedMore);
  EXPECT_EQ(result.need > 0, !are_enough);
  EXPECT_LE(result.need, coder.shape().k);
}

void expect_both_ways_right(const Coder& coder, Row& row, const Arrival& arrival,
                            const Memory& scratch, const Memory& state) {
  expect_right(coder, row, arrival, coder.decode(arrival.present, arrival.wanted, scratch.get()));
  coder.start(state.get());
  for (const cw_shard& shard : arrival.present) ASSERT_TRUE(coder.take(state.get(), shard));
  expect_right(coder, row, arrival, coder.give(state.get(), arrival.wanted));
}

TEST_P(Codec, rebuilds_every_pattern_of_losses_of_every_small_shape) {
  for (uint32_t k = 1; k < 12; ++k) {
    for (uint32_t m = 1; k + m <= 12; ++m) {
      const Coder c = coder(k, m);
      Row row(c.shape(), k * 100 + m);
      encode(c, row);
      const Memory scratch(c.scratch_bytes()), state(c.state_bytes());
      for (uint32_t bits = 0; bits < 1u << (k + m); ++bits) {
        SCOPED_TRACE(testing::Message() << "k " << k << " m " << m << " arrived " << bits);
        const Arrival arrival(row, c.shape(), [&](uint32_t s) { return (bits >> s & 1) != 0; });
        expect_both_ways_right(c, row, arrival, scratch, state);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(Codec, encodes_as_the_naive_field_does) {
  for (const auto& [k, m] :
       {std::pair{1u, 1u}, {1u, 254u}, {5u, 3u}, {3u, 5u}, {254u, 1u}, {200u, 55u}, {64u, 16u}}) {
    const Coder c = coder(k, m);
    const Row row(c.shape(), 7);
    encode(c, row);
    for (uint32_t j = 0; j < m; ++j) {
      for (uint32_t b = 0; b < 64; ++b) {
        uint8_t sum = 0;
        for (uint32_t i = 0; i < k; ++i) {
          sum ^= naive_product(naive_coefficient(ops(), m, j, i), row.data(i).bytes[b]);
        }
        ASSERT_EQ(row.repair(j).bytes[b], sum) << "k " << k << " m " << m << " repair " << j;
      }
    }
  }
}

TEST_P(Codec, rebuilds_random_losses_of_large_shapes) {
  rc::check("random losses of large shapes", [this] {
    const auto k = *rc::gen::inRange<uint32_t>(1, 255);
    const auto m = *rc::gen::inRange<uint32_t>(1, 256 - k);
    const auto bytes = 64 * *rc::gen::inRange<uint32_t>(1, 6);
    const auto losses = *rc::gen::inRange<uint32_t>(0, m + 2);
    const auto seed = *rc::gen::arbitrary<uint64_t>();
    const Coder c = coder(k, m, bytes);
    Row row(c.shape(), seed);
    encode(c, row);
    Prng prng(seed + 1);
    std::set<uint32_t> lost;
    while (lost.size() < std::min(losses, k + m)) {
      lost.insert(static_cast<uint32_t>(prng.below(k + m)));
    }
    const Arrival arrival(row, c.shape(), [&](uint32_t s) { return !lost.contains(s); });
    const Memory scratch(c.scratch_bytes()), state(c.state_bytes());
    expect_both_ways_right(c, row, arrival, scratch, state);
    RC_ASSERT(!HasFailure());
  });
}

// What interleaving is for: m losses in a row hit every group once.
TEST_P(Codec, rebuilds_any_burst_of_m_data_shards) {
  const Coder c = coder(32, 8, 128);
  Row row(c.shape(), 3);
  encode(c, row);
  const Memory scratch(c.scratch_bytes()), state(c.state_bytes());
  for (uint32_t first = 0; first + 8 <= 32; ++first) {
    const Arrival arrival(row, c.shape(), [&](uint32_t s) { return s < first || s >= first + 8; });
    expect_both_ways_right(c, row, arrival, scratch, state);
    EXPECT_TRUE(is_determined(ops(), 8, arrival.missing, arrival.repair));
  }
}

TEST_P(Codec, rebuilds_only_what_is_wanted) {
  const Coder c = coder(8, 4);
  Row row(c.shape(), 3);
  encode(c, row);
  const Memory scratch(c.scratch_bytes());
  const Arrival arrival(row, c.shape(), [](uint32_t s) { return s != 2 && s != 3 && s != 5; });
  const cw_shard wanted[] = {row.rebuilt(5), row.rebuilt(2)};
  EXPECT_EQ(c.decode(arrival.present, wanted, scratch.get()).coded, Coded::Done);
  EXPECT_TRUE(row.is_rebuilt(2) && row.is_rebuilt(5) && row.is_untouched(3));
  EXPECT_EQ(c.decode(arrival.present, {}, scratch.get()).coded, Coded::Done);
  EXPECT_EQ(c.decode({}, {}, scratch.get()).coded, Coded::Done);
}

// Arrival has no order, and scratch remembers the last one.
TEST_P(Codec, takes_shards_in_any_order_and_row_after_row) {
  const Coder c = coder(10, 5, 192);
  const Memory scratch(c.scratch_bytes());
  Prng prng(11);
  for (uint32_t nth = 0; nth < 300; ++nth) {
    Row row(c.shape(), nth);
    encode(c, row);
    const uint64_t lost = nth / 3;  // the same losses for a few rows
    Arrival arrival(row, c.shape(), [&](uint32_t s) { return s != lost % 10 && s != lost % 7; });
    if (nth % 2 == 1) {
      for (size_t i = arrival.present.size(); i > 1; --i) {
        std::swap(arrival.present[i - 1], arrival.present[prng.below(i)]);
      }
    }
    expect_right(c, row, arrival, c.decode(arrival.present, arrival.wanted, scratch.get()));
  }
}

TEST_P(Codec, makes_each_repair_shard_for_itself) {
  const Coder c = coder(9, 6);
  const Row whole(c.shape(), 5), parts(c.shape(), 5);
  encode(c, whole);
  const Memory scratch(c.scratch_bytes());
  const cw_shard first[] = {parts.repair(4), parts.repair(1), parts.repair(2)};
  const cw_shard second[] = {parts.repair(5), parts.repair(0), parts.repair(3)};
  const auto data = parts.all_data();
  ASSERT_EQ(c.encode(data, first, scratch.get()).coded, Coded::Done);
  ASSERT_EQ(c.encode(data, second, scratch.get()).coded, Coded::Done);
  for (uint32_t j = 0; j < 6; ++j) {
    EXPECT_EQ(std::memcmp(whole.repair(j).bytes, parts.repair(j).bytes, 64), 0) << j;
  }
}

TEST_P(Codec, makes_the_same_repair_while_data_leaves_as_at_once) {
  const Coder c = coder(16, 4, 320);
  const Row whole(c.shape(), 5), steps(c.shape(), 5);
  encode(c, whole);
  const Memory state(c.state_bytes());
  std::memset(state.get(), 0xcc, c.state_bytes());
  c.start(state.get());
  const auto repair = steps.all_repair();
  for (uint32_t i = 16; i-- > 0;) {
    EXPECT_EQ(c.give(state.get(), repair).coded, Coded::NeedMore);
    ASSERT_TRUE(c.take(state.get(), steps.data(i)));
    ASSERT_TRUE(c.take(state.get(), steps.data(i)));  // tells nothing new
  }
  EXPECT_EQ(c.give(state.get(), repair).coded, Coded::Done);
  for (uint32_t j = 0; j < 4; ++j) {
    EXPECT_EQ(std::memcmp(whole.repair(j).bytes, steps.repair(j).bytes, 320), 0) << j;
  }
}

TEST_P(Codec, gives_again_after_more_was_taken) {
  const Coder c = coder(6, 3);
  Row row(c.shape(), 8);
  encode(c, row);
  const Memory state(c.state_bytes());
  c.start(state.get());
  const cw_shard wanted[] = {row.rebuilt(0), row.rebuilt(4)};
  for (const uint32_t i : {1u, 2u, 3u, 5u}) c.take(state.get(), row.data(i));
  const CodeResult none = c.give(state.get(), wanted);
  EXPECT_EQ(none.coded, Coded::NeedMore);
  EXPECT_EQ(none.need, 2u);
  c.take(state.get(), row.repair(0));
  EXPECT_EQ(c.give(state.get(), wanted).need, 1u);
  c.take(state.get(), row.repair(1));
  EXPECT_EQ(c.give(state.get(), wanted).coded, Coded::Done);
  EXPECT_TRUE(row.is_rebuilt(0) && row.is_rebuilt(4));
  c.take(state.get(), row.data(4));  // late: the repair shards that stood for it still count
  row.forget(0);
  EXPECT_EQ(c.give(state.get(), std::span(wanted).first(1)).coded, Coded::Done);
  EXPECT_TRUE(row.is_rebuilt(0));
}

/// A message of `slots` slots, the last of `tail_bytes`, cut into blocks of k chunks of `rows`
/// slots: row r of a block takes the r-th slot of each of its chunks.
void expect_message_survives(const Coder& full, uint32_t rows, uint32_t slots, uint32_t tail_bytes,
                             uint64_t seed) {
  const uint32_t block_slots = full.shape().k * rows, bytes = full.shape().shard_bytes;
  for (uint32_t block = 0; block * block_slots < slots; ++block) {
    const uint32_t in_block = std::min(block_slots, slots - block * block_slots);
    const uint32_t rows_used = std::min(rows, in_block);
    const uint32_t k = (in_block + rows_used - 1) / rows_used;  // k' in the last
    auto c = Coder::make(full.ops(), {k, full.shape().m, bytes});
    ASSERT_TRUE(c);
    const Memory scratch(c->scratch_bytes()), state(c->state_bytes());
    for (uint32_t r = 0; r < rows_used; ++r) {
      std::vector<uint32_t> used;
      for (uint32_t slot = r; slot < in_block; slot += rows_used) {
        const bool is_last = block * block_slots + slot == slots - 1;
        used.push_back(is_last ? tail_bytes : 1 + static_cast<uint32_t>(seed + slot) % bytes);
      }
      Row row(c->shape(), seed + block * 1000 + r, used);
      encode(*c, row);
      Prng prng(seed ^ r);
      const Arrival arrival(row, c->shape(), [&](uint32_t) { return prng.below(8) != 0; });
      expect_both_ways_right(*c, row, arrival, scratch, state);
    }
  }
}

TEST_P(Codec, codes_messages_of_any_length_block_by_block_and_row_by_row) {
  for (const uint32_t slots : {1u, 2u, 7u, 8u, 63u, 64u, 65u, 127u, 128u, 129u, 200u}) {
    for (const uint32_t tail_bytes : {1u, 63u, 64u, 191u, 192u}) {
      SCOPED_TRACE(testing::Message() << slots << " slots, tail " << tail_bytes);
      expect_message_survives(coder(8, 3, 192), 8, slots, tail_bytes, slots);
      expect_message_survives(coder(8, 3, 192), 1, slots, tail_bytes, slots);
    }
  }
}

TEST_P(Codec, refuses_in_one_sentence_the_shapes_it_cannot_code) {
  const std::string name = ops().name;
  const auto refusal = [this](const CodeShape& shape) {
    const auto made = Coder::make(ops(), shape);
    return made ? "(made)" : made.error().sentence;
  };
  EXPECT_EQ(refusal({0, 4, 64}), name + ": k = 0 codes nothing: write 1 to 254");
  EXPECT_EQ(refusal({4, 0, 64}), name + ": m = 0 repairs nothing: write 1 to 254");
  EXPECT_EQ(refusal({200, 56, 64}),
            name + ": k = 200 and m = 56 are too many together: k + m is at most 255");
  EXPECT_EQ(refusal({0xffffffff, 2, 64}),
            name + ": k = 4294967295 and m = 2 are too many together: k + m is at most 255");
  for (const uint32_t bytes : {0u, 1u, 63u, 100u, (1u << 30) + 64, 0xffffffc0u}) {
    EXPECT_EQ(refusal({4, 2, bytes}), name + ": shard_bytes = " + std::to_string(bytes) +
                                          " is no multiple of 64 from 64 to 2^30");
  }
  EXPECT_TRUE(refusal({2, 253, 1u << 30}).starts_with("codec " + name + " asks for 2"));
}

TEST_P(Codec, is_not_asked_about_ids_that_do_not_fit) {
  const Coder c = coder(4, 2);
  Row row(c.shape(), 1);
  encode(c, row);
  const Memory scratch(c.scratch_bytes()), state(c.state_bytes());
  const cw_shard good[] = {row.data(0), row.data(1), row.data(2), row.repair(0)};
  const cw_shard wanted[] = {row.rebuilt(3)};
  const auto with = [&](cw_shard shard, uint32_t id) {
    shard.id = id;
    return std::vector<cw_shard>{good[1], good[2], good[3], shard};
  };
  for (const uint32_t id : {4u, 0x7fffffffu, repair_bit | 2, 0xffffffffu, 1u, repair_bit, 3u}) {
    EXPECT_EQ(c.decode(with(good[0], id), wanted, scratch.get()).coded, Coded::Malformed) << id;
  }
  for (const uint32_t id : {0u, 4u, repair_bit, repair_bit | 1, 0xffffffffu}) {
    cw_shard shard = wanted[0];
    shard.id = id;
    EXPECT_EQ(c.decode(good, {&shard, 1}, scratch.get()).coded, Coded::Malformed) << id;
  }
  for (const uint32_t id : {0u, repair_bit | 2, 0xffffffffu}) {
    cw_shard shard = row.repair(0);
    shard.id = id;
    EXPECT_EQ(c.encode(row.all_data(), {&shard, 1}, scratch.get()).coded, Coded::Malformed) << id;
  }
  EXPECT_EQ(c.encode(good, {}, scratch.get()).coded, Coded::Malformed);
  const cw_shard both[] = {row.rebuilt(3), row.repair(1)}, twice[] = {wanted[0], wanted[0]};
  c.start(state.get());
  cw_shard outside = row.data(0);
  outside.id = 4;
  EXPECT_FALSE(c.take(state.get(), outside));
  EXPECT_EQ(c.give(state.get(), both).coded, Coded::Malformed);
  EXPECT_EQ(c.give(state.get(), twice).coded, Coded::Malformed);
  EXPECT_EQ(c.decode(good, twice, scratch.get()).coded, Coded::Malformed);
  EXPECT_TRUE(row.is_untouched(3));
}

// The wire's promise about rs: m may grow and blocks may be short without another table elsewhere.
TEST(Rs, makes_repair_that_depends_on_neither_k_nor_m) {
  const auto large = Coder::make(*cw_codec_rs(), {20, 9, 128});
  const auto small = Coder::make(*cw_codec_rs(), {7, 3, 128});
  ASSERT_TRUE(large && small);
  const Row of_large({20, 9, 128}, 4, std::vector<uint32_t>(7, 128)), of_small({7, 3, 128}, 4);
  encode(*large, of_large);
  encode(*small, of_small);
  for (uint32_t j = 0; j < 3; ++j) {
    EXPECT_EQ(std::memcmp(of_large.repair(j).bytes, of_small.repair(j).bytes, 128), 0) << j;
  }
}

TEST(Xor, says_singular_when_enough_came_but_not_of_the_right_group) {
  const auto c = Coder::make(*cw_codec_xor(), {4, 2, 64});
  ASSERT_TRUE(c);
  Row row(c->shape(), 2);
  encode(*c, row);
  const Memory scratch(1);
  const cw_shard present[] = {row.data(1), row.data(3), row.repair(0), row.repair(1)};
  const cw_shard wanted[] = {row.rebuilt(0), row.rebuilt(2)};
  EXPECT_EQ(c->decode(present, wanted, scratch.get()).coded, Coded::Singular);
  const CodeResult needs = c->decode({present, 1}, wanted, scratch.get());
  EXPECT_EQ(needs.coded, Coded::NeedMore);
  EXPECT_EQ(needs.need, 2u);
  EXPECT_TRUE(row.is_untouched(0) && row.is_untouched(2));
}

}  // namespace

}  // namespace cw
