// Three marks per slot for many messages, in bounded memory.
//
// A bitmap for every slot of every open message would be 1024 x 2^18 bits: 32 MiB for a stream that
// keeps perhaps 80,000 slots in flight. So marks come in pages from one pool. A message has 64 page
// places that together span its slot space; a page is lent when a mark in it is first set and comes
// back when everything below its end is settled. A dry pool is no error: a mark that could not be
// kept reads as unset, and what that means is the policy's to say.
//
// Page: max(512, D / 64) slots. Pool: 2^22 slots, but at least two pages per message and never more
// than 64: 2^22 slots of 4 KiB are 400 Gbit/s for 340 ms. At D = 2^18 and 1024 messages: 2,048
// pages of 1.5 KiB (three marks), 3 MiB.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "policies/parts/array.h"
#include "policies/parts/bits.h"

namespace cw::policy {

class SlotMarks {
 public:
  static constexpr uint32_t pages_per_message = 64;
  static constexpr uint32_t marks = 3;

  /// The pages of one message; zeroed means none. Lives in the message's state.
  struct Map {
    uint16_t page[pages_per_message];
  };

  SlotMarks(uint32_t messages, uint32_t slots_max)
      : SlotMarks({.messages = messages, .data_slots_max = slots_max}) {}
  explicit SlotMarks(const cw_env& env)
      : page_words_(std::max(512u, std::bit_ceil(env.data_slots_max) / pages_per_message) / 64),
        pages_(pages_for(env.messages, env.data_slots_max)),
        words_(env, size_t{pages_} * page_words_ * marks),
        free_(env, pages_) {}

  bool is_ready() const { return words_.is_ready() && free_.is_ready(); }
  size_t free_count() const { return free_.count() + pages_ - used_; }

  /// 64 marks of one kind; zero where there is no page.
  uint64_t word(const Map& map, uint32_t mark, uint32_t index) const {
    const uint16_t page = map.page[index / page_words_];
    return page == 0 ? 0 : words_[at(page, mark, index)];
  }
  bool has(const Map& map, uint32_t mark, uint32_t slot) const {
    return (word(map, mark, slot / 64) >> slot % 64 & 1) != 0;
  }
  bool has_page(const Map& map, uint32_t index) const { return map.page[index / page_words_] != 0; }

  /// Slots for which no page can be had stay unmarked.
  void set(Map& map, uint32_t mark, SlotRun slots) {
    for_words(slots, [&](uint32_t index, uint64_t bits) {
      if (ensure_page(map, index)) words_[at(map.page[index / page_words_], mark, index)] |= bits;
    });
  }
  void set_word(Map& map, uint32_t mark, uint32_t index, uint64_t bits) {
    if (bits != 0 && ensure_page(map, index)) {
      words_[at(map.page[index / page_words_], mark, index)] |= bits;
    }
  }
  void clear(Map& map, uint32_t mark, SlotRun slots) {
    for_words(slots, [&](uint32_t index, uint64_t bits) {
      if (has_page(map, index)) words_[at(map.page[index / page_words_], mark, index)] &= ~bits;
    });
  }
  /// Gives back the pages that lie wholly below `slot`; marks there read as unset.
  void release_below(Map& map, uint32_t slot) {
    const uint32_t whole = std::min(slot / (page_words_ * 64), pages_per_message);
    for (uint32_t i = 0; i < whole; ++i) {
      if (map.page[i] != 0) give_back(map.page[i]);
    }
  }
  void release_all(Map& map) {
    for (uint16_t& page : map.page) {
      if (page != 0) give_back(page);
    }
  }

 private:
  static uint32_t pages_for(uint32_t messages, uint32_t slots_max) {
    const uint32_t page_slots = std::max(512u, std::bit_ceil(slots_max) / pages_per_message);
    const uint32_t per_message = (slots_max + page_slots - 1) / page_slots;
    const uint64_t wanted = std::max((1u << 22) / page_slots, 2 * messages);
    return static_cast<uint32_t>(
        std::min({wanted, uint64_t{messages} * std::max(per_message, 1u), uint64_t{65'535}}));
  }
  template <class Action>
  static void for_words(SlotRun slots, Action&& action) {
    if (slots.is_empty()) return;
    for (uint32_t index = slots.first / 64; index <= (slots.end - 1) / 64; ++index) {
      action(index, mask_of(index, slots.first, slots.end));
    }
  }
  size_t at(uint16_t page, uint32_t mark, uint32_t index) const {
    return (size_t{page} - 1) * page_words_ * marks + mark * page_words_ + index % page_words_;
  }
  bool ensure_page(Map& map, uint32_t index) {
    uint16_t& page = map.page[index / page_words_];
    if (page != 0) return true;
    if (free_count() == 0) return false;
    // Those that were lent before come first: the others need not be there.
    page = free_.is_empty() ? static_cast<uint16_t>(++used_) : free_.pop();
    for (uint32_t i = 0; i < page_words_ * marks; ++i)
      words_[(size_t{page} - 1) * page_words_ * marks + i] = 0;
    return true;
  }
  void give_back(uint16_t& page) {
    free_.try_push(page);
    page = 0;
  }

  uint32_t page_words_;  // of one mark
  uint32_t pages_;
  uint32_t used_ = 0;  // were ever lent
  Array<uint64_t> words_;
  Queue<uint16_t> free_;
};

}  // namespace cw::policy
