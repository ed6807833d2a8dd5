// What a scripted host computes for a policy that codes: nothing but which slots would be there.
// It keeps which data every repair slot was made of, so that a sink which decodes another set than
// the source encoded is found out.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "dataplane/policy.h"

namespace cw::policy_test {

/// The repair of one message.
class ScriptedCodes {
 public:
  struct Decoded {
    cw_coded_result result = CW_CODED_OK;
    uint32_t need = 0;
    std::vector<uint32_t> rebuilt;  // data slots
  };

  void encode(const cw_code& code);
  bool is_encoded(uint32_t repair) const { return made_.contains(repair); }
  /// `data` and `repair` are bitmaps of what is in place. Aborts when the set is not the one that
  /// the repair in place was made of.
  Decoded decode(const cw_code& code, const std::vector<uint64_t>& data,
                 const std::vector<uint64_t>& repair) const;

  /// The rule of policy.h for the shape, and for its place in a stream of this kind.
  static bool holds(const cw_code& code, const cw_env& env, uint32_t data_end);

 private:
  struct Origin {
    uint32_t slot_first, slots, rows, k, row, shard, codec;
    bool operator==(const Origin&) const = default;
  };
  std::map<uint32_t, Origin> made_;  // by repair slot
};

bool has_bit(const std::vector<uint64_t>& bits, uint32_t at);

}  // namespace cw::policy_test
