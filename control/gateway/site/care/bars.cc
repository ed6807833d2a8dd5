#include "control/gateway/site/care/bars.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>

#include "control/config/text/file.h"
#include "control/json/json.h"
#include "control/units/text.h"
#include "dataplane/sdr/seat/policy_offer.h"

namespace cw::site {
namespace {

/// As text: a number of JSON need not have 64 bits.
std::string text_of(uint64_t hash) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
  return text.data();
}

bool is_same(const Bar& a, const Bar& b) {
  return a.policy == b.policy && a.params == b.params && a.hash == b.hash;
}

}  // namespace

Bar Bars::bar_of(const sdr::PolicyChoice& policy) const {
  const sdr::PolicyOffer offer = sdr::PolicyOffer::of(policy);
  Bar bar{.policy = offer.name, .params = offer.params};
  const auto file = registry_.file_of(*policy.ops);
  if (file) bar.file = file->path, bar.hash = file->hash;
  return bar;
}

const Bar* Bars::find(const sdr::PolicyChoice& policy) const {
  const Bar wanted = bar_of(policy);
  const auto found =
      std::ranges::find_if(bars_, [&](const Bar& each) { return is_same(each, wanted); });
  return found == bars_.end() ? nullptr : &*found;
}

void Bars::add(const sdr::PolicyChoice& policy) {
  if (find(policy) != nullptr) return;
  Bar& bar = bars_.emplace_back(bar_of(policy));
  bar.since = utc_text("%Y-%m-%dT%H:%M:%SZ", std::time(nullptr));
  save();
}

size_t Bars::forgive(std::string_view policy, std::string_view params) {
  const size_t count = std::erase_if(
      bars_, [&](const Bar& each) { return each.policy == policy && each.params == params; });
  if (count > 0) save();
  return count;
}

// ---- what the next life finds ----

Result<void> Bars::keep_in(const std::string& folder) {
  file_ = folder + "/barred.json";
  auto done = read();
  if (!done) file_.clear();
  return done;
}

void Bars::save() {
  if (file_.empty()) return;
  const auto written = write();
  trouble_ = written ? "" : written.error().sentence;
}

Result<void> Bars::read() {
  std::ifstream in(file_);
  if (!in) {
    if (access(file_.c_str(), F_OK) != 0) return {};  // nobody was
    return failure(file_ + " cannot be read: " + std::strerror(errno));
  }
  const std::string text(std::istreambuf_iterator<char>(in), {});
  try {
    const Json json = Json::parse(text);
    for (const Json& each : json.at("barred")) {
      Bar& bar = bars_.emplace_back();
      bar.policy = each.at("policy").get<std::string>();
      bar.params = each.at("params").get<std::string>();
      bar.file = each.at("file").get<std::string>();
      bar.hash = std::strtoull(each.at("hash").get<std::string>().c_str(), nullptr, 16);
      bar.since = each.at("since").get<std::string>();
    }
  } catch (const Json::Error& error) {
    bars_.clear();
    return failure(file_ + " is not what a gateway has written: " + error.what());
  }
  return {};
}

/// Whole or not at all, whenever the machine stops.
Result<void> Bars::write() const {
  Json json = {{"barred", Json::array()}};
  for (const Bar& each : bars_) {
    json["barred"].push_back({{"policy", each.policy},
                              {"params", each.params},
                              {"file", each.file},
                              {"hash", text_of(each.hash)},
                              {"since", each.since}});
  }
  const auto written = config::replace_file(file_, json.dump(2) + "\n", config::Lasting::Yes);
  if (written) return {};
  return failure(file_ + " cannot be written: " + std::strerror(written.error().error));
}

}  // namespace cw::site
