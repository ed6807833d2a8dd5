#include "control/daemon/admin/swap_order.h"

#include <algorithm>
#include <vector>

#include "control/config/policy_keys.h"
#include "control/config/text/read.h"
#include "control/gateway/site/site.h"
#include "dataplane/base/limits.h"

namespace cw::daemon {
namespace {

using site::Site;
using site::SwapOrder;

/// What an order says, checked step by step; mistakes are all told.
class OrderReader {
 public:
  OrderReader(const Json& json, Site& site) : json_(json), site_(site) {}

  Result<SwapOrder> read() {
    if (!json_.is_object())
      return failure("an order is an object, {\"class\": ..., \"policy\": ...}");
    check_names({"class", "policy", "params", "peer", "direction", "guard"},
                "class, policy, params, peer, direction and guard");
    read_class();
    read_peer();
    read_direction();
    read_policy();
    read_guard();
    if (!mistakes_.empty()) return failure(mistakes_);
    return order_;
  }

  Result<AdaptOrder> read_adapt() {
    if (!json_.is_object()) return failure("an order is an object, {\"class\": ...}");
    check_names({"class", "peer"}, "class and peer");
    read_class();
    read_peer();
    const site::ClassPlan& its = site_.plan().classes[order_.class_index];
    if (mistakes_.empty() && !its.adapt) {
      complain("class \"" + its.name + "\" does not adapt: its file says policy = \"" + its.policy +
               "\"");
    }
    if (!mistakes_.empty()) return failure(mistakes_);
    return AdaptOrder{order_.class_index, order_.peer};
  }

  Result<TraceOrder> read_trace() {
    if (!json_.is_object()) return failure("an order is an object, {\"class\": ...}");
    check_names({"class", "peer", "link", "direction", "seconds"},
                "class, peer, link, direction and seconds");
    read_class();
    read_peer();
    read_direction();
    TraceOrder order;
    order.link = static_cast<uint16_t>(number("link", 0, limits::links_max - 1, 0));
    order.time =
        Duration::from_s(number("seconds", 1, TraceOrder::seconds_max, TraceOrder::seconds));
    if (!json_.contains("peer")) order_.peer = only_peer();
    if (!mistakes_.empty()) return failure(mistakes_);
    order.class_index = order_.class_index;
    order.peer = *order_.peer;
    order.is_outward = order_.is_outward;
    order.is_inward = order_.is_inward || !json_.contains("direction");
    return order;
  }

 private:
  /// Places without one do not count.
  std::optional<uint16_t> only_peer() {
    const auto& peers = site_.plan().gateway.peers;
    std::vector<uint16_t> places;
    for (size_t i = 0; i < peers.size(); ++i) {
      if (!peers[i].name.empty()) places.push_back(static_cast<uint16_t>(i));
    }
    if (places.size() == 1) return places[0];
    complain("\"peer\" is missing, and there are " + std::to_string(places.size()));
    return std::nullopt;
  }
  int64_t number(const char* name, int64_t least, int64_t most, int64_t otherwise) {
    const auto complain_of = [this](const std::string& sentence) { complain(sentence); };
    return number_in(json_, name, least, most, complain_of).value_or(otherwise);
  }
  void complain(const std::string& sentence) {
    mistakes_ += (mistakes_.empty() ? "" : "\n") + sentence;
  }
  /// Empty where there is none, which has been told if it must be there.
  std::string text(const char* name, bool is_required) {
    if (!json_.contains(name)) {
      if (is_required) complain(std::string("\"") + name + "\" is missing");
      return "";
    }
    if (json_[name].is_string() && !json_[name].get<std::string>().empty()) {
      return json_[name].get<std::string>();
    }
    complain(std::string("\"") + name + "\" must be a text that is not empty");
    return "";
  }
  /// The place of a name among those that there are.
  template <class Names>
  std::optional<uint16_t> place_of(const std::string& name, const char* what, const Names& names) {
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<uint16_t>(found - names.begin());
    std::string all;
    for (const std::string& each : names) all += (all.empty() ? "" : ", ") + each;
    complain(std::string("there is no ") + what + " \"" + name + "\" here; there are " + all);
    return std::nullopt;
  }

