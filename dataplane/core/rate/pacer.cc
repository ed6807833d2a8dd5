#include "dataplane/core/rate/pacer.h"

#include <numeric>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

constexpr uint64_t bit_ns_per_byte = 8ull * 1'000'000'000;

bool is_overhead(Priority priority) {
  return priority == Priority::Resend || priority == Priority::Repair;
}

constexpr Priority priorities[] = {Priority::Control, Priority::Resend, Priority::Data,
                                   Priority::Repair};

}  // namespace

bool Pacer::ReadiesLater::operator()(const Item& a, const Item& b) const {
  return a.not_before != b.not_before ? a.not_before > b.not_before : a.age > b.age;
}

bool Pacer::ExpiresLater::operator()(const Item& a, const Item& b) const {
  return a.drop_after != b.drop_after ? a.drop_after > b.drop_after : a.age > b.age;
}

Pacer::Pacer(const PacerOptions& options, TableMemory* queues)
    : options_(options),
      fifos_{Ring<Item>(options.capacity_packets[0], queues), Ring<Item>(1),
             Ring<Item>(options.capacity_packets[2], queues),
             Ring<Item>(options.capacity_packets[3], queues)},
      resends_(options.capacity_packets[1], queues),
      waiting_(std::accumulate(options.capacity_packets.begin(), options.capacity_packets.end(),
                               size_t{0}),
               queues) {
  CW_ASSERT(options.overhead_ppm <= 1'000'000);
  CW_ASSERT(options.overhead_burst_bytes >= limits::frame_bytes_max);
  CW_ASSERT(options.horizon.ns() >= 0);
  set_rate(options.rate);
  if (options.overhead_ppm > 0) allowance_ = allowance_max();
}

