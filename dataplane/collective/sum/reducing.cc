#include "dataplane/collective/sum/reducing.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/collective/sum/elements.h"

namespace cw::group {
namespace {

constexpr uint32_t window_min = 64, window_max = 4096;
constexpr Duration answer_min = Duration::from_us(50);

}  // namespace

Reducing::Reducing(DatagramEndpoint& endpoint, const ReducingOptions& options)
    : endpoint_(endpoint),
      options_(options),
      members_(endpoint.membership().members()),
      sums_(options.part_bytes_max / bytes_of(ElementType::Bf16)) {
  const auto slots =
      static_cast<uint32_t>(options.part_bytes_max / limits::group_payload_bytes_min + 1);
  for (auto& each : staging_) each.resize(options.part_bytes_max);
  for (size_t lane = 0; lane < lanes; ++lane) added_.emplace_back(slots);
}

void Reducing::begin(const Work& work) {
  CW_ASSERT(!is_begun() && work.shape.part_bytes <= options_.part_bytes_max);
  work_ = work;
  parts_.emplace(work.shape);
  Slots::Shape one = work.shape;
  one.sources = 1;
  part_.emplace(one);
  round_ = fetched_ = 0;
  is_open_ = false;
  // What the line carries in two round trips: the one that is over, and the one that begins.
  const uint16_t rank = endpoint_.membership().rank();
  const uint64_t ahead = work.rate.bytes_in(endpoint_.rtt(rank) * 2).count();
  window_ = static_cast<uint32_t>(
      std::clamp<uint64_t>(ahead / endpoint_.packet_bytes(), window_min, window_max));
  endpoint_.open_outbox(work.index, work.step, *parts_, work.input);
  const uint64_t own = work.shape.part_bytes * rank;
  if (work.element == ElementType::Bf16) {
    widen_all(work.input + own, sums_.data(), work.shape.part_bytes / 2);
  } else {
    std::memcpy(work.output, work.input + own, work.shape.part_bytes);
  }
  if (rounds() > 0) return;
  for (uint32_t slot = 0; slot < part_->count(); ++slot) finish_slot(slot);
}

void Reducing::open(Instant now) {
  if (is_open_) return;
  is_open_ = true;
  for (uint32_t round = 1; round <= lanes; ++round) begin_round(round);
  ask(now);
}

void Reducing::end() {
  if (!is_begun()) return;
  endpoint_.close_outbox(work_->index);
  for (size_t lane = 0; lane < lanes; ++lane) {
    if (pulls_[lane].is_begun()) endpoint_.close_inbox(lane);
    pulls_[lane].end();
  }
  work_.reset();
}

void Reducing::begin_round(uint32_t round) {
  if (round > rounds()) return;
  const uint32_t rank = endpoint_.membership().rank();
  const auto from = static_cast<uint16_t>((rank + members_ - round) % members_);
  const size_t lane = lane_of(round);
  added_[lane].clear(part_->count());
  endpoint_.open_inbox(lane,
                       {.step = work_->step, .peer = from, .message = endpoint_.message_from(from)},
                       *part_, staging_[lane].data());
  pulls_[lane].begin(from, endpoint_.inbox(lane), window_ / 4);
}

// ---- asking ----

/// What is ahead of an answer is what was asked for before it, and what its source owes to others:
/// another one in its turn, or a few where members are not in step.
PullTimes Reducing::times_of(const Pull& pull) const {
  const Duration ahead =
      work_->rate.time_for(Bytes(uint64_t{window_} * endpoint_.packet_bytes())) * 4;
  const uint16_t from = pull.from();
  return {std::max(answer_min, endpoint_.rtt(from) + endpoint_.deviation(from) * 4 + ahead),
          options_.reorder};
}

/// The earlier round first: what it does not need of the window is the later one's.
void Reducing::ask(Instant now) {
  uint32_t outstanding = 0;
  for (const Pull& each : pulls_) outstanding += each.is_begun() ? each.outstanding() : 0;
  for (uint32_t round = round_ + 1; round <= round_ + lanes; ++round) {
    Pull& pull = pulls_[lane_of(round)];
    if (!pull.is_begun()) continue;
    while (outstanding < window_) {
      const uint32_t before = pull.outstanding();
      const auto next = pull.next(window_ - outstanding, times_of(pull), now);
      if (!next) break;
      outstanding += pull.outstanding() - before;
      say(round, *next, now);
    }
    if (!pull.is_all_asked()) return;
  }
}

void Reducing::say(uint32_t round, size_t ask, Instant now) {
  const size_t lane = lane_of(round);
  const auto about = static_cast<uint32_t>(about_bit | lane << 8 | ask);
  (void)endpoint_.try_say({RecordType::Fetch, pulls_[lane].from(), about}, now);
}

bool Reducing::write(uint32_t about, EnvelopeWriter& writer) const {
  if (!is_begun()) return false;
  const Pull& pull = pulls_[about >> 8 & 1];
  std::array<Run, limits::group_runs_max> runs;
  constexpr size_t beside = record_header_bytes + 12;
  if (writer.body_room() < beside + sizeof(Run)) return false;
  const size_t most = std::min(runs.size(), (writer.body_room() - beside) / sizeof(Run));
  const size_t count = pull.runs_of(about & 0xff, std::span(runs).first(most));
  if (count == 0) return false;
  Fetch fetch;
  fetch.step = work_->step;
  fetch.source = pull.from();
  fetch.message = (endpoint_.membership().rank() + members_ - pull.from()) % members_;
  fetch.runs = Row<Run>(runs.data(), count);
  return writer.try_add(fetch);
}

bool Reducing::on_time(Instant now) {
  if (now < due()) return false;
  for (uint32_t round = round_ + 1; round <= round_ + lanes; ++round) {
    Pull& pull = pulls_[lane_of(round)];
    if (!pull.is_begun()) continue;
    while (const auto late = pull.overdue(times_of(pull), now)) {
      fetched_ += pull.missing_of(*late);
      say(round, *late, now);
    }
  }
  return true;
}

Instant Reducing::due() const {
  Instant due = Instant::never();
  if (!is_begun() || !is_open_) return due;
  for (const Pull& each : pulls_) {
    if (each.is_begun()) due = std::min(due, each.due());
  }
  return due;
}

void Reducing::on_gap(Duration gap) {
  for (Pull& each : pulls_) each.on_gap(gap);
}

std::optional<Reducing::Unanswered> Reducing::longest_unanswered() const {
  std::optional<Unanswered> longest;
  for (const Pull& each : pulls_) {
    if (!is_begun() || !each.is_begun()) continue;
    for (size_t i = 0; i < Pull::asks_max; ++i) {
      if (each.tries(i) <= (longest ? longest->tries : 1u)) continue;
      longest = Unanswered{each.from(), each.tries(i), each.first(i)};
    }
  }
  return longest;
}

// ---- answering ----

void Reducing::answer(uint16_t from, const Fetch& fetch, Instant now) {
  for (const Run& run : fetch.runs) {
    if (run.first.host() + run.count.host() > part_->count()) return;
    const SlotRow row{.landing = work_->index,
                      .is_message = true,
                      .kind = Kind::Fetched,
                      .to = from,
                      .first = run.first.host(),
                      .count = run.count.host()};
    if (!endpoint_.try_push(row, now)) return;
  }
}

// ---- adding up ----

bool Reducing::on_placed(std::span<const Placed> placed, Instant now) {
  if (!is_begun()) return false;
  uint32_t touched = 0;
  std::array<uint32_t, lanes> newest{};
  for (const Placed& each : placed) {
    if (!each.is_message || !each.is_new) continue;
    touched |= 1u << each.landing;
    newest[each.landing] = std::max(newest[each.landing], each.slot);
    add_slot(each.slot);
  }
  if (touched == 0) return false;
  for (size_t lane = 0; lane < lanes; ++lane) {
    Pull& pull = pulls_[lane];
    if ((touched >> lane & 1) == 0 || !pull.is_begun()) continue;
    if (const auto took = pull.settle(newest[lane], times_of(pull), now)) {
      endpoint_.membership().row(pull.from()).note_rtt(*took);
    }
  }
  end_rounds();
  ask(now);
  return true;
}

void Reducing::end_rounds() {
  while (round_ < rounds() && pulls_[lane_of(round_ + 1)].is_complete()) {
    const size_t lane = lane_of(++round_);
    endpoint_.close_inbox(lane);
    pulls_[lane].end();
    begin_round(round_ + lanes);
  }
}

/// What has come of it in the open rounds and has not been added up, in their order.
void Reducing::add_slot(uint32_t slot) {
  try_add(round_ + 1, slot);
  if (added_[lane_of(round_ + 1)].has(slot)) try_add(round_ + 2, slot);
}

void Reducing::try_add(uint32_t round, uint32_t slot) {
  const size_t lane = lane_of(round);
  if (!pulls_[lane].is_begun() || !endpoint_.inbox(lane).has(slot)) return;
  if (!added_[lane].try_set(slot)) return;
  const uint64_t at = part_->offset_of(slot);
  const uint32_t bytes = part_->bytes_of(slot);
  const uint8_t* const more = staging_[lane].data() + at;
  if (work_->element == ElementType::Bf16) {
    add_bf16(sums_.data() + at / 2, more, bytes / 2);
  } else {
    add_f32(work_->output + at, more, bytes / 4);
  }
  if (round == rounds()) finish_slot(slot);
}

void Reducing::finish_slot(uint32_t slot) {
  if (work_->element != ElementType::Bf16) return;
  const uint64_t at = part_->offset_of(slot);
  narrow_all(sums_.data() + at / 2, work_->output + at, part_->bytes_of(slot) / 2);
}

}  // namespace cw::group
