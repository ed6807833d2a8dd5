// In which order sites take what they need, so that traffic keeps flowing.
//
//   * who receives is first: a site that new packets will come to is ready before others send there
//   * who loses is last: a site goes, or its prefix, when nobody sends there any more
//   * starts again one at a time, and each waits for its links, so that one site at most is away
//   * what all must have alike: who reloads has links by the new keys beside those of before, by
//     which it carries until the last has the new ones; who starts has the new ones alone, and so
//     none with sites that have not, and goes after those that reload
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cw::deploy {

enum class Act : uint8_t {
  Start,    ///< for the first time
  Reload,   ///< its file, while it runs
  Restart,  ///< it goes and comes again
  Stop,     ///< for good
};
std::string_view name_of(Act act);

/// What a site's new file takes, beside the one that it runs by.
struct Need {
  std::string site;
  Act act = Act::Reload;
  bool is_nothing = false;   ///< both are the same; it is one of those that links are with
  bool is_alike = false;     ///< what must be alike changes
  bool is_by_links = false;  ///< a reload: links by its new keys take the place of those that carry
  bool gains = false;        ///< something lies behind it that did not: packets will come for that
  bool loses = false;        ///< the other way round
  bool moves = false;        ///< its address is another: who has the old one does not reach it
  std::set<std::string> peers_before, peers_after;
  /// A site that goes and whose place, address or prefixes, this one takes.
  std::set<std::string> follows;
};

struct Step {
  std::string site;
  Act act = Act::Reload;
  std::string why;
  /// Links of this site that must be up before the next step.
  std::vector<std::string> waits_for;
  /// Links that were up and are down after it, and come up with a later step.
  std::vector<std::string> breaks;
  /// Links that are up by the keys of before after it, since the other site has no others yet.
  std::vector<std::string> carries_on;
  /// Links by its new keys may wait for later steps: nobody waits for them here.
  bool is_links_later = false;
  bool operator==(const Step&) const = default;
};

/// One step for each that needs something. Pure.
std::vector<Step> order_of(const std::vector<Need>& needs);

/// Which links are up while some sites have taken what they need, as order_of() sees it.
class Progress {
 public:
  /// Of what must be alike: the keys of before, the new ones, or either.
  enum class By : uint8_t { Any, Old, New };

  /// It outlives this.
  explicit Progress(const std::vector<Need>& needs);
  void take(const std::string& site) { taken_.insert(site); }
  bool is_up(const std::string& a, const std::string& b, By by = By::Any) const;
  /// Whether a site that it has links with is to make others, and has not.
  bool awaits_links(const std::string& site) const;
  /// The names that `site` has links with that are up.
  std::vector<std::string> up_of(const std::string& site, By by = By::Any) const;

 private:
  const Need* need_of(const std::string& site) const;
  bool is_running(const Need& need) const;
  bool has(const Need& need, By by) const;
  bool has_taken(const Need& need) const { return need.is_nothing || taken_.contains(need.site); }
  bool knows(const Need& need, const std::string& far) const;

  const std::vector<Need>& needs_;
  std::set<std::string> taken_;
};

}  // namespace cw::deploy
