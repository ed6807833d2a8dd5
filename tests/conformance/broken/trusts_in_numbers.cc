// Takes a message for complete when as many slots have come as it has, repair included: as if any
// repair could stand for any data.
#include "tests/conformance/broken/broken.h"
#include "tests/conformance/broken/coding.h"

namespace cw::conformance::broken {
namespace {

struct Policy : Coding<Policy> {
  class Sink final : public policy::CodedSink {
   public:
    explicit Sink(const cw_env& env) : CodedSink(env, settings_of(env)), env_(env) {}

    void on_arrived(const cw_fact_arrived& fact, Instant now) {
      CodedSink::on_arrived(fact, now);
      policy::SinkMessage* message = find_open(fact.message);
      if (message == nullptr || message->received.slots == CW_UNKNOWN || fact.repair == nullptr)
        return;
      const uint32_t there =
          count(fact.data, env_.data_slots_max) + count(fact.repair, env_.repair_slots_max);
      if (there >= message->received.slots) complete(*message);
    }

   private:
    static uint32_t count(const uint64_t* bits, uint32_t end) {
      uint32_t sum = 0;
      for (uint32_t at = 0; at * 64 < end; ++at) {
        sum +=
            static_cast<uint32_t>(std::popcount(cw_word(&bits[at]) & policy::mask_of(at, 0, end)));
      }
      return sum;
    }
    const cw_env env_;
  };
  static constexpr const char* name = "trusts_in_numbers";
};

}  // namespace

const cw_policy_ops* trusts_in_numbers() { return &policy::Table<Policy>::ops; }

}  // namespace cw::conformance::broken
