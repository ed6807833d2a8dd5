#include "control/wan/link/link_change.h"

#include <algorithm>
#include <sstream>

#include "control/units/units.h"

namespace cw::wan {
namespace {

constexpr std::string_view prefixes[2] = {"a-to-b.", "b-to-a."};

/// What a request says, before it is known to make sense.
struct Wishes {
  LinkTexts both, one[2];
};

/// Half of a round trip is each way's delay.
Result<void> add_rtt(LinkTexts& into, const std::string& text) {
  const auto rtt = parse_duration(text);
  if (!rtt) return failure("rtt: " + rtt.error().sentence);
  into["delay"] = std::to_string(rtt->ns() / 2) + "ns";
  return {};
}

Result<void> add(Wishes& wishes, const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos) return failure("\"" + word + "\" is not of the form loss=1%");
  std::string name = word.substr(0, equals);
  const std::string value = word.substr(equals + 1);
  if (name == "rtt" && !value.empty()) return add_rtt(wishes.both, value);
  LinkTexts* into = &wishes.both;
  for (size_t i = 0; i < 2; ++i) {
    if (!name.starts_with(prefixes[i])) continue;
    into = &wishes.one[i];
    name.erase(0, prefixes[i].size());
  }
  const auto is_named = [&](const LinkOption& option) { return option.name == name; };
  if (std::ranges::none_of(link_options(), is_named)) {
    return failure("there is no option \"" + name + "\" of a link; --help shows them");
  }
  (*into)[name] = value;
  return {};
}

void grant(LinkTexts& texts, const LinkTexts& wishes) {
  for (const auto& [name, value] : wishes) {
    if (value.empty()) {
      texts.erase(name);
    } else {
      texts[name] = value;
    }
  }
}

}  // namespace

Result<BothDirections> changed(const BothDirections& link, std::string_view request) {
  Wishes wishes;
  std::istringstream words{std::string(request)};
  for (std::string word; words >> word;) {
    if (const auto added = add(wishes, word); !added) return std::unexpected(added.error());
  }
  BothDirections made = link;
  for (size_t i = 0; i < 2; ++i) {
    grant(made[i].texts, wishes.both);
    grant(made[i].texts, wishes.one[i]);
    const auto impairment = make_impairment(made[i].texts);
    if (!impairment) return std::unexpected(impairment.error());
    made[i].impairment = *impairment;
  }
  return made;
}

std::string settings_of(const BothDirections& link) {
  std::string text;
  for (size_t i = 0; i < 2; ++i) {
    for (const auto& [name, value] : link[i].texts) {
      text += std::string(prefixes[i]) + name + "=" + value + "\n";
    }
  }
  return text;
}

}  // namespace cw::wan
