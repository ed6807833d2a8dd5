// Control packets between members of a group (SPEC.md 18.4 to 18.12).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "dataplane/wire/control/envelope.h"
#include "dataplane/wire/group/pair_key.h"
#include "dataplane/wire/group/records.h"
#include "dataplane/wire/group/replay_window.h"
#include "tests/golden_packets.h"
#include "tests/property/property.h"
#include "tests/unit/wire_control/any_record.h"
#include "tests/unit/wire_control/examples.h"
#include "tests/unit/wire_control/key.h"

namespace cw::test {
namespace {

using GroupRecords = group::Records;

constexpr uint64_t group_epoch = 0x3132333435363738;
constexpr uint16_t sender_rank = 3, receiver_rank = 5;

const MacKey& group_secret() {
  static const MacKey key = make_key("causeway golden group");
  return key;
}

MacKey key_of(uint64_t epoch, uint16_t one, uint16_t other) {
  const group::PairKey bytes = group::pair_key(group_secret(), epoch, one, other);
  return make_key({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

const std::vector<GoldenPacket>& group_packets() {
  static const auto packets = load_golden_packets(CW_SOURCE_DIR "/tests/data/packets/group.txt");
  return packets;
}

/// Those of group.txt that are no frames.
std::vector<GoldenPacket> group_envelopes() {
  auto packets = group_packets();
  std::erase_if(packets, [](const GoldenPacket& packet) { return !packet.start.empty(); });
  return packets;
}

const GoldenPacket& group_packet(const std::string& name) {
  for (const GoldenPacket& packet : group_packets()) {
    if (packet.name == name) return packet;
  }
  throw std::runtime_error("no golden packet " + name);
}

/// EPOCH alone is said before there is one.
MacKey key_of_golden(const std::string& name) {
  static const MacKey before = key_of(0, 0, receiver_rank);
  static const MacKey within = key_of(group_epoch, sender_rank, receiver_rank);
  return name == group::Epoch::name ? before : within;
}

std::expected<Envelope, ControlError> opened(std::span<const uint8_t> bytes, const MacKey& key) {
  return open_envelope(bytes, key, GroupRecords::types);
}

TEST(GroupControl, every_record_encodes_to_its_packet_and_decodes_from_it) {
  GroupRecords::for_each_type([]<class Record>(Record) {
    if (Record::type == RecordType::Pad) return;
    SCOPED_TRACE(Record::name);
    const Record record = example(Record{});
    const auto& bytes = group_packet(Record::name).bytes;
    const MacKey key = key_of_golden(Record::name);
    const ExactCopy copy(bytes);
    const auto envelope = opened(copy, key);
    ASSERT_TRUE(envelope) << sentence(envelope.error());
    EXPECT_EQ(envelope->types, types_of<Record>);
    RecordReader reader = envelope->reader();
    const auto parsed = parse<Record>(*reader.next());
    ASSERT_TRUE(parsed);
    EXPECT_TRUE(*parsed == record);
    EXPECT_FALSE(reader.next());

    std::vector<uint8_t> ours(bytes.size());
    EnvelopeWriter writer(ours, envelope->header);
    ASSERT_TRUE(writer.try_add(record));
    EXPECT_EQ(writer.seal(key), bytes.size());
    EXPECT_EQ(ours, bytes);
  });
}

// [C-72]
TEST(GroupControl, the_header_names_its_senders_rank_and_the_epoch) {
  const auto ready = opened(group_packet("group_ready").bytes, key_of_golden("group_ready"));
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->header, (EnvelopeHeader{0x1112131415161718, group_epoch, 7, sender_rank}));
  const auto epoch = opened(group_packet("group_epoch").bytes, key_of_golden("group_epoch"));
  ASSERT_TRUE(epoch);
  EXPECT_EQ(epoch->header, (EnvelopeHeader{0x1112131415161718, 0x2122232425262728, 7, 0}));
}

TEST(GroupControl, ready_of_a_step_rides_on_done_of_the_one_before) {
  const auto& bytes = group_packet("together").bytes;
  const auto envelope = opened(bytes, key_of_golden("together"));
  ASSERT_TRUE(envelope);
  RecordReader reader = envelope->reader();
  EXPECT_EQ(*parse<group::Done>(*reader.next()), example(group::Done{}));
  EXPECT_EQ(parse<group::Ready>(*reader.next())->step, example_step + 1);
}

// [C-71]
TEST(GroupControl, a_link_refuses_records_of_groups_and_a_group_those_of_links) {
  for (const GoldenPacket& packet : group_envelopes()) {
    const auto envelope = open_envelope(packet.bytes, key_of_golden(packet.name));
    ASSERT_FALSE(envelope) << packet.name;
    EXPECT_EQ(envelope.error(), ControlError::RecordUnknown) << packet.name;
  }
  ControlRecords::for_each_type([]<class Record>(Record) {
    std::vector<uint8_t> bytes(1024);
    EnvelopeWriter writer(bytes, golden_header);
    ASSERT_TRUE(writer.try_add(example(Record{})));
    const auto envelope =
        opened(std::span(bytes).first(writer.seal(group_secret())), group_secret());
    const bool is_skipped = is_skippable(std::to_underlying(Record::type));
    EXPECT_EQ(envelope.has_value(), Record::type == RecordType::Pad || is_skipped) << Record::name;
    EXPECT_TRUE(envelope || envelope.error() == ControlError::RecordUnknown) << Record::name;
  });
}

TEST(GroupControl, every_truncation_and_every_flipped_bit_is_refused) {
  for (const GoldenPacket& packet : group_envelopes()) {
    SCOPED_TRACE(packet.name);
    const MacKey key = key_of_golden(packet.name);
    for (size_t count = 0; count < packet.bytes.size(); ++count) {
      EXPECT_FALSE(opened(ExactCopy(std::span(packet.bytes).first(count)), key)) << count;
    }
    std::vector<uint8_t> bytes = packet.bytes;
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      EXPECT_FALSE(opened(bytes, key)) << "bit " << bit;
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }
  }
}

// ---- keys ----

// [C-72]; the bytes are of Python's hmac.
TEST(PairKey, is_the_mac_of_the_pairs_name) {
  const auto key = group::pair_key(group_secret(), group_epoch, sender_rank, receiver_rank);
  const uint8_t expected[] = {0x9d, 0x2e, 0xc0, 0xae, 0xc2, 0xc3, 0x52, 0xc9, 0x8b, 0x49, 0x07,
                              0xe9, 0xd7, 0x4c, 0x65, 0x4c, 0x12, 0x6c, 0x19, 0x2b, 0x0d, 0xed,
                              0x23, 0x41, 0x62, 0xac, 0xaf, 0x6e, 0x94, 0x87, 0xd1, 0xf5};
  EXPECT_TRUE(std::ranges::equal(key, expected));
}

TEST(PairKey, is_one_for_both_and_another_for_every_other_pair_and_epoch) {
  std::set<group::PairKey> seen;
  for (const uint64_t epoch : {uint64_t{0}, uint64_t{1}, group_epoch, ~uint64_t{0}}) {
    for (uint16_t one = 0; one < 20; ++one) {
      for (uint16_t other = one; other < 20; ++other) {
        const auto key = group::pair_key(group_secret(), epoch, one, other);
        EXPECT_TRUE(seen.insert(key).second);
        EXPECT_EQ(key, group::pair_key(group_secret(), epoch, other, one));
      }
    }
  }
  EXPECT_NE(group::pair_key(group_secret(), 0, 0, 256), group::pair_key(group_secret(), 0, 1, 0));
  EXPECT_NE(group::pair_key(golden_key(), 0, 0, 1), group::pair_key(group_secret(), 0, 0, 1));
}

// ---- replay ----

// [C-74]
TEST(GroupReplay, knows_the_last_64_exactly_and_refuses_what_is_older) {
  group::ReplayWindow window;
  EXPECT_FALSE(window.try_accept(0));
  EXPECT_TRUE(window.try_accept(100));
  EXPECT_FALSE(window.try_accept(36));
  EXPECT_TRUE(window.try_accept(37));
  EXPECT_FALSE(window.try_accept(37));
  EXPECT_TRUE(window.try_accept(101));
  EXPECT_FALSE(window.try_accept(37));
  EXPECT_TRUE(window.try_accept(UINT64_MAX));
  EXPECT_FALSE(window.try_accept(UINT64_MAX));
  EXPECT_TRUE(window.try_accept(UINT64_MAX - 63));
  EXPECT_EQ(window.highest(), UINT64_MAX);
}

RC_GTEST_PROP(GroupReplay, agrees_with_a_set_of_all_numbers_seen, ()) {
  group::ReplayWindow window;
  std::set<uint64_t> seen;
  uint64_t next = 1;
  for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(-100, 60))) {
    const uint64_t sequence = step < 0 && uint64_t(-step) > next ? 0 : next + int64_t{step};
    const uint64_t highest = seen.empty() ? 0 : *seen.rbegin();
    const bool is_old = sequence == 0 || (highest >= 64 && sequence <= highest - 64);
    RC_ASSERT(window.try_accept(sequence) == (!is_old && seen.insert(sequence).second));
    next = std::max(next, sequence);
  }
}

// ---- records ----

template <class Record>
void group_record_comes_back() {
  FieldScrambler scrambler;
  const Record record = any_record<Record>(scrambler);
  std::vector<uint8_t> row(bytes_in_row(record));
  RC_ASSERT(RecordWriter(row).try_add(record));
  const ExactCopy copy(row);
  RecordReader reader(copy, GroupRecords::types);
  const auto view = reader.next();
  RC_ASSERT(view.has_value());
  RC_ASSERT(view->bytes.size() == row.size());
  const auto parsed = parse<Record>(*view);
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed == record);
}

