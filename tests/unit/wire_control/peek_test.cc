// What an envelope says of whose it is before anybody has opened it [C-64].
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/wire/control/description.h"
#include "dataplane/wire/control/envelope.h"
#include "tests/golden_packets.h"
#include "tests/unit/wire_control/examples.h"
#include "tests/unit/wire_control/key.h"

namespace cw::test {
namespace {

constexpr uint32_t shape = 0xabcdef;

/// What is peeked of a copy of the bytes that nothing lies behind.
EnvelopePeek peek(std::span<const uint8_t> bytes) { return peek_envelope(ExactCopy(bytes)); }

Hello hello_of(uint32_t its_shape) {
  Hello hello = example(Hello{});
  hello.capabilities |= its_shape << Hello::shape_shift;
  return hello;
}

template <class... Records>
std::vector<uint8_t> row_of(const Records&... records) {
  std::vector<uint8_t> row((bytes_in_row(records) + ...));
  RecordWriter writer(row);
  EXPECT_TRUE((writer.try_add(records) && ...));
  return row;
}

TEST(Hello, says_its_shape_beside_its_capabilities) {
  EXPECT_EQ(Hello{}.shape(), 0u);
  EXPECT_EQ(Hello{.capabilities = 0xff}.shape(), 0u) << "a version that says none";
  for (const uint32_t each : {1u, shape, Hello::shape_max}) {
    Hello hello = hello_of(each);
    EXPECT_EQ(hello.shape(), each);
    EXPECT_EQ(hello.capabilities & 0xff, example(Hello{}).capabilities);
    EXPECT_EQ(hello.age(), LinkAge::Only);
    hello.capabilities |= Hello::swaps | Hello::numbers_by_qp | Hello::older;
    EXPECT_EQ(hello.shape(), each);
    EXPECT_EQ(hello.age(), LinkAge::Older);
    hello.capabilities ^= Hello::older | Hello::newer;
    EXPECT_EQ(hello.age(), LinkAge::Newer);
  }
}

// As SPEC 5.1 has them: bit 8 and what lies above, in the order of the network.
TEST(Hello, has_its_shape_in_the_first_three_bytes_of_its_body) {
  const auto row = row_of(hello_of(shape));
  const std::vector<uint8_t> body(row.begin() + record_header_bytes,
                                  row.begin() + record_header_bytes + 4);
  EXPECT_EQ(body, (std::vector<uint8_t>{0xab, 0xcd, 0xef, Hello::sees_psns}));
}

TEST(Peek, says_who_speaks_to_whom_and_the_hello_in_front) {
  EnvelopeHeader header = golden_header;
  header.link = 9;
  const EnvelopePeek found = peek(sealed(row_of(hello_of(shape), example(Pad{})), header));
  EXPECT_EQ(found.header, header);
  EXPECT_EQ(found.hello, hello_of(shape));
  EXPECT_EQ(peek(sealed(row_of(hello_of(0)))).hello, hello_of(0)) << "it says no shape";
}

// It is for who has to choose by whose key it is opened.
TEST(Peek, asks_for_no_key) {
  auto bytes = sealed(row_of(hello_of(shape)));
  std::ranges::fill(std::span(bytes).last(envelope_mac_bytes), uint8_t{0});
  EXPECT_EQ(peek(bytes).hello, hello_of(shape));
  EXPECT_EQ(peek(bytes).header, golden_header);
}

TEST(Peek, finds_no_hello_where_something_else_comes_first) {
  EXPECT_EQ(peek(sealed({})).header, golden_header);
  EXPECT_FALSE(peek(sealed({})).hello);
  EXPECT_FALSE(peek(sealed(row_of(example(Pad{})))).hello);
  EXPECT_FALSE(peek(sealed(row_of(example(Echo{}), hello_of(shape)))).hello);
  EXPECT_FALSE(peek(sealed(row_of(example(Description{}), hello_of(shape)))).hello);
}

TEST(Peek, finds_none_in_what_is_no_hello) {
  const auto row = row_of(hello_of(shape));
  const auto with_byte = [&row](size_t at, uint8_t value) {
    auto changed = row;
    changed[at] = value;
    return peek(sealed(changed)).hello;
  };
  EXPECT_EQ(with_byte(1, 0), hello_of(shape)) << "as it is";
  EXPECT_FALSE(with_byte(1, 1)) << "flags";
  EXPECT_FALSE(with_byte(2, 0xff)) << "longer than the envelope";
  EXPECT_FALSE(with_byte(3, 4)) << "shorter than a hello";
  EXPECT_FALSE(with_byte(3, static_cast<uint8_t>(row[3] + 1))) << "one byte into the MAC";
  EXPECT_FALSE(with_byte(0, 31)) << "nobody knows such a record";
  EXPECT_FALSE(with_byte(record_header_bytes + 15, 0)) << "no generation";
}

TEST(Peek, of_a_cut_packet_has_no_hello_beyond_the_cut) {
  const auto bytes = sealed(row_of(hello_of(shape)));
  for (size_t count = 0; count < bytes.size(); ++count) {
    const EnvelopePeek found = peek(std::span(bytes).first(count));
    EXPECT_FALSE(found.hello) << count;
    const bool is_short = count < envelope_bytes_min;
    EXPECT_EQ(found.header, is_short ? EnvelopeHeader() : golden_header) << count;
  }
}

TEST(Peek, agrees_with_who_opens_every_golden_packet) {
  size_t hellos = 0;
  for (const auto& packet : load_golden_packets(CW_SOURCE_DIR "/tests/data/packets/control.txt")) {
    MacKey key = golden_key();
    key.number = packet.bytes.at(3);  // as its two ends would have agreed
    const auto envelope = open_envelope(packet.bytes, key);
    ASSERT_TRUE(envelope) << packet.name;
    EXPECT_EQ(peek(packet.bytes).header, envelope->header) << packet.name;
    const auto first = envelope->reader().next();
    if (!first || first->type != std::to_underlying(Hello::type)) {
      EXPECT_FALSE(peek(packet.bytes).hello) << packet.name;
      continue;
    }
    const auto hello = parse<Hello>(*first);
    ASSERT_TRUE(hello);
    EXPECT_EQ(peek(packet.bytes).hello, *hello) << packet.name;
    ++hellos;
  }
  EXPECT_GT(hellos, 0u);
}

// Nothing is beyond the last byte of an exact copy: the sanitizers look.
TEST(Peek, of_any_bytes_ends_within_them) {
  Prng prng(1);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<uint8_t> bytes(prng.below(200));
    for (uint8_t& each : bytes) each = static_cast<uint8_t>(prng.below(256));
    // Half of them have a hello's type where the first record begins.
    const bool is_hello = round % 2 == 0 && bytes.size() > envelope_header_bytes + 3;
    if (is_hello) {
      bytes[envelope_header_bytes] = std::to_underlying(Hello::type);
      bytes[envelope_header_bytes + 1] = bytes[envelope_header_bytes + 2] = 0;
    }
    const EnvelopePeek found = peek(bytes);
    ASSERT_TRUE(!found.hello || found.hello->is_valid());
    ASSERT_TRUE(bytes.size() >= envelope_bytes_min || found.header == EnvelopeHeader());
  }
}

}  // namespace
}  // namespace cw::test