void Pacer::set_rate(Rate rate) {
  CW_ASSERT(rate.bps() > 0 && rate <= Rate::from_gbps(9'000));
  // The rest counts in shares of the old rate; rounding it up costs a nanosecond once.
  if (line_rest_ > 0) line_free_ += Duration::from_ns(1);
  line_rest_ = 0;
  line_time_ = {};
  options_.rate = rate;
  burst_time_ = rate.time_for(Bytes(options_.burst_bytes));
  pause_time_ = rate.time_for(Bytes(options_.pause_bytes));
  // What a pause took is owed in bytes: at a higher rate it takes less time.
  paused_ = std::min(paused_, pause_time_);
}

void Pacer::change(const PacerOptions& options) {
  CW_ASSERT(options.overhead_ppm <= 1'000'000);
  CW_ASSERT(options.overhead_burst_bytes >= limits::frame_bytes_max);
  CW_ASSERT(options.packet_overhead_bytes == options_.packet_overhead_bytes);
  const auto capacities = options_.capacity_packets;
  options_ = options;
  options_.capacity_packets = capacities;
  allowance_ = std::min(allowance_, options_.overhead_ppm > 0 ? allowance_max() : 0);
  set_rate(options.rate);
}

void Pacer::change_rate(Rate rate, Instant now) {
  const Rate before = options_.rate;
  set_rate(rate);
  if (line_free_ <= now) return;
  const auto bit_ns = static_cast<unsigned __int128>((line_free_ - now).ns()) * before.bps();
  line_free_ = now + Duration::from_ns(static_cast<int64_t>(bit_ns / rate.bps() + 1));
}

void Pacer::on_pause(Duration pause, Instant now) {
  const Duration rest = lag_max(now) - burst_time_;
  paused_ = std::min(rest + pause, pause_time_);
  paused_until_ = now;
}

void Pacer::give_way(uint64_t bytes, Instant now) {
  line_free_ = std::max(line_free_, now - lag_max(now)) + options_.rate.time_for(Bytes(bytes));
  line_rest_ = 0;
  idle_from_ = std::max(idle_from_, line_free_);
}

// What is not made up for in the time of the pause is not wanted.
Duration Pacer::lag_max(Instant now) const {
  return burst_time_ + std::max(paused_ - (now - paused_until_), Duration());
}

bool Pacer::try_push(const Departure& departure, Instant now) {
  const uint32_t bytes = departure.bytes + options_.packet_overhead_bytes;
  CW_ASSERT(departure.bytes > 0 && bytes <= limits::frame_bytes_max && departure.count > 0);
  if (free_packets(departure.priority) < departure.count) return false;
  const auto fill = [&](Item& item) {
    item.cookie = departure.cookie;
    item.age = pushed_;
    item.not_before = departure.not_before;
    item.drop_after = departure.drop_after;
    item.cookie_step = departure.cookie_step;
    item.count = departure.count;
    item.bytes = bytes;
    item.priority = departure.priority;
  };
  class_of(departure.priority).packets += departure.count;
  const bool is_ready = departure.not_before <= now;
  if (is_ready && departure.priority != Priority::Resend) {
    // Nearly all: made where it waits. Put together elsewhere and copied, it would be read wider
    // than it had just been written, and wait for every store before it.
    fill(fifo_of(departure.priority).grow());
    class_of(departure.priority).bytes += uint64_t{bytes} * departure.count;
  } else {
    Item item;
    fill(item);
    if (is_ready) {
      make_ready(item);
    } else {
      CW_ASSERT(waiting_.try_push(item));
    }
  }
  pushed_ += departure.count;
  return true;
}

void Pacer::make_ready(const Item& item) {
  const bool is_taken = item.priority == Priority::Resend ? resends_.try_push(item)
                                                          : fifo_of(item.priority).try_push(item);
  CW_ASSERT(is_taken);
  class_of(item.priority).bytes += uint64_t{item.bytes} * item.count;
}

const Pacer::Item* Pacer::head_of(Priority priority) const {
  if (priority == Priority::Resend) return resends_.is_empty() ? nullptr : &resends_.front();
  const Ring<Item>& fifo = fifo_of(priority);
  return fifo.is_empty() ? nullptr : &fifo.front();
}

/// The first packet of a class has been dealt with.
inline void Pacer::take_off(Priority priority) {
  const bool is_resend = priority == Priority::Resend;
  // What is left of a row is older than all behind it, as it was.
  Item& head = is_resend ? resends_.front() : fifo_of(priority).front();
  class_of(priority).bytes -= head.bytes;
  --class_of(priority).packets;
  if (head.try_advance()) return;
  if (is_resend) {
    (void)resends_.pop();
  } else {
    fifo_of(priority).drop_front();
  }
}

// Has a head that the overhead budget lets pass.
bool Pacer::is_allowed(Priority priority) const {
  const Item* head = head_of(priority);
  return head != nullptr && (!is_overhead(priority) || head->bytes * million <= allowance_);
}

// The item that would leave at `departure`, or null when none may.
const Pacer::Item* Pacer::choose(Instant departure) const {
  if (const Item* control = head_of(Priority::Control)) return control;
  const Item* data = head_of(Priority::Data);
  if (is_allowed(Priority::Resend)) {
    const Item& resend = resends_.front();
    const bool is_urgent = resend.drop_after - departure <= options_.resend_slack;
    if (is_urgent || data == nullptr || resend.age < data->age) return &resend;
  }
  if (data != nullptr) return data;
  return is_allowed(Priority::Repair) ? head_of(Priority::Repair) : nullptr;
}

// The line is taken from the moment it was free, or, after an idle time, from as far back as the
// burst allows. Departures of a burst then bear the same time while the line catches up.
inline void Pacer::occupy_line(const Item& item, Instant now) {
  if (line_free_ < now - burst_time_) {
    const Instant earliest = now - lag_max(now);
    if (line_free_ < earliest) {
      line_free_ = earliest;
      line_rest_ = 0;
    }
  }
  const LineTime& time = line_time_of(item.bytes);
  line_free_ += Duration::from_ns(static_cast<int64_t>(time.whole_ns));
  line_rest_ += time.rest;
  if (line_rest_ >= options_.rate.bps()) {
    line_rest_ -= options_.rate.bps();
    line_free_ += Duration::from_ns(1);
  }
  // Line time that was accounted for as idle, before a burst caught up with it, is not twice.
  const bool is_fresh = line_free_ > idle_from_;
  if (is_fresh) idle_from_ = line_free_;
  if (item.priority == Priority::Data && is_fresh) earn(item.bytes);
  if (is_overhead(item.priority)) allowance_ -= item.bytes * million;
  CW_DCHECK(allowance_ >= 0);
}

// A division per packet is what its departure would take longest for.
const Pacer::LineTime& Pacer::line_time_of(uint32_t bytes) {
  if (line_time_.bytes != bytes) {
    const uint64_t bit_ns = bytes * bit_ns_per_byte;
    line_time_ = {bytes, bit_ns / options_.rate.bps(), bit_ns % options_.rate.bps()};
  }
  return line_time_;
}

void Pacer::earn(uint64_t bytes) {
  const int64_t earned = static_cast<int64_t>(bytes) * options_.overhead_ppm;
  allowance_ = std::min(allowance_ + earned, allowance_max());
}

Pacer::Counts Pacer::depart(Instant now, std::span<Departed> departed,
                            std::span<uint64_t> expired) {
  Counts counts;
  while (!waiting_.is_empty() && waiting_.front().not_before <= now) make_ready(waiting_.pop());
  const auto expire_head = [&](Priority priority) {
    if (counts.expired == expired.size()) return false;
    expired[counts.expired++] = head_of(priority)->cookie;
    take_off(priority);
    ++expired_;
    return true;
  };
  for (const Priority priority : priorities) {
    while (head_of(priority) != nullptr && head_of(priority)->drop_after < now) {
      if (!expire_head(priority)) return counts;
    }
  }
  earn_idle(now);
  while (counts.departed < departed.size() && line_free_ <= now + options_.horizon) {
    const Instant at = std::max(line_free_, now);
    const Item* item = choose(at);
    if (item == nullptr) break;
    if (at > item->drop_after) {
      if (!expire_head(item->priority)) break;
      continue;
    }
    departed[counts.departed++] = {item->cookie, at};
    ++departed_;
    occupy_line(*item, now);
    take_off(item->priority);
  }
  return counts;
}

void Pacer::earn_idle(Instant until) {
  if (until <= idle_from_) return;
  if (allowance_ < allowance_max()) {
    const auto idle_bit_ns =
        static_cast<unsigned __int128>((until - idle_from_).ns()) * options_.rate.bps();
    const auto earned = idle_bit_ns * options_.overhead_ppm / bit_ns_per_byte;
    const auto missing = static_cast<uint64_t>(allowance_max() - allowance_);
    allowance_ += static_cast<int64_t>(std::min<unsigned __int128>(earned, missing));
  }
  idle_from_ = until;
}

// When the overhead budget lets `item` pass if the line stays idle until then.
Instant Pacer::allowed_at(const Item& item) const {
  if (options_.overhead_ppm == 0) return Instant::never();
  const int64_t missing = item.bytes * million - allowance_;
  if (missing <= 0) return line_free_ - options_.horizon;
  const auto per_bit_ns =
      static_cast<unsigned __int128>(options_.rate.bps()) * options_.overhead_ppm;
  const auto needed = static_cast<unsigned __int128>(missing) * bit_ns_per_byte;
  return idle_from_ +
         Duration::from_ns(static_cast<int64_t>((needed + per_bit_ns - 1) / per_bit_ns));
}

Instant Pacer::next_departure() const {
  if (queued_packets() == 0) return Instant::never();
  Instant next = waiting_.is_empty() ? Instant::never() : waiting_.front().not_before;
  for (const Priority priority : priorities) {
    const Item* head = head_of(priority);
    if (head == nullptr) continue;
    const bool may_leave = is_allowed(priority);
    next = std::min(next, may_leave ? line_free_ - options_.horizon : allowed_at(*head));
    if (head->drop_after < next) next = head->drop_after + Duration::from_ns(1);
  }
  return next;
}

Duration Pacer::backlog(Instant now) const {
  const Bytes ahead = queued_bytes(Priority::Control) + queued_bytes(Priority::Resend) +
                      queued_bytes(Priority::Data);
  return std::max(line_free_ - now, Duration()) + options_.rate.time_for(ahead);
}

}  // namespace cw
