// Our codecs against packets written by another program from the same specification.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "dataplane/wire/envelope.h"
#include "tests/golden_packets.h"
#include "tests/unit/wire_control/examples.h"
#include "tests/unit/wire_control/key.h"

namespace cw::test {
namespace {

std::vector<uint8_t> golden(const std::string& name) {
  static const auto packets = load_golden_packets(CW_SOURCE_DIR "/tests/data/packets/control.txt");
  for (const auto& packet : packets) {
    if (packet.name == name) return packet.bytes;
  }
  ADD_FAILURE() << "no golden packet " << name;
  return {};
}

template <class... Record>
std::vector<uint8_t> written(const EnvelopeHeader& header, const Record&... record) {
  std::vector<uint8_t> bytes(envelope_bytes_max);
  EnvelopeWriter writer(bytes, header);
  EXPECT_TRUE((writer.try_add(record) && ...));
  bytes.resize(writer.seal(golden_key()));
  return bytes;
}

/// Parses the only record in `row` as what `record` is, and compares.
template <class Record>
void expect_only_record(RecordReader row, const Record& record) {
  const auto view = row.next();
  ASSERT_TRUE(view) << Record::name;
  ASSERT_EQ(view->type, std::to_underlying(Record::type)) << Record::name;
  const auto parsed = parse<Record>(*view);
  ASSERT_TRUE(parsed) << Record::name;
  EXPECT_TRUE(*parsed == record) << Record::name;
  EXPECT_FALSE(row.next()) << Record::name;
  EXPECT_FALSE(row.error()) << Record::name;
}

TEST(GoldenControl, every_record_encodes_to_its_packet_and_decodes_from_it) {
  ControlRecords::for_each_type([]<class Record>(Record) {
    const Record record = example(Record{});
    const auto bytes = golden(Record::name);
    const auto envelope = open_envelope(bytes, golden_key());
    ASSERT_TRUE(envelope) << Record::name << ": " << sentence(envelope.error());
    EXPECT_EQ(written(envelope->header, record), bytes) << Record::name;
    expect_only_record(envelope->reader(), record);
    EXPECT_EQ(envelope->types, types_of<Record>);
  });
}

TEST(GoldenControl, every_item_encodes_to_its_description_and_decodes_from_it) {
  DescriptionItems::for_each_type([]<class Item>(Item) {
    const Item item = example(Item{});
    std::vector<uint8_t> row(bytes_in_row(item));
    RecordWriter items(row);
    ASSERT_TRUE(items.try_add(item));
    ASSERT_EQ(items.bytes(), row.size());
    Description description{.part = 0, .parts = 1, .part_bytes = uint16_t(row.size()), .bytes = {}};
    description.bytes = Row<uint8_t>(row.begin(), row.end());
    const auto bytes = golden(Item::name);
    EXPECT_EQ(written(golden_header, description), bytes) << Item::name;

    const auto envelope = open_envelope(bytes, golden_key());
    ASSERT_TRUE(envelope);
    const auto part = parse<Description>(*envelope->reader().next());
    ASSERT_TRUE(part);
    expect_only_record(RecordReader(part->bytes, DescriptionItems::types), item);
  });
}

TEST(GoldenControl, the_header_names_nonces_and_sequence) {
  const auto first = open_envelope(golden("hello"), golden_key());
  ASSERT_TRUE(first);
  EXPECT_EQ(first->header, (EnvelopeHeader{0x1112131415161718, 0, 1}));
  const auto later = open_envelope(golden("echo"), golden_key());
  ASSERT_TRUE(later);
  EXPECT_EQ(later->header, golden_header);
}

TEST(GoldenControl, a_hello_of_an_epoch_in_force_says_so) {
  Hello hello = example(Hello{});
  hello.state = HelloState::HasProvenYou;
  hello.description_received = 0b11;
  EXPECT_EQ(written(golden_header, hello), golden("hello_proven"));
}

TEST(GoldenControl, a_link_and_a_key_have_numbers) {
  MacKey key = golden_key();
  key.number = 5;
  EnvelopeHeader header = golden_header;
  header.link = 1;
  const auto bytes = golden("second_link");
  std::vector<uint8_t> ours(bytes.size());
  EnvelopeWriter writer(ours, header);
  ASSERT_TRUE(writer.try_add(example(Echo{})));
  EXPECT_EQ(writer.seal(key), ours.size());
  EXPECT_EQ(ours, bytes);
  const auto envelope = open_envelope(bytes, key);
  ASSERT_TRUE(envelope);
  EXPECT_EQ(envelope->header, header);
}

TEST(GoldenControl, numbers_of_qps_may_tell_paths_apart) {
  const auto bytes = golden("item_qp_paths");
  const auto envelope = open_envelope(bytes, golden_key());
  ASSERT_TRUE(envelope);
  const auto part = parse<Description>(*envelope->reader().next());
  ASSERT_TRUE(part);
  const be32 qpns[] = {be32(0x1000), be32(0x1001)};
  const QpItem item = {.qp = 3,
                       .generations = 1,
                       .channels = 1,
                       .paths = 2,
                       .data_key = 1,
                       .repair_key = 2,
                       .data_base = 3,
                       .repair_base = 4,
                       .data_window_bytes = 5,
                       .repair_window_bytes = 6,
                       .qpns = qpns};
  expect_only_record(RecordReader(part->bytes, DescriptionItems::types), item);
}

TEST(GoldenControl, an_envelope_without_records_is_a_sign_of_life) {
  const auto bytes = golden("empty");
  EXPECT_EQ(bytes.size(), envelope_bytes_min);
  std::vector<uint8_t> ours(envelope_bytes_min);
  EXPECT_EQ(EnvelopeWriter(ours, golden_header).seal(golden_key()), ours.size());
  EXPECT_EQ(ours, bytes);
  EXPECT_TRUE(open_envelope(bytes, golden_key()));
}

TEST(GoldenControl, records_travel_together_in_their_order) {
  const auto bytes = golden("typical");
  EXPECT_EQ(written(golden_header, example(ClearToSend{}), example(Note{}), example(Echo{})),
            bytes);
  const auto envelope = open_envelope(bytes, golden_key());
  ASSERT_TRUE(envelope);
  EXPECT_EQ(envelope->types, (types_of<ClearToSend, Note, Echo>));
}

TEST(GoldenControl, an_unknown_record_that_may_be_skipped_is_skipped) {
  const auto bytes = golden("skippable");
  const auto envelope = open_envelope(bytes, golden_key());
  ASSERT_TRUE(envelope);
  expect_only_record(envelope->reader(), example(Echo{}));
}

TEST(GoldenControl, the_longest_packet_fills_the_largest_slot) {
  const auto bytes = golden("longest");
  ASSERT_EQ(bytes.size(), envelope_bytes_max);
  ASSERT_TRUE(open_envelope(bytes, golden_key()));
  EnvelopeHeader header = golden_header;
  header.receiver_nonce = 0;
  std::vector<uint8_t> ours(envelope_bytes_max);
  EnvelopeWriter writer(ours, header);
  ASSERT_TRUE(writer.try_add(example(Hello{})));
  ASSERT_TRUE(writer.try_add(Pad{{static_cast<uint16_t>(writer.body_room())}}));
  EXPECT_EQ(writer.body_room(), 0u);
  EXPECT_EQ(writer.seal(golden_key()), ours.size());
  EXPECT_EQ(ours, bytes);
}

}  // namespace
}  // namespace cw::test
