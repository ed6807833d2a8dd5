// Time and size as types, so that a millisecond is never added to a byte and a rate is never
// mistaken for either. Everything is an integer; nothing here rounds in secret: where a division
// must round, the function's name or comment says which way.
//
// Overflow is the caller's bug, as it is for the integers inside: times are signed (UBSan sees it),
// counts are unsigned and wrap. The ranges are wide enough that only a sentinel or a value from
// outside gets near them; those are compared or checked first, never added to.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace cw {

/// A signed span of time in nanoseconds; about 292 years either way. Division rounds toward zero.
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration from_ns(int64_t ns) { return Duration(ns); }
  static constexpr Duration from_us(int64_t us) { return Duration(us * 1'000); }
  static constexpr Duration from_ms(int64_t ms) { return Duration(ms * 1'000'000); }
  static constexpr Duration from_s(int64_t s) { return Duration(s * 1'000'000'000); }
  /// A sentinel: compare with it, never add to it.
  static constexpr Duration max() { return Duration(std::numeric_limits<int64_t>::max()); }

  constexpr int64_t ns() const { return ns_; }
  constexpr double us() const { return static_cast<double>(ns_) * 1e-3; }
  constexpr double ms() const { return static_cast<double>(ns_) * 1e-6; }
  constexpr double seconds() const { return static_cast<double>(ns_) * 1e-9; }

  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator-() const { return Duration(-ns_); }
  constexpr Duration operator+(Duration d) const { return Duration(ns_ + d.ns_); }
  constexpr Duration operator-(Duration d) const { return Duration(ns_ - d.ns_); }
  constexpr Duration operator*(int64_t n) const { return Duration(ns_ * n); }
  constexpr Duration operator/(int64_t n) const { return Duration(ns_ / n); }
  /// How many whole `d` fit; `d` must not be zero.
  constexpr int64_t operator/(Duration d) const { return ns_ / d.ns_; }
  constexpr Duration operator%(Duration d) const { return Duration(ns_ % d.ns_); }
  constexpr Duration& operator+=(Duration d) { return ns_ += d.ns_, *this; }
  constexpr Duration& operator-=(Duration d) { return ns_ -= d.ns_, *this; }
  /// Scales by a real factor, rounding toward zero: for estimators, never for accounting (a double
  /// keeps 53 bits, 104 days of nanoseconds). The result must fit.
  constexpr Duration scaled(double factor) const {
    return Duration(static_cast<int64_t>(static_cast<double>(ns_) * factor));
  }

 private:
  explicit constexpr Duration(int64_t ns) : ns_(ns) {}
  int64_t ns_ = 0;
};

/// A point on one clock, in nanoseconds from that clock's own start. Instants of different clocks
/// (two gateways, the simulator and the machine) must never meet.
class Instant {
 public:
  constexpr Instant() = default;
  static constexpr Instant from_ns(int64_t ns) { return Instant(ns); }
  /// Later than every instant. A sentinel: compare with it, never add to it.
  static constexpr Instant never() { return Instant(std::numeric_limits<int64_t>::max()); }

  constexpr int64_t ns() const { return ns_; }

  constexpr auto operator<=>(const Instant&) const = default;
  constexpr Instant operator+(Duration d) const { return Instant(ns_ + d.ns()); }
  constexpr Instant operator-(Duration d) const { return Instant(ns_ - d.ns()); }
  constexpr Duration operator-(Instant t) const { return Duration::from_ns(ns_ - t.ns_); }
  constexpr Instant& operator+=(Duration d) { return ns_ += d.ns(), *this; }

 private:
  explicit constexpr Instant(int64_t ns) : ns_(ns) {}
  int64_t ns_ = 0;
};

/// Of several. Without the list that std::min takes, which GCC 12 puts into memory and walks.
template <class... Others>
constexpr Instant earliest(Instant first, Others... others) {
  ((first = others < first ? others : first), ...);
  return first;
}

/// A count of bytes.
class Bytes {
 public:
  constexpr Bytes() = default;
  explicit constexpr Bytes(uint64_t count) : count_(count) {}

  constexpr uint64_t count() const { return count_; }

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes operator+(Bytes b) const { return Bytes(count_ + b.count_); }
  /// `b` must not be larger.
  constexpr Bytes operator-(Bytes b) const { return Bytes(count_ - b.count_); }
  constexpr Bytes operator*(uint64_t n) const { return Bytes(count_ * n); }
  constexpr Bytes operator/(uint64_t n) const { return Bytes(count_ / n); }
  constexpr Bytes& operator+=(Bytes b) { return count_ += b.count_, *this; }
  constexpr Bytes& operator-=(Bytes b) { return count_ -= b.count_, *this; }

 private:
  uint64_t count_ = 0;
};

/// A rate in bits per second. Products are made in 128 bits, so only results can overflow.
class Rate {
 public:
  constexpr Rate() = default;
  static constexpr Rate from_bps(uint64_t bps) { return Rate(bps); }
  static constexpr Rate from_mbps(uint64_t mbps) { return Rate(mbps * 1'000'000); }
  static constexpr Rate from_gbps(uint64_t gbps) { return Rate(gbps * 1'000'000'000); }

  constexpr uint64_t bps() const { return bps_; }

  constexpr auto operator<=>(const Rate&) const = default;
  constexpr Rate scaled(double factor) const {
    return Rate(static_cast<uint64_t>(static_cast<double>(bps_) * factor));
  }
  /// How long `bytes` occupy the line, rounded up. The rate must not be zero. The result must fit:
  /// at 1 bit/s one GiB does, at 1 Mbit/s an exbibyte no longer.
  constexpr Duration time_for(Bytes bytes) const {
    const auto bit_ns = static_cast<unsigned __int128>(bytes.count()) * 8 * 1'000'000'000;
    return Duration::from_ns(static_cast<int64_t>((bit_ns + bps_ - 1) / bps_));
  }
  /// How many whole bytes pass in `d`, rounded down. `d` must not be negative. The result must fit:
  /// at 1 Tbit/s it does for four years.
  constexpr Bytes bytes_in(Duration d) const {
    const auto bit_ns = static_cast<unsigned __int128>(bps_) * static_cast<uint64_t>(d.ns());
    return Bytes(static_cast<uint64_t>(bit_ns / (8ull * 1'000'000'000)));
  }

 private:
  explicit constexpr Rate(uint64_t bps) : bps_(bps) {}
  uint64_t bps_ = 0;
};

namespace literals {
constexpr Duration operator""_ns(unsigned long long n) { return Duration::from_ns(int64_t(n)); }
constexpr Duration operator""_us(unsigned long long n) { return Duration::from_us(int64_t(n)); }
constexpr Duration operator""_ms(unsigned long long n) { return Duration::from_ms(int64_t(n)); }
constexpr Duration operator""_s(unsigned long long n) { return Duration::from_s(int64_t(n)); }
constexpr Bytes operator""_B(unsigned long long n) { return Bytes(n); }
constexpr Bytes operator""_KiB(unsigned long long n) { return Bytes(n << 10); }
constexpr Bytes operator""_MiB(unsigned long long n) { return Bytes(n << 20); }
constexpr Bytes operator""_GiB(unsigned long long n) { return Bytes(n << 30); }
constexpr Rate operator""_Mbps(unsigned long long n) { return Rate::from_mbps(n); }
constexpr Rate operator""_Gbps(unsigned long long n) { return Rate::from_gbps(n); }
}  // namespace literals

}  // namespace cw
