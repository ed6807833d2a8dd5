// What holds for all records: they come back as they went, and writing never goes too far.
#include "dataplane/wire/record.h"

#include <gtest/gtest.h>

#include <vector>

#include "dataplane/wire/envelope.h"
#include "tests/property/property.h"
#include "tests/unit/wire_control/any_record.h"
#include "tests/unit/wire_control/examples.h"
#include "tests/unit/wire_control/key.h"

namespace cw::test {
namespace {

template <class Record>
void comes_back(RecordTypes known) {
  FieldScrambler scrambler;
  const Record record = any_record<Record>(scrambler);
  std::vector<uint8_t> row(bytes_in_row(record));
  RecordWriter writer(row);
  RC_ASSERT(writer.try_add(record));
  RC_ASSERT(writer.bytes() == row.size());
  const ExactCopy copy(row);
  RecordReader reader(copy, known);
  const auto view = reader.next();
  RC_ASSERT(view.has_value());
  RC_ASSERT(view->bytes.size() == row.size());
  const auto parsed = parse<Record>(*view);
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed == record);
  RC_ASSERT(!reader.next() && !reader.error());
}

TEST(Records, all_come_back_as_they_went) {
  ControlRecords::for_each_type([]<class Record>(Record) {
    EXPECT_TRUE(rc::check(Record::name, +[] { comes_back<Record>(ControlRecords::types); }));
  });
  DescriptionItems::for_each_type([]<class Item>(Item) {
    EXPECT_TRUE(rc::check(Item::name, +[] { comes_back<Item>(DescriptionItems::types); }));
  });
}

TEST(Records, one_that_does_not_fit_leaves_the_buffer_as_it_was) {
  ControlRecords::for_each_type([]<class Record>(Record) {
    const Record record = example(Record{});
    const size_t needed = bytes_in_row(record);
    for (size_t room = 0; room < needed; ++room) {
      std::vector<uint8_t> buffer(room, 0xaa);
      RecordWriter writer(buffer);
      EXPECT_FALSE(writer.try_add(record)) << Record::name;
      EXPECT_EQ(buffer, std::vector<uint8_t>(room, 0xaa)) << Record::name;
      EXPECT_EQ(writer.bytes(), 0u);
    }
  });
}

TEST(Records, a_body_as_long_as_the_room_fits_and_one_byte_more_does_not) {
  for (size_t size = envelope_bytes_min; size < 200; ++size) {
    std::vector<uint8_t> buffer(size);
    EnvelopeWriter writer(buffer, golden_header);
    const size_t room = writer.body_room();
    EXPECT_FALSE(writer.try_add(Pad{{static_cast<uint16_t>(room + 1)}})) << size;
    if (size < envelope_bytes_min + record_header_bytes) continue;
    EXPECT_TRUE(writer.try_add(Pad{{static_cast<uint16_t>(room)}})) << size;
    EXPECT_EQ(writer.seal(golden_key()), size & ~size_t{3});
  }
}

TEST(Records, a_visitor_gets_each_record_as_its_type) {
  std::vector<uint8_t> row(100);
  RecordWriter writer(row);
  ASSERT_TRUE(writer.try_add(example(Probe{})) && writer.try_add(example(Echo{})));
  row.resize(writer.bytes());
  RecordReader reader(row, ControlRecords::types);
  std::vector<std::string> names;
  while (const auto view = reader.next()) {
    EXPECT_TRUE(ControlRecords::visit(
        *view, [&names]<class Record>(const Record&) { names.push_back(Record::name); }));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"probe", "echo"}));
  EXPECT_FALSE(ControlRecords::visit({.type = 5, .body = {}, .bytes = {}}, [](const auto&) {}));
  EXPECT_FALSE(ControlRecords::visit({.type = 99, .body = {}, .bytes = {}}, [](const auto&) {}));
}

RC_GTEST_PROP(Records, a_row_of_random_bytes_is_read_to_its_end_or_to_an_error, ()) {
  const auto bytes = *rc::gen::arbitrary<std::vector<uint8_t>>();
  const ExactCopy row(bytes);
  RecordReader reader(row, ControlRecords::types);
  size_t total = 0;
  while (const auto view = reader.next()) total += view->bytes.size();
  RC_ASSERT(total <= bytes.size());
  RC_ASSERT(reader.error() || bytes.size() % 4 == 0);
}

}  // namespace
}  // namespace cw::test
