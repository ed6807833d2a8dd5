#include "dataplane/wire/control/record.h"

#include <algorithm>

#include "dataplane/wire/control/record_type.h"

namespace cw {
namespace {

struct RecordHeader {
  uint8_t type = 0;
  uint8_t flags = 0;
  uint16_t body_bytes = 0;

  static void fields(auto& header, auto& wire) {
    wire(header.type, header.flags, header.body_bytes);
  }
};

}  // namespace

const char* sentence(ControlError error) {
  switch (error) {
#define CW_CONTROL_ERROR(reason, name, text) \
  case ControlError::name:                   \
    return text;
#include "dataplane/wire/control_errors.def"
#undef CW_CONTROL_ERROR
  }
  return "";
}

std::optional<RecordView> RecordReader::next() {
  while (!error_ && !rest_.empty()) {
    const auto view = take();
    if (!view) {
      error_ = view.error();
      break;
    }
    const bool is_known = view->type < record_types_max && (known_ >> view->type & 1) != 0;
    const uint8_t flags = is_skippable(view->type) ? record_flag_skippable : 0;
    if (is_known && view->flags == flags) {
      seen_ |= RecordTypes{1} << view->type;
      return *view;
    }
    if (is_known || (view->flags & ~record_flag_skippable) != 0) {
      error_ = ControlError::RecordFlags;  // [C-13]
    } else if (view->flags == 0) {
      error_ = ControlError::RecordUnknown;  // [C-12]
    }
  }
  return std::nullopt;
}

/// Cuts one record off the row, whatever its type.
std::expected<RecordView, ControlError> RecordReader::take() {
  if (rest_.size() < record_header_bytes) return std::unexpected(ControlError::RecordShort);
  RecordHeader header;
  FieldReader fields(rest_.first(record_header_bytes));
  RecordHeader::fields(header, fields);
  const size_t bytes = record_header_bytes + padded_to_4(header.body_bytes);
  if (bytes > rest_.size()) return std::unexpected(ControlError::RecordShort);
  const RecordView view{header.type, header.flags,
                        rest_.subspan(record_header_bytes, header.body_bytes), rest_.first(bytes)};
  const auto pad = view.bytes.subspan(record_header_bytes + header.body_bytes);
  if (std::ranges::any_of(pad, [](uint8_t byte) { return byte != 0; })) {
    return std::unexpected(ControlError::RecordPad);  // [C-11]
  }
  rest_ = rest_.subspan(bytes);
  return view;
}

size_t RecordWriter::body_room() const {
  const size_t room = (buffer_.size() - used_) & ~size_t{3};
  if (room < record_header_bytes) return 0;
  return std::min<size_t>(room - record_header_bytes, UINT16_MAX);
}

uint8_t* RecordWriter::try_frame(uint8_t type, size_t body_bytes) {
  const size_t bytes = record_header_bytes + padded_to_4(body_bytes);
  if (body_bytes > UINT16_MAX || bytes > buffer_.size() - used_) return nullptr;
  uint8_t* const frame = buffer_.data() + used_;
  std::memset(frame + bytes - 4, 0, 4);  // the pad; what is not pad of it is written over below
  const uint8_t flags = is_skippable(type) ? record_flag_skippable : 0;
  const RecordHeader header{type, flags, static_cast<uint16_t>(body_bytes)};
  FieldWriter fields(frame);
  RecordHeader::fields(header, fields);
  used_ += bytes;
  return frame + record_header_bytes;
}

}  // namespace cw