TEST(GroupRecords, all_come_back_as_they_went) {
  GroupRecords::for_each_type([]<class Record>(Record) {
    EXPECT_TRUE(rc::check(Record::name, +[] { group_record_comes_back<Record>(); }));
  });
}

/// A record's row with the bytes at `at` of its body replaced.
template <class Record>
std::vector<uint8_t> group_row_with(const Record& record, size_t at,
                                    const std::vector<uint8_t>& bytes) {
  std::vector<uint8_t> row(bytes_in_row(record));
  EXPECT_TRUE(RecordWriter(row).try_add(record));
  std::ranges::copy(bytes, row.begin() + static_cast<ptrdiff_t>(record_header_bytes + at));
  return row;
}

template <class Record>
bool is_body_refused(std::span<const uint8_t> row) {
  const ExactCopy copy(row);
  RecordReader reader(copy, GroupRecords::types);
  const auto view = reader.next();
  EXPECT_TRUE(view);
  return view && !parse<Record>(*view);
}

template <class Record>
bool is_refused_if(size_t at, const std::vector<uint8_t>& bytes) {
  return is_body_refused<Record>(group_row_with(example(Record{}), at, bytes));
}

TEST(GroupRecords, a_body_shorter_or_longer_than_its_fields_is_refused) {
  GroupRecords::for_each_type([]<class Record>(Record) {
    if (Record::type == RecordType::Pad) return;
    const bool has_rest = Record::type == RecordType::Fail;
    const auto whole = group_row_with(example(Record{}), 0, {});
    const size_t body_bytes = size_t{whole[2]} << 8 | whole[3];
    const size_t fixed_bytes = has_rest ? 8 : body_bytes;
    for (size_t count = 0; count <= body_bytes + 4; ++count) {
      auto row = whole;
      row.resize(record_header_bytes + padded_to_4(count));
      std::fill(row.begin() + static_cast<ptrdiff_t>(record_header_bytes + count), row.end(),
                uint8_t{0});
      row[2] = static_cast<uint8_t>(count >> 8);
      row[3] = static_cast<uint8_t>(count);
      const bool is_fetch = Record::type == RecordType::Fetch && count == 12 + 8;  // one run less
      const bool is_right = has_rest ? count >= fixed_bytes : count == fixed_bytes || is_fetch;
      EXPECT_EQ(is_body_refused<Record>(row), !is_right) << Record::name << " of " << count;
    }
  });
}

