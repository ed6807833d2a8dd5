// The reasons for which the wire's decoders refuse bytes. They come from a table (errors.def), so
// that counters, reports and documentation cannot disagree.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cw {

enum class WireError : uint8_t {
#define CW_WIRE_ERROR(enumerator, name, sentence) enumerator,
#include "dataplane/wire/errors.def"
#undef CW_WIRE_ERROR
};

inline constexpr const char* wire_error_names[] = {
#define CW_WIRE_ERROR(enumerator, name, sentence) #name,
#include "dataplane/wire/errors.def"
#undef CW_WIRE_ERROR
};

inline constexpr const char* wire_error_sentences[] = {
#define CW_WIRE_ERROR(enumerator, name, sentence) sentence,
#include "dataplane/wire/errors.def"
#undef CW_WIRE_ERROR
};

constexpr const char* name_of(WireError error) {
  return wire_error_names[static_cast<size_t>(error)];
}
constexpr const char* sentence_of(WireError error) {
  return wire_error_sentences[static_cast<size_t>(error)];
}

}  // namespace cw
