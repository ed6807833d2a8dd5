// What the ends of a link say of the policies of a stream, and what follows from it at both.
//
// Each end offers a row: first the one by which it sends, then what it can do besides. In each
// direction the sender's wish holds if the receiver can; else the receiver's if the sender can;
// else the first of the sender's row that both can. With it come the parameters of who wished it,
// or of the sender [C-61].
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/sdr/options.h"

namespace cw::sdr {

/// A policy as it stands in a description.
struct PolicyOffer {
  std::string name;    ///< and the version of its notes: "hybrid/1"
  std::string params;  ///< "k=32 m=4"; those that are not named have their defaults

  static PolicyOffer of(const PolicyChoice& policy);
};

/// A text from the wire as it may stand in a sentence, which does not become endless.
std::string printable(std::string_view text, size_t bytes_max = 80);

/// What both can do; nothing when there is none. Cost: slow.
std::optional<PolicyOffer> common_policy(std::span<const PolicyOffer> sender,
                                         std::span<const PolicyOffer> receiver);

/// One of `params`, "k=32": which of those that the policy declares, and a value within its bounds.
struct ToldParam {
  size_t index = 0;
  double value = 0;
};
/// Nothing: it is none.
std::optional<ToldParam> read_param(const cw_policy_ops& policy, std::string_view pair);

/// One value per declared parameter. The text is a peer's. Errors: an unknown name, a value out of
/// its bounds.
Result<std::vector<double>> parse_params(const cw_policy_ops& policy, const std::string& text);

}  // namespace cw::sdr
