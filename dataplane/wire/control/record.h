// Rows of records, the framing that envelopes and descriptions share (SPEC.md 5):
//
//   | type 1 | flags 1 | body length 2 | body | zero pad to a multiple of 4 |
//
// A record is a plain struct with a `type`, a list of `fields` (fields.h) and `is_valid()`: what
// its bytes must obey whoever reads them. Whether a value suits this gateway's limits and config is
// for the reader of the struct to say, who can name the value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/wire/fields.h"

namespace cw {

enum class ControlError : uint8_t {
#define CW_CONTROL_ERROR(reason, name, sentence) name,
#include "dataplane/wire/control_errors.def"
#undef CW_CONTROL_ERROR
};

/// What the error means, for people.
const char* sentence(ControlError error);

inline constexpr size_t record_header_bytes = 4;
inline constexpr uint8_t record_flag_skippable = 0x80;  ///< may be skipped by who does not know it

constexpr size_t padded_to_4(size_t bytes) { return (bytes + 3) & ~size_t{3}; }

/// One framed record of a row; a view into it.
struct RecordView {
  uint8_t type = 0;
  uint8_t flags = 0;
  std::span<const uint8_t> body;
  std::span<const uint8_t> bytes;  ///< all of it: header, body and pad
};

/// The types a reader knows, as bits; those from record_types_max on are unknown to this version.
using RecordTypes = uint64_t;
inline constexpr uint32_t record_types_max = 8 * sizeof(RecordTypes);
template <class... Record>
constexpr RecordTypes types_of = ((RecordTypes{1} << std::to_underlying(Record::type)) | ...);

/// Walks a hostile row record by record, never beyond its end. Unknown records that say they may be
/// skipped are skipped; any other breach of the framing ends the walk with an error.
class RecordReader {
 public:
  RecordReader(std::span<const uint8_t> row, RecordTypes known) : rest_(row), known_(known) {}

  /// The next record of a known type; nothing at the end of the row or at an error.
  std::optional<RecordView> next();
  std::optional<ControlError> error() const { return error_; }
  /// Types of the records seen so far, skipped ones not included.
  RecordTypes seen() const { return seen_; }

 private:
  std::expected<RecordView, ControlError> take();

  std::span<const uint8_t> rest_;
  RecordTypes known_;
  RecordTypes seen_ = 0;
  std::optional<ControlError> error_;
};

/// Reads the body of a record whose type is Record's [C-15]; it is exactly as long as its fields
/// [C-53]. Views in the result point into the
/// packet.
template <class Record>
std::expected<Record, ControlError> parse(const RecordView& view) {
  Record record;
  FieldReader reader(view.body);
  Record::fields(record, reader);
  if (!reader.is_complete() || !record.is_valid()) return std::unexpected(ControlError::RecordBody);
  return record;
}

/// Bytes that the record takes in a row: header, body, pad.
template <class Record>
size_t bytes_in_row(const Record& record) {
  FieldCounter counter;
  Record::fields(record, counter);
  return record_header_bytes + padded_to_4(counter.bytes());
}

/// Appends records to a buffer of the caller's.
class RecordWriter {
 public:
  explicit RecordWriter(std::span<uint8_t> buffer) : buffer_(buffer) {}

  /// Appends a valid record. False when it does not fit; the buffer is then as it was.
  template <class Record>
  bool try_add(const Record& record) {
    CW_ASSERT(record.is_valid());
    FieldCounter counter;
    Record::fields(record, counter);
    uint8_t* body = try_frame(std::to_underlying(Record::type), counter.bytes());
    if (body == nullptr) return false;
    FieldWriter writer(body);
    Record::fields(record, writer);
    return true;
  }

  size_t bytes() const { return used_; }
  /// The longest body that still fits.
  size_t body_room() const;

 private:
  /// Writes header and pad and returns where the body goes; null when there is no room.
  uint8_t* try_frame(uint8_t type, size_t body_bytes);

  std::span<uint8_t> buffer_;
  size_t used_ = 0;
};

/// All records of a row of a kind, for whoever must treat every type.
template <class... Record>
struct RecordList {
  static constexpr RecordTypes types = types_of<Record...>;

  /// Calls `visit` with the parsed record. False when the body is malformed or the type not listed.
  static bool visit(const RecordView& view, auto&& visitor) {
    return (try_visit<Record>(view, visitor) || ...);
  }
  /// Calls `visitor` with an empty record of every type.
  static void for_each_type(auto&& visitor) { (visitor(Record{}), ...); }

 private:
  template <class One>
  static bool try_visit(const RecordView& view, auto& visitor) {
    if (view.type != std::to_underlying(One::type)) return false;
    const auto record = parse<One>(view);
    if (record) visitor(*record);
    return record.has_value();
  }
};

}  // namespace cw
