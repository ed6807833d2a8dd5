// What is known of one machine on the wire, and when to ask again. Pure: time is an argument.
#pragma once

#include "dataplane/base/units.h"
#include "dataplane/neighbour/address.h"

namespace cw {

/// Asked for each second until it answers, and again every half minute after that; what was known
/// stays in use until something else is heard.
struct Neighbour {
  static constexpr Duration ask_every = Duration::from_s(1);
  static constexpr Duration fresh_for = Duration::from_s(30);

  HostAddress ip;
  MacAddress mac{};
  bool is_known = false;
  bool is_fixed = false;  ///< as configured, never asked
  bool is_doubted = false;
  bool has_asked = false;
  Instant heard, asked;

  /// Returns whether that is news.
  bool hear(const MacAddress& from, Instant now) {
    if (is_fixed) return false;
    const bool is_news = !is_known || number_of(mac) != number_of(from);
    mac = from;
    is_known = true;
    is_doubted = false;
    heard = now;
    return is_news;
  }
  /// By a packet that is passing. It is not believed against what was heard lately: that is for ARP
  /// and ND to say.
  bool overhear(const MacAddress& from, Instant now) {
    if (is_known && number_of(mac) != number_of(from) && now - heard < fresh_for) return false;
    return hear(from, now);
  }
  /// The cable may lead to another machine now: asks again at once.
  void doubt() {
    has_asked = false;
    is_doubted = true;
  }
  /// Whether it is time to ask; taken as done.
  bool try_ask(Instant now) {
    if (is_fixed || (is_known && !is_doubted && now - heard < fresh_for)) return false;
    if (has_asked && now - asked < ask_every) return false;
    has_asked = true;
    asked = now;
    return true;
  }
};

}  // namespace cw
