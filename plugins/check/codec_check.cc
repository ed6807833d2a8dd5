#include "plugins/check/table_words.h"

namespace cw::plugins {
namespace {

Complaint object_to_functions(const cw_codec_ops& table) {
  const bool slides = (table.traits & CW_CODEC_SLIDING) != 0;
  const bool is_in_steps = (table.traits & CW_CODEC_IN_STEPS) != 0;
  if (table.sizes == nullptr) return "has no sizes function";
  if (table.generate == nullptr) return "has no generate function";
  if (!slides && table.encode == nullptr) return "has no encode function";
  if (!slides && table.decode == nullptr) return "has no decode function";
  if (slides && !is_in_steps) return "slides, but does not work in steps";
  if (is_in_steps && (table.start == nullptr || table.take == nullptr || table.give == nullptr)) {
    return "works in steps, but has not all of start, take and give";
  }
  if (slides && table.forget == nullptr) return "slides, but has no forget function";
  return std::nullopt;
}

Complaint object_to_table(const cw_codec_ops& table) {
  if (Complaint complaint = object_to_beginning(table)) return complaint;
  if (table.k_max == 0 || table.m_max == 0)
    return "codes no shards: k_max and m_max are at least 1";
  return object_to_functions(table);
}

}  // namespace

Result<cw_codec_ops> adopt_table(const cw_codec_ops& foreign) {
  return adopt(foreign, CW_CODEC_ABI, offsetof(cw_codec_ops, start), "codec.h");
}

Result<void> check_table(const cw_codec_ops& table) {
  if (Complaint complaint = object_to_table(table)) return failure(*complaint);
  return {};
}

}  // namespace cw::plugins
