// What control packets are made of.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "dataplane/wire/control/envelope.h"
#include "dataplane/wire/control/record.h"
#include "dataplane/wire/slot.h"
#include "tests/golden_packets.h"
#include "tests/property/property.h"
#include "tests/unit/wire_control/any_record.h"
#include "tests/unit/wire_control/examples.h"
#include "tests/unit/wire_control/key.h"

namespace cw::test {
namespace {

// ---- What holds for all records: they come back as they went, and writing never goes too far ----

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

// ---- slot ----

std::vector<uint8_t> slot_of(const SlotHeader& header, size_t bytes) {
  std::vector<uint8_t> slot(bytes);
  encode_slot_header(header, slot.data());
  return slot;
}
bool is_taken(uint16_t used, uint16_t first, size_t bytes) {
  return parse_slot_header(ExactCopy(slot_of({MessageSeq(1), used, first}, bytes))).has_value();
}

TEST(Slot, the_header_lies_as_specified) {
  const auto slot = slot_of({MessageSeq(0x01020304), 0x0506, 0x0102}, 0x0506 + 8);
  EXPECT_EQ(std::vector(slot.begin(), slot.begin() + 8),
            (std::vector<uint8_t>{1, 2, 3, 4, 5, 6, 1, 2}));
  EXPECT_EQ(parse_slot_header(slot), (SlotHeader{MessageSeq(0x01020304), 0x0506, 0x0102}));
}

TEST(Slot, uses_no_more_bytes_than_it_has) {
  EXPECT_TRUE(is_taken(92, no_frame_start, 100));
  EXPECT_FALSE(is_taken(93, no_frame_start, 100));
  EXPECT_FALSE(is_taken(0xffff, no_frame_start, 100));
  EXPECT_TRUE(is_taken(0, no_frame_start, 8));
}

TEST(Slot, the_first_frame_begins_within_the_used_bytes) {
  EXPECT_TRUE(is_taken(50, 0, 100));
  EXPECT_TRUE(is_taken(50, 49, 100));
  EXPECT_FALSE(is_taken(50, 50, 100));
  EXPECT_FALSE(is_taken(0, 0, 100));
  EXPECT_FALSE(is_taken(50, 0xfffe, 100));
}

TEST(Slot, a_slot_shorter_than_its_header_is_refused) {
  const auto slot = slot_of({}, 8);
  for (size_t count = 0; count < 8; ++count) {
    EXPECT_FALSE(parse_slot_header(ExactCopy(std::span(slot).first(count))));
  }
}

std::optional<FrameHeader> parsed(const FrameHeader& header) {
  uint8_t bytes[frame_header_bytes];
  encode_frame_header(header, bytes);
  return parse_frame_header(bytes);
}

TEST(Frame, the_header_lies_as_specified) {
  uint8_t bytes[frame_header_bytes];
  encode_frame_header({0x0102, 0x0304, 0x05060708}, bytes);
  EXPECT_EQ(std::vector(bytes, bytes + 8), (std::vector<uint8_t>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Frame, is_as_long_as_an_ip_packet_can_be) {
  EXPECT_FALSE(parsed({0, 1, 2}));
  EXPECT_FALSE(parsed({19, 1, 2}));
  EXPECT_TRUE(parsed({20, 1, 2}));
  EXPECT_TRUE(parsed({limits::frame_bytes_max, 1, 2}));
  EXPECT_FALSE(parsed({limits::frame_bytes_max + 1, 1, 2}));
}

TEST(Frame, says_in_its_first_two_bits_what_it_waits_for) {
  for (const auto order : {FrameOrder::InTurn, FrameOrder::Behind, FrameOrder::AtOnce}) {
    const FrameHeader header{limits::frame_bytes_max, 1, 2, order};
    EXPECT_EQ(parsed(header), header);
  }
  EXPECT_FALSE(parsed({20, 1, 2, static_cast<FrameOrder>(3)}));
}

RC_GTEST_PROP(Slot, headers_come_back_as_they_went, (uint32_t seq, uint32_t bucket_seq)) {
  const auto used = *rc::gen::inRange<uint16_t>(1, 500);
  const auto first = *rc::gen::inRange<uint16_t>(0, used);
  const SlotHeader slot{MessageSeq(seq), used, first};
  RC_ASSERT(parse_slot_header(slot_of(slot, 508)) == slot);
  const FrameHeader frame{static_cast<uint16_t>(used + 20), first, bucket_seq};
  RC_ASSERT(parsed(frame) == frame);
}

// ---- Our codecs against packets written by another program from the same specification ----

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

// ---- SPEC.md, the golden packets and the code tell the same story ----

constexpr const char* spec_path = CW_SOURCE_DIR "/dataplane/wire/SPEC.md";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The hex blocks of the specification fenced as "```KIND NAME", by name.
std::map<std::string, std::vector<uint8_t>> blocks_of(const std::string& kind) {
  std::map<std::string, std::vector<uint8_t>> blocks;
  std::istringstream lines(text_of(spec_path));
  std::vector<uint8_t>* block = nullptr;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      const bool is_ours = line.starts_with("```" + kind + " ");
      block = is_ours ? &blocks[line.substr(4 + kind.size())] : nullptr;
      continue;
    }
    std::istringstream words(line);
    for (std::string word; block != nullptr && words >> word;) append_hex(*block, word);
  }
  return blocks;
}

/// Numbers n of all "[C-n]" in a text, in its order.
std::vector<int> citations_in(const std::string& text) {
  static const std::regex citation(R"(\[C-(\d+)\])");
  std::vector<int> numbers;
  for (std::sregex_iterator hit(text.begin(), text.end(), citation), end; hit != end; ++hit) {
    numbers.push_back(std::stoi((*hit)[1]));
  }
  return numbers;
}

TEST(Spec, its_worked_examples_are_the_golden_packets) {
  auto records = blocks_of("golden");
  auto envelopes = blocks_of("envelope");
  EXPECT_EQ(envelopes.size(), 1u);
  size_t found = 0;
  for (const auto& packet : load_golden_packets(CW_SOURCE_DIR "/tests/data/packets/control.txt")) {
    if (envelopes.contains(packet.name)) {
      EXPECT_EQ(envelopes[packet.name], packet.bytes);
    }
    if (!records.contains(packet.name)) continue;
    // An item lies behind the header of its only description part.
    const size_t begin = envelope_header_bytes + (packet.name.starts_with("item_") ? 12 : 0);
    const std::vector<uint8_t> record(packet.bytes.begin() + static_cast<ptrdiff_t>(begin),
                                      packet.bytes.end() - ptrdiff_t{envelope_mac_bytes});
    EXPECT_EQ(records[packet.name], record) << packet.name;
    ++found;
  }
  EXPECT_EQ(found, records.size());
  EXPECT_EQ(found, 19u + 5u) << "one example of every record and item";
}

TEST(Spec, every_must_is_numbered_and_the_numbers_have_no_gap) {
  const std::string spec = text_of(spec_path);
  const auto numbers = citations_in(spec);
  std::vector<int> expected(numbers.size());
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<int>(i) + 1;
  EXPECT_EQ(numbers, expected);

  // Sections 1 to 3 number all their rules n.m.
  const auto control = spec.substr(spec.find("\n## 4."));
  static const std::regex item_end(R"(\n(?=\* |\n|#))");
  const std::sregex_token_iterator items(control.begin(), control.end(), item_end, -1);
  for (auto item = items; item != std::sregex_token_iterator(); ++item) {
    const std::string text = *item;
    const bool is_definition = text.find("RFC 2119") != text.npos;
    if (text.find("MUST") == text.npos || is_definition) continue;
    EXPECT_FALSE(citations_in(text).empty()) << "a MUST without a number: " << text;
  }
}

TEST(Spec, the_code_cites_rules_that_exist_and_all_that_it_enforces) {
  const auto last = citations_in(text_of(spec_path)).size();
  std::set<int> cited;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(CW_SOURCE_DIR "/dataplane/wire")) {
    if (entry.path().extension() != ".h" && entry.path().extension() != ".cc") continue;
    for (const int number : citations_in(text_of(entry.path()))) {
      EXPECT_LE(static_cast<size_t>(number), last) << entry.path();
      cited.insert(number);
    }
  }
  // The other rules bind those who keep state between packets.
  const std::set<int> enforced = {1,  2,  4,  5,  6,  7,  10, 11, 12, 13, 14, 15, 17, 19, 21, 24,
                                  25, 40, 45, 48, 50, 52, 66, 67, 68, 69, 70, 71, 72, 73, 74};
  EXPECT_TRUE(std::ranges::includes(cited, enforced)) << ::testing::PrintToString(cited);
}

}  // namespace

}  // namespace cw::test
