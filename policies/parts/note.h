// The acknowledgement note of a sink: messages that are complete, and windows of bitmaps.
//
//   version 1 | reserved 1 | completed 2 | completed x sequence 4 | section ...
//   section: message 4 | cumulative 4 | overdue 4 | first word 4 | words 2 | run ...
//   run:     kind (2 bits) and length - 1 (6 bits) in one byte; explicit: 8 bytes for every word
//
// All numbers are big-endian. Slots below `cumulative` are in place. Bit s of the window is slot s;
// a set bit is in place, a clear bit below `overdue` is missed and wanted again, a clear bit above
// it means nothing yet. A section whose `overdue` is `wanted` turns this around: a set bit is
// missed and wanted again, a clear one means nothing; so says a sink that can do without some of
// its holes. The window comes in runs of up to 64 words that are all full, all empty, or explicit:
// 76,000 slots in flight with a loss of 1e-4 take about 100 bytes, 300,000 slots that are all
// missing 74, and no window takes more than 1.13 bits per slot.
//
// The reader treats every byte as hostile: it never reads outside the note, and yields at most 64
// words per byte. Whether numbers make sense for a message is checked by the caller.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "dataplane/base/endian.h"

namespace cw::policy {

namespace note_layout {
inline constexpr uint8_t version = 1;
inline constexpr uint32_t header_bytes = 4;
inline constexpr uint32_t section_bytes = 18;
inline constexpr uint32_t bytes_min = header_bytes + section_bytes + 1 + 8;
inline constexpr uint32_t wanted = 0xffffffff;  // as `overdue`: the bits say what is wanted
inline constexpr uint8_t empty_run = 0x00, full_run = 0x40, explicit_run = 0x80;
inline constexpr uint8_t kind_mask = 0xc0, length_mask = 0x3f;
}  // namespace note_layout

struct Section {
  uint32_t message = 0, cumulative = 0, overdue = 0;
  uint32_t word_first = 0;
  uint32_t word_count = 0;
};

/// Writes one note into the given bytes: first the completed messages, then sections.
class NoteWriter {
 public:
  /// `bytes` holds at least note_layout::bytes_min.
  explicit NoteWriter(std::span<uint8_t> bytes) : bytes_(bytes) {
    put(be16(static_cast<uint16_t>(note_layout::version << 8)));
    put(be16(0));
  }

  uint32_t used() const { return used_; }
  bool is_empty() const { return used_ == note_layout::header_bytes; }

  /// False when full.
  bool completed(uint32_t message) {
    if (bytes_.size() - used_ < sizeof(be32)) return false;
    put(be32(message));
    const be16 count(++completed_count_);
    std::memcpy(bytes_.data() + 2, &count, sizeof count);
    return true;
  }
  /// Writes as many of the section's words as fit and returns how many: 0 when not even one does.
  /// Bits may appear in the bitmap meanwhile; the note then says either.
  template <class WordAt>
  uint32_t section(const Section& section, const WordAt& word_at) {
    const bool fits = bytes_.size() - used_ >= note_layout::section_bytes + 1 + 8;
    if (!fits) return 0;
    put(be32(section.message));
    put(be32(section.cumulative));
    put(be32(section.overdue));
    put(be32(section.word_first));
    uint8_t* const count_at = bytes_.data() + used_;
    put(be16(0));
    uint32_t words = 0;
    run_at_ = nullptr;
    while (words < std::min<uint32_t>(section.word_count, UINT16_MAX) &&
           put_word(word_at(section.word_first + words))) {
      ++words;
    }
    const be16 count(static_cast<uint16_t>(words));
    std::memcpy(count_at, &count, sizeof count);
    return words;
  }

 private:
  /// Adds a word to the run under way if it is of its kind, else begins a run. False when full.
  bool put_word(uint64_t word) {
    using namespace note_layout;
    const uint8_t kind = word == 0 ? empty_run : word == ~uint64_t{0} ? full_run : explicit_run;
    const bool joins = run_at_ != nullptr && (*run_at_ & kind_mask) == kind &&
                       (*run_at_ & length_mask) != length_mask;
    const size_t need = (joins ? 0 : 1) + (kind == explicit_run ? sizeof(be64) : 0);
    if (bytes_.size() - used_ < need) return false;
    if (joins) {
      ++*run_at_;
    } else {
      run_at_ = bytes_.data() + used_++;
      *run_at_ = kind;
    }
    if (kind == explicit_run) put(be64(word));
    return true;
  }
  template <class Field>
  void put(Field field) {
    std::memcpy(bytes_.data() + used_, &field, sizeof field);
    used_ += static_cast<uint32_t>(sizeof field);
  }

  std::span<uint8_t> bytes_;
  uint32_t used_ = 0;
  uint16_t completed_count_ = 0;
  uint8_t* run_at_ = nullptr;  // the run byte under way
};

/// Reads a note from front to back. A false answer ends the note, be it complete or damaged.
class NoteReader {
 public:
  explicit NoteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {
    be16 head(0), completed(0);
    if (get(head) && get(completed) && head.host() >> 8 == note_layout::version) {
      completed_left_ = completed.host();
    } else {
      bytes_ = {};
    }
  }

  bool next_completed(uint32_t& message) {
    be32 sequence(0);
    if (completed_left_ == 0 || !get(sequence)) return false;
    --completed_left_;
    message = sequence.host();
    return true;
  }
  /// After next_completed() has said false. The words of the section must be read before the next.
  bool next_section(Section& section) {
    be32 message(0), cumulative(0), overdue(0), word_first(0);
    be16 words(0);
    if (completed_left_ > 0 || !get(message) || !get(cumulative) || !get(overdue) ||
        !get(word_first) || !get(words)) {
      return false;
    }
    run_left_ = 0;
    section = {message.host(), cumulative.host(), overdue.host(), word_first.host(), words.host()};
    return true;
  }
  /// The next word of the section's window.
  bool next_word(uint64_t& word) {
    using namespace note_layout;
    if (run_left_ == 0) {
      if (bytes_.empty()) return false;
      run_kind_ = bytes_.front() & kind_mask;
      run_left_ = (bytes_.front() & length_mask) + 1u;
      bytes_ = bytes_.subspan(1);
    }
    --run_left_;
    be64 bits(0);
    if (run_kind_ != empty_run && run_kind_ != full_run && !get(bits)) return false;
    word = run_kind_ == full_run ? ~uint64_t{0} : bits.host();
    return true;
  }

 private:
  template <class Field>
  bool get(Field& field) {
    if (bytes_.size() < sizeof field) return false;
    std::memcpy(&field, bytes_.data(), sizeof field);
    bytes_ = bytes_.subspan(sizeof field);
    return true;
  }

  std::span<const uint8_t> bytes_;
  uint32_t completed_left_ = 0;
  uint32_t run_left_ = 0;
  uint8_t run_kind_ = 0;
};

}  // namespace cw::policy
