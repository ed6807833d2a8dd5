// When a code was not enough, sends the whole message again.
#include "tests/conformance/broken/broken.h"
#include "tests/conformance/broken/coding.h"

namespace cw::conformance::broken {
namespace {

struct Policy : Coding<Policy> {
  class Source final : public policy::CodedSource {
   public:
    explicit Source(const cw_env& env) : CodedSource(env, settings_of(env)) {}

    void on_note(const cw_fact_note& fact, Instant now) {
      CodedSource::on_note(fact, now);
      policy::NoteReader reader({fact.bytes, fact.count});
      uint32_t complete = 0;
      while (reader.next_completed(complete)) {
      }
      policy::Section section;
      uint64_t word = 0;
      while (reader.next_section(section)) {
        if (section.overdue == policy::note_layout::wanted) wanted_ = section.message;
        for (uint32_t i = 0; i < section.word_count && reader.next_word(word); ++i) {
        }
      }
    }
    void decide(Instant now, policy::Out& out) {
      CodedSource::decide(now, out);
      const policy::SourceMessage* message = find_open(wanted_);
      // Only what is coded: the rest it resends as it should.
      if (message == nullptr || encoded_ == 0 || message->sent_end == 0) return;
      const bool has_room = out.send({.message = wanted_,
                                      .first = 0,
                                      .count = message->sent_end,
                                      .stride = 1,
                                      .kind = CW_SEND_RESEND,
                                      .path_choice = CW_CHOOSE_ANY,
                                      .path = 0,
                                      .not_before_ns = 0,
                                      .drop_after_ns = 0});
      if (has_room) wanted_ = CW_UNKNOWN;
    }
    void on_coded(const cw_fact_coded& fact, Instant now) {
      CodedSource::on_coded(fact, now);
      ++encoded_;
    }

   private:
    uint32_t wanted_ = CW_UNKNOWN;
    uint64_t encoded_ = 0;
  };
  static constexpr const char* name = "throws_away";
};

}  // namespace

const cw_policy_ops* throws_away() { return &policy::Table<Policy>::ops; }

}  // namespace cw::conformance::broken