  void check_names(std::initializer_list<std::string_view> known, const char* all) {
    for (const auto& [name, value] : json_.items()) {
      if (std::ranges::find(known, name) == known.end()) {
        complain("\"" + name + "\" is not known; an order has " + all);
      }
    }
  }

  void read_class() {
    std::vector<std::string> names;
    for (const site::ClassPlan& each : site_.plan().classes) names.push_back(each.name);
    const std::string name = text("class", /*is_required=*/true);
    if (name.empty()) return;
    if (const auto place = place_of(name, "class", names)) order_.class_index = *place;
  }

  void read_peer() {
    const std::string name = text("peer", /*is_required=*/false);
    if (name.empty()) return;
    std::vector<std::string> names;
    for (const auto& each : site_.plan().gateway.peers) names.push_back(each.name);
    order_.peer = place_of(name, "peer", names);
  }

  void read_direction() {
    const std::string direction = text("direction", /*is_required=*/false);
    if (direction.empty()) return;
    const bool is_known = direction == "out" || direction == "in" || direction == "both";
    if (!is_known) return complain("\"direction\" is out, in or both");
    order_.is_outward = direction != "in";
    order_.is_inward = direction != "out";
  }

  void read_guard() {
    if (!json_.contains("guard")) return;
    order_.is_guarded = json_["guard"] == Json(true);
    const bool is_bool = order_.is_guarded || json_["guard"] == Json(false);
    if (!is_bool) complain("\"guard\" must be true or false");
  }

  void read_policy() {
    const std::string name = text("policy", /*is_required=*/true);
    if (name.empty()) return;
    const cw_policy_ops* const table = site_.newest_policy(name);
    std::vector<std::string> names;
    for (const plugins::PolicyRef& each : site_.plan().registry->all()) {
      names.emplace_back(each.table().name);
    }
    if (table == nullptr) return void(place_of(name, "policy", names));
    std::vector<double> params = config::default_params(*table);
    if (!read_params(*table, params)) return;
    order_.table = table;
    order_.policy = sdr::named({table, params});
    if (order_.policy.name.is_empty())
      complain("the parameters are longer than a record has room for");
  }

  /// As a file has them: the same readings, ranges and sentences.
  bool read_params(const cw_policy_ops& table, std::vector<double>& params) {
    if (!json_.contains("params")) return true;
    const Json& given = json_["params"];
    if (!given.is_object()) return complain("\"params\" must be an object, {\"k\": 32}"), false;
    std::string toml;
    for (const auto& [name, value] : given.items()) {
      const bool is_plain = std::ranges::all_of(
          name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
      const bool is_value = value.is_string() || value.is_number();
      if (name.empty() || !is_plain || !is_value) {
        return complain("\"params\" has \"" + name + "\", which is no parameter"), false;
      }
      toml += name + " = " + value.dump() + "\n";
    }
    config::Section section;
    config::declare_params(section, table, params);
    const config::Mistakes mistakes = config::read(section, toml);
    for (const config::Mistake& each : mistakes) complain(each.sentence);
    return mistakes.empty();
  }

  const Json& json_;
  Site& site_;
  SwapOrder order_;
  std::string mistakes_;
};

}  // namespace

std::optional<int64_t> number_in(const Json& json, const char* name, int64_t least, int64_t most,
                                 const std::function<void(const std::string&)>& complain) {
  if (!json.contains(name)) return std::nullopt;
  const Json& given = json[name];
  const bool is_right = given.is_number_integer() && given >= Json(least) && given <= Json(most);
  if (is_right) return given.get<int64_t>();
  complain(std::string("\"") + name + "\" must be a number from " + std::to_string(least) + " to " +
           std::to_string(most));
  return std::nullopt;
}

Result<SwapOrder> parse_swap_order(const Json& json, Site& site) {
  return OrderReader(json, site).read();
}

Result<TraceOrder> parse_trace_order(const Json& json, Site& site) {
  return OrderReader(json, site).read_trace();
}

Result<AdaptOrder> parse_adapt_order(const Json& json, Site& site) {
  return OrderReader(json, site).read_adapt();
}

}  // namespace cw::daemon
