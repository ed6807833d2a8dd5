// Control packets: bytes -> open_envelope -> every record parsed -> written again, equal; and what
// is peeked of them before is what they say.
//
// Each input is tried as it is and with its header's fixed fields, length and MAC made right, so
// that the fuzzer gets past the MAC that stops everyone else. The key is that of the golden
// packets.
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/wire/control/description.h"
#include "dataplane/wire/control/envelope.h"
#include "dataplane/wire/slot.h"
#include "tests/fuzz/records.h"

namespace cw {
namespace {

const MacKey key = make_key("causeway golden key");

void read_row(RecordReader reader, auto list);

void read_items(const Description& part) {
  read_row(RecordReader(part.bytes, DescriptionItems::types), DescriptionItems());
}
void read_items(const auto&) {}

/// Reads every record of a row; returns quietly at the first that is malformed.
void read_row(RecordReader reader, auto list) {
  while (const auto view = reader.next()) {
    const bool is_sound = decltype(list)::visit(*view, [&view](const auto& record) {
      comes_back(record, *view);
      read_items(record);
    });
    if (!is_sound) return;
  }
}

/// What it begins with, if that is one.
std::optional<Hello> hello_in_front(const Envelope& envelope) {
  const auto first = envelope.reader().next();
  if (!first || first->type != std::to_underlying(Hello::type)) return std::nullopt;
  const auto hello = parse<Hello>(*first);
  return hello ? std::optional(*hello) : std::nullopt;
}

void open_exactly(const std::vector<uint8_t>& bytes) {
  // A vector's own allocation is exactly as long as its bytes when it is made by copying.
  const std::vector<uint8_t> copy(bytes);
  const EnvelopePeek peek = peek_envelope(copy);
  const auto envelope = open_envelope(copy, key);
  if (!envelope) return;
  CW_ASSERT(peek.header == envelope->header);
  CW_ASSERT(peek.hello == hello_in_front(*envelope));
  read_row(envelope->reader(), ControlRecords());
}

void read_slot(const std::vector<uint8_t>& bytes) {
  const std::vector<uint8_t> copy(bytes);
  const auto slot = parse_slot_header(copy);
  if (!slot) return;
  uint8_t again[slot_header_bytes];
  encode_slot_header(*slot, again);
  CW_ASSERT(std::memcmp(again, copy.data(), sizeof(again)) == 0);
  CW_ASSERT(slot_header_bytes + slot->used_bytes <= copy.size());
}

}  // namespace
}  // namespace cw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t count) {
  std::vector<uint8_t> bytes(data, data + count);
  cw::read_slot(bytes);
  cw::open_exactly(bytes);
  cw::make_genuine(bytes, cw::key);
  cw::open_exactly(bytes);
  return 0;
}
