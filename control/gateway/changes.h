// What two texts of a gateway's file say differently, what each difference takes, and the file that
// has some of them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "control/config/key_kind.h"
#include "control/config/text/tree.h"

namespace cw::site {

using config::KeyKind;

struct Change {
  /// `wan.rate`, `class.bulk.policy`: of a list, by the name of its entry. An entry that only one
  /// of both has is one change, `peer.north`.
  std::string key;
  KeyKind kind = KeyKind::Restart;  ///< as the schema declares it
  std::string before, after;        ///< as a file has it; empty: not written
  bool operator==(const Change&) const = default;
};

/// In the order of their keys. Both texts are TOML; one that is not has nothing in it. What is
/// written otherwise and means the same (a key that has its default) is told as different.
std::vector<Change> changes_between(std::string_view before, std::string_view after);
std::vector<Change> changes_between(const config::Node& before, const config::Node& after);

/// `before` with those of its changes to `after` that `takes` says yes to; it is asked about each
/// of them. Entries stay in the order of `before`, new ones stand behind them;
/// classes that are all in `after` stand as there, if that is taken.
config::Node merged(const config::Node& before, const config::Node& after,
                    const std::function<bool(const Change&)>& takes);

/// By the path in the schema, "class.match.kind"; of what is not declared, that of its table.
KeyKind kind_of(std::string_view path);

}  // namespace cw::site
