#include "dataplane/sdr/link/drain_desk.h"

#include <algorithm>

namespace cw::sdr {
namespace {

/// The first few soon, should some be lost; then for who was deaf.
constexpr uint8_t times_soon = 6;
constexpr Duration first_interval = Duration::from_ms(20);
constexpr Duration interval = Duration::from_s(1), interval_unwanted = Duration::from_s(5);

}  // namespace

void DrainDesk::begin_epoch(Instant now) {
  is_up_ = true;
  number_there_ = 0;
  is_wanted_there_ = false;
  said_ = 0;
  due_ = is_wanted_ ? now : Instant::never();  // what is not wanted need not be said
}

void DrainDesk::end_epoch() {
  is_up_ = is_wanted_there_ = false;
  due_ = Instant::never();
}

void DrainDesk::want(bool is_wanted, Instant now) {
  if (is_wanted == is_wanted_) return;
  is_wanted_ = is_wanted;
  ++number_;
  said_ = 0;
  if (is_up_) due_ = now;
}

bool DrainDesk::offer(EnvelopeWriter& writer, Instant now) {
  if (due_ > now) return true;
  if (!writer.try_add(Draining{.number = number_, .is_wanted = is_wanted_})) return false;
  const Duration rarely = is_wanted_ ? interval : interval_unwanted;
  due_ = now + (said_ < times_soon ? first_interval * (1 << said_) : rarely);
  said_ = std::min<uint8_t>(said_ + 1, times_soon);
  return true;
}

void DrainDesk::on_record(const Draining& record) {
  if (record.number <= number_there_) return;
  number_there_ = record.number;
  is_wanted_there_ = record.is_wanted == 1;
}

}  // namespace cw::sdr
