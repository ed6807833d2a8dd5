#include "dataplane/core/counters.h"

#include "dataplane/base/assert.h"

namespace cw {
namespace {

struct Row {
  std::string_view name, sentence;
};

#define CW_ROW(name, sentence) {#name, sentence},
constexpr Row drop_rows[] = {
#define CW_DROP CW_ROW
#include "dataplane/core/drop_reasons.def"
#undef CW_DROP
};
constexpr Row counter_rows[] = {
#define CW_COUNTER CW_ROW
#include "dataplane/core/counters.def"
#undef CW_COUNTER
};
#undef CW_ROW

template <size_t Count>
const Row& row_at(const Row (&rows)[Count], size_t index) {
  CW_ASSERT(index < Count);
  return rows[index];
}

}  // namespace

std::string_view name_of(DropReason reason) {
  return row_at(drop_rows, static_cast<size_t>(reason)).name;
}
std::string_view sentence_of(DropReason reason) {
  return row_at(drop_rows, static_cast<size_t>(reason)).sentence;
}
std::string_view name_of(Counter counter) {
  return row_at(counter_rows, static_cast<size_t>(counter)).name;
}
std::string_view sentence_of(Counter counter) {
  return row_at(counter_rows, static_cast<size_t>(counter)).sentence;
}

}  // namespace cw
