// The control packets of the version before: today's decoders take every one, and lose nothing of
// it [C-53].
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "dataplane/wire/control/control.h"
#include "dataplane/wire/control/description.h"
#include "dataplane/wire/control/envelope.h"
#include "dataplane/wire/control/record.h"
#include "tests/golden_packets.h"
#include "tests/unit/wire_control/key.h"

namespace cw::test {
namespace {

std::vector<GoldenPacket> before() {
  return load_golden_packets(CW_SOURCE_DIR "/tests/data/packets/before/control.txt");
}

/// What that version's gateways never sent, and why today's need not understand it.
const std::map<std::string, std::string> skipped = {
    {"swap_prepare", "no gateway showed bit 2 of its capabilities yet, and the body was another"}};

/// Appends each record of a row to `writer` as today's encoder has it; false: one is not
/// understood.
template <class Types, class Writer>
bool copies(RecordReader row, Writer& writer) {
  bool is_written = true;
  while (const auto view = row.next()) {
    const bool is_read =
        Types::visit(*view, [&](const auto& record) { is_written &= writer.try_add(record); });
    if (!is_read) return false;
  }
  return is_written && !row.error();
}

TEST(Before, every_control_packet_comes_back_from_todays_codecs_as_it_was) {
  size_t count = 0;
  for (const GoldenPacket& packet : before()) {
    SCOPED_TRACE(packet.name + ": " + packet.sentence);
    MacKey key = golden_key();
    key.number = packet.bytes.at(3);  // as its two ends would have agreed
    const auto envelope = open_envelope(packet.bytes, key);
    ASSERT_TRUE(envelope) << sentence(envelope.error());
    if (packet.name == "skippable") continue;
    std::vector<uint8_t> bytes(packet.bytes.size());
    EnvelopeWriter writer(bytes, envelope->header);
    const bool is_understood = copies<ControlRecords>(envelope->reader(), writer);
    EXPECT_EQ(is_understood, !skipped.contains(packet.name));
    if (!is_understood) continue;
    bytes.resize(writer.seal(key));
    EXPECT_EQ(bytes, packet.bytes);
    ++count;
  }
  EXPECT_GE(count, 25u);
}

TEST(Before, every_item_of_a_description_comes_back_as_it_was) {
  size_t count = 0;
  for (const GoldenPacket& packet : before()) {
    if (!packet.name.starts_with("item_")) continue;
    SCOPED_TRACE(packet.name);
    const auto envelope = open_envelope(packet.bytes, golden_key());
    ASSERT_TRUE(envelope);
    const auto part = parse<Description>(*envelope->reader().next());
    ASSERT_TRUE(part);
    const std::vector<uint8_t> row(part->bytes.begin(), part->bytes.end());
    std::vector<uint8_t> again(row.size());
    RecordWriter writer(again);
    EXPECT_TRUE(copies<DescriptionItems>(RecordReader(row, DescriptionItems::types), writer));
    EXPECT_EQ(again, row);
    ++count;
  }
  EXPECT_GE(count, 6u);
}

TEST(Before, a_record_that_it_could_skip_is_skipped_still) {
  for (const GoldenPacket& packet : before()) {
    if (packet.name != "skippable") continue;
    const auto envelope = open_envelope(packet.bytes, golden_key());
    ASSERT_TRUE(envelope);
    RecordReader reader = envelope->reader();
    const auto view = reader.next();
    ASSERT_TRUE(view);
    EXPECT_TRUE(parse<Echo>(*view));
    EXPECT_FALSE(reader.next());
    return;
  }
  FAIL() << "there is none";
}

}  // namespace
}  // namespace cw::test