// [C-73]
TEST(GroupRecords, a_member_has_a_rate_a_number_of_24_bits_and_slots_that_fit) {
  EXPECT_TRUE(is_refused_if<group::Join>(12, {1}));                       // qpn of 25 bits
  EXPECT_TRUE(is_refused_if<group::Join>(16, {0, 0, 0, 0, 0, 0, 0, 0}));  // no rate
  EXPECT_FALSE(is_refused_if<group::Join>(0, {0, 0, 0, 0, 0, 0, 0, 0}));  // nothing heard yet
  EXPECT_TRUE(is_refused_if<group::Join>(24, {0, 220}));
  EXPECT_FALSE(is_refused_if<group::Join>(24, {0, 224}));
  EXPECT_TRUE(is_refused_if<group::Join>(24, {0, 225}));
  EXPECT_FALSE(is_refused_if<group::Join>(24, {0x1f, 0xe0}));
  EXPECT_TRUE(is_refused_if<group::Join>(24, {0x1f, 0xe4}));
  EXPECT_TRUE(is_refused_if<group::Epoch>(0, {0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(is_refused_if<group::Epoch>(12, {0, 0, 0, 0}));
  EXPECT_TRUE(is_refused_if<group::Epoch>(16, {0, 220}));
  EXPECT_TRUE(is_refused_if<group::Epoch>(16, {0x1f, 0xe4}));
  EXPECT_TRUE(is_refused_if<group::Epoch>(16, {0x10, 0x02}));
  EXPECT_TRUE(is_refused_if<group::Epoch>(18, {0, 0}));
  EXPECT_FALSE(is_refused_if<group::Epoch>(18, {0x40, 0}));
  EXPECT_TRUE(is_refused_if<group::Epoch>(18, {0x40, 1}));
}

// [C-73]
TEST(GroupRecords, a_step_is_of_a_known_operation_and_of_members_that_can_be) {
  EXPECT_TRUE(is_refused_if<group::Ready>(4, {0}));
  EXPECT_TRUE(is_refused_if<group::Ready>(4, {6}));
  EXPECT_TRUE(is_refused_if<group::Ready>(4, {2}));  // an Allgather has no root
  EXPECT_FALSE(is_refused_if<group::Ready>(4, {5, 0, 0, 0}));
  EXPECT_TRUE(is_refused_if<group::Ready>(5, {3}));
  EXPECT_FALSE(is_refused_if<group::Ready>(6, {0x3f, 0xff}));
  EXPECT_TRUE(is_refused_if<group::Ready>(6, {0x40, 0}));
  EXPECT_FALSE(is_refused_if<group::Ready>(8, {0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(is_refused_if<group::Ready>(16, {0, 0, 0, 0}));
  EXPECT_FALSE(is_refused_if<group::Ready>(16, {0, 0, 0x40, 0}));
  EXPECT_TRUE(is_refused_if<group::Ready>(16, {0, 0, 0x40, 1}));
  EXPECT_TRUE(is_refused_if<group::Go>(4, {0x40, 0}));
  EXPECT_TRUE(is_refused_if<group::Go>(6, {0x03, 0xe9}));
  EXPECT_TRUE(is_refused_if<group::Turn>(4, {0x40, 0}));
  EXPECT_FALSE(is_refused_if<group::AllDone>(6, {0x03, 0xe8}));
  EXPECT_TRUE(is_refused_if<group::AllDone>(6, {0x03, 0xe9}));
  EXPECT_TRUE(is_refused_if<group::Done>(4, {0x40, 0}));
  EXPECT_FALSE(is_refused_if<group::Done>(6, {0x03, 0xe8}));
  EXPECT_TRUE(is_refused_if<group::Done>(6, {0x03, 0xe9}));
  EXPECT_TRUE(is_refused_if<group::Done>(8, {0, 0, 0, 0}));
  EXPECT_FALSE(is_refused_if<group::Done>(12, {0xff, 0xff, 0xff, 0xff}));
}

// [C-73]; the example asks for slot 9 and for the last sixteen.
TEST(GroupRecords, runs_rise_do_not_touch_and_end_with_the_numbers_of_slots) {
  EXPECT_TRUE(is_refused_if<group::Fetch>(4, {0, 1}));  // of message 0 there is no one source
  EXPECT_TRUE(is_refused_if<group::Fetch>(6, {1}));     // nor does anybody count
  EXPECT_TRUE(is_refused_if<group::Miss>(6, {1}));
  EXPECT_TRUE(is_refused_if<group::Fetch>(16, {0, 0, 0, 0}));
  EXPECT_TRUE(is_refused_if<group::Fetch>(24, {0, 0, 0, 17}));
  EXPECT_TRUE(is_refused_if<group::Fetch>(20, {1, 0, 0, 0}));
  EXPECT_TRUE(is_refused_if<group::Fetch>(20, {0, 0, 0, 10}));  // they touch
  EXPECT_FALSE(is_refused_if<group::Fetch>(20, {0, 0, 0, 11}));
  EXPECT_TRUE(is_refused_if<group::Fetch>(20, {0, 0, 0, 9}));
  EXPECT_TRUE(is_refused_if<group::Fetch>(20, {0, 0, 0, 2}));  // they fall
  EXPECT_TRUE(is_refused_if<group::Fetch>(20, {0, 0, 0, 11, 0xff, 0xff, 0xff, 0xff}));
  EXPECT_TRUE(is_refused_if<group::Miss>(4, {0x40, 0}));
  EXPECT_TRUE(is_refused_if<group::Miss>(16, {0, 0, 0, 0}));
}

// [C-73]
TEST(GroupRecords, a_fetch_has_64_runs_at_most_and_a_sentence_256_bytes) {
  std::vector<group::Run> runs;
  for (uint32_t i = 0; i <= limits::group_runs_max; ++i) runs.push_back({be32(2 * i), be32(1)});
  group::Fetch fetch{{.step = example_step, .source = 0, .message = 0, .runs = {}}};
  fetch.runs = Row<group::Run>(runs.data(), runs.size());
  EXPECT_FALSE(fetch.is_valid());
  fetch.runs = Row<group::Run>(runs.data(), runs.size() - 1);
  EXPECT_FALSE(is_body_refused<group::Fetch>(group_row_with(fetch, 0, {})));
  auto row = group_row_with(fetch, 0, {});
  const group::Run last{be32(1000), be32(1)};
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&last);
  row.insert(row.end(), bytes, bytes + sizeof(last));
  row[3] = static_cast<uint8_t>(row[3] + sizeof(last));
  EXPECT_TRUE(is_body_refused<group::Fetch>(row));

  std::string text(limits::group_sentence_bytes_max, 'x');
  EXPECT_TRUE((group::Fail{.step = example_step, .rank = 0, .sentence = text}.is_valid()));
  text.push_back('x');
  EXPECT_FALSE((group::Fail{.step = example_step, .rank = 0, .sentence = text}.is_valid()));
  EXPECT_TRUE(is_refused_if<group::Fail>(4, {0x40, 0}));
  EXPECT_TRUE(is_refused_if<group::Status>(8, {1, 0, 0, 1}));
  EXPECT_FALSE(is_refused_if<group::Status>(8, {1, 0, 0, 0}));
}

TEST(GroupRecords, the_longest_of_each_kind_fit_an_envelope_together) {
  std::vector<group::Run> runs;
  for (uint32_t i = 0; i < limits::group_runs_max; ++i) runs.push_back({be32(2 * i), be32(1)});
  const std::string text(limits::group_sentence_bytes_max, 'x');
  group::Fetch fetch{{.step = example_step, .source = 0, .message = 0, .runs = {}}};
  fetch.runs = Row<group::Run>(runs.data(), runs.size());
  std::vector<uint8_t> bytes(limits::group_control_bytes_max);
  EnvelopeWriter writer(bytes, golden_header);
  EXPECT_TRUE(writer.try_add(example(group::Join{})) && writer.try_add(example(group::Done{})) &&
              writer.try_add(example(group::Ready{})) && writer.try_add(fetch) &&
              writer.try_add(group::Fail{.step = example_step, .rank = 0, .sentence = text}));
}

// ---- SPEC.md and the golden packets tell the same story ----

/// The hex blocks of the specification fenced as "```KIND NAME", by name.
std::map<std::string, std::vector<uint8_t>> group_blocks_of(const std::string& kind) {
  std::ifstream file(CW_SOURCE_DIR "/dataplane/wire/SPEC.md");
  std::map<std::string, std::vector<uint8_t>> blocks;
  std::vector<uint8_t>* block = nullptr;
  for (std::string line; std::getline(file, line);) {
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

TEST(GroupSpec, its_worked_examples_are_the_golden_packets) {
  const auto records = group_blocks_of("group");
  EXPECT_EQ(records.size(), 14u) << "one example of every record";
  for (const auto& [name, record] : records) {
    const auto& bytes = group_packet(name).bytes;
    EXPECT_EQ(record, std::vector<uint8_t>(bytes.begin() + envelope_header_bytes,
                                           bytes.end() - ptrdiff_t{envelope_mac_bytes}))
        << name;
  }
  const auto headers = group_blocks_of("header");
  EXPECT_EQ(headers.size(), 1u);
  for (const auto& [name, header] : headers) {
    const auto begin =
        group_packet(name).bytes.begin() + 14 + 20 + 8 + 24;  // Ethernet to immediate
    EXPECT_EQ(header, std::vector<uint8_t>(begin, begin + limits::group_header_bytes)) << name;
  }
}

}  // namespace
}  // namespace cw::test
