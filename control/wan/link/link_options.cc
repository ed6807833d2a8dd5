#include "control/wan/link/link_options.h"

#include <vector>

#include "control/units/units.h"
#include "control/wan/socket/frame.h"

namespace cw::wan {
namespace {

constexpr Duration queue_time_default = Duration::from_ms(20);

using Words = std::vector<std::string_view>;

Words split(std::string_view text, char separator) {
  Words words;
  for (size_t at; (at = text.find(separator)) != std::string_view::npos;) {
    words.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  words.push_back(text);
  return words;
}

/// Stores a parsed value, or passes its sentence on.
template <class T, class Parsed>
Result<void> set(T& target, const Result<Parsed>& parsed) {
  if (!parsed) return failure(parsed.error().sentence);
  target = T(*parsed);
  return {};
}

/// Of several stores, the first that failed.
Result<void> all(std::initializer_list<Result<void>> results) {
  for (const Result<void>& result : results) {
    if (!result) return result;
  }
  return {};
}

Result<Words> split_into(std::string_view text, size_t min, size_t max, const char* form) {
  Words words = split(text, ',');
  if (words.size() < min || words.size() > max) {
    return failure("\"" + std::string(text) + "\" is not of the form " + form);
  }
  return words;
}

Result<void> apply_rate(Impairment& it, std::string_view text) {
  return set(it.rate, parse_rate(text));
}

Result<void> apply_delay(Impairment& it, std::string_view text) {
  return set(it.delay, parse_duration(text));
}

Result<void> apply_jitter(Impairment& it, std::string_view text) {
  const auto words = split_into(text, 1, 3, "MAX[,MEAN][,reorders]");
  if (!words) return failure(words.error().sentence);
  Words rest = *words;
  it.jitter_reorders = rest.size() > 1 && rest.back() == "reorders";
  if (it.jitter_reorders) rest.pop_back();
  if (rest.size() == 3) return failure("\"" + std::string(rest[2]) + "\" is not \"reorders\"");
  if (rest.size() == 2) {
    it.jitter_shape = JitterShape::Exponential;
    const Result<void> mean = set(it.jitter_mean, parse_duration(rest[1]));
    if (!mean) return mean;
  }
  return set(it.jitter_max, parse_duration(rest[0]));
}

Result<void> apply_reorder(Impairment& it, std::string_view text) {
  const auto words = split_into(text, 2, 2, "SHARE,TIME");
  if (!words) return failure(words.error().sentence);
  return all({set(it.reorder, parse_share((*words)[0])),
              set(it.reorder_delay, parse_duration((*words)[1]))});
}

Result<void> apply_loss(Impairment& it, std::string_view text) {
  return set(it.loss, parse_share(text));
}

Result<void> apply_gilbert(Impairment& it, std::string_view text) {
  const auto words = split_into(text, 2, 2, "MEAN_BURST,SHARE");
  if (!words) return failure(words.error().sentence);
  const auto burst = parse_real((*words)[0]);
  if (!burst) return failure(burst.error().sentence);
  const auto loss = parse_share((*words)[1]);
  if (!loss) return failure(loss.error().sentence);
  if (*burst < 1) return failure("a mean burst has at least 1 packet");
  if (*loss == 1) return failure("a share of 100% leaves nothing between the bursts");
  it.gilbert_elliott = GilbertElliott::from_burst(*burst, *loss);
  if (it.gilbert_elliott.to_bad > 1) {
    return failure("bursts of " + std::string((*words)[0]) + " packets cannot lose as much as " +
                   std::string((*words)[1]) + ": make the bursts longer or the loss smaller");
  }
  return {};
}

Result<void> apply_profile(Impairment& it, std::string_view text) {
  const Words words = split(text, ':');
  if (words.size() != 2)
    return failure("\"" + std::string(text) + "\" is not of the form NAME:SHARE");
  const BurstProfile* const profile = find_burst_profile(words[0]);
  if (profile == nullptr) {
    std::string known;
    for (const BurstProfile& each : burst_profiles) {
      known += (known.empty() ? "" : ", ") + std::string(each.name);
    }
    return failure("there is no profile \"" + std::string(words[0]) + "\"; there are " + known);
  }
  it.bursts.profile = *profile;
  return set(it.bursts.loss, parse_share(words[1]));
}

Result<void> apply_duplicate(Impairment& it, std::string_view text) {
  const auto words = split_into(text, 1, 2, "SHARE[,ARRIVALS]");
  if (!words) return failure(words.error().sentence);
  const auto arrivals = words->size() == 2 ? parse_count((*words)[1]) : it.copies_max;
  if (!arrivals) return failure(arrivals.error().sentence);
  if (*arrivals < 1 || *arrivals > impairment_copies_max) {
    return failure("a packet arrives 1 to 4 times, not " + std::string((*words)[1]));
  }
  it.copies_max = static_cast<uint32_t>(*arrivals);
  return set(it.duplicate, parse_share((*words)[0]));
}

Result<void> apply_corrupt(Impairment& it, std::string_view text) {
  return set(it.corrupt, parse_share(text));
}

Result<void> apply_queue(Impairment& it, std::string_view text) {
  if (set(it.queue_time, parse_duration(text)) || set(it.queue_bytes, parse_bytes(text))) return {};
  return failure("\"" + std::string(text) +
                 "\" is neither a time, as in 20ms, nor a size, as in "
                 "1MiB");
}

Result<void> apply_mark(Impairment& it, std::string_view text) {
  return set(it.mark_above, parse_duration(text));
}

Result<void> apply_blackout(Impairment& it, std::string_view text) {
  const auto words = split_into(text, 2, 3, "START,LENGTH[,PERIOD]");
  if (!words) return failure(words.error().sentence);
  const auto start = parse_duration((*words)[0]);
  if (!start) return failure(start.error().sentence);
  it.blackout.start = Instant() + *start;
  return all(
      {set(it.blackout.length, parse_duration((*words)[1])),
       words->size() == 3 ? set(it.blackout.period, parse_duration((*words)[2])) : Result<void>()});
}

Result<void> apply_mtu(Impairment& it, std::string_view text) {
  const Words words = split(text, '@');
  if (words.size() > 2)
    return failure("\"" + std::string(text) + "\" is not of the form SIZE[@TIME]");
  const auto from = words.size() == 2 ? parse_duration(words[1]) : Duration();
  if (!from) return failure(from.error().sentence);
  const auto size = parse_bytes(words[0]);
  if (!size) return failure(size.error().sentence);
  if (size->count() < 68 || size->count() > 65535) {
    return failure("\"" + std::string(words[0]) + "\" is no MTU: 68 to 65535 bytes");
  }
  it.mtu_from = Instant() + *from;
  it.mtu = *size + Bytes(ethernet_header_bytes);
  return {};
}

Result<void> apply_hole(Impairment& it, std::string_view text) {
  const auto words = split_into(text, 1, 2, "PORT[,SIZE]");
  if (!words) return failure(words.error().sentence);
  const auto port = parse_count((*words)[0]);
  if (!port) return failure(port.error().sentence);
  if (*port < 1 || *port > UINT16_MAX) {
    return failure("\"" + std::string((*words)[0]) + "\" is no UDP port: 1 to 65535");
  }
  it.hole.flow = static_cast<uint32_t>(*port);
  if (words->size() == 1) return {};
  const auto size = parse_bytes((*words)[1]);
  if (!size) return failure(size.error().sentence);
  it.hole.above = *size + Bytes(ethernet_header_bytes);
  return {};
}

Result<void> apply_drop(Impairment& it, std::string_view text) {
  const auto words = split_into(text, 1, 2, "FIRST[,EVERY]");
  if (!words) return failure(words.error().sentence);
  return all(
      {set(it.targeted.first, parse_count((*words)[0])),
       words->size() == 2 ? set(it.targeted.every, parse_count((*words)[1])) : Result<void>()});
}

constexpr LinkOption table[] = {
    {"delay", "TIME", "One way, behind queue and line.", apply_delay},
    {"rate", "RATE", "The line sends so fast; without it there is no queue.", apply_rate},
    {"queue", "TIME|SIZE", "What may wait for the line; the rest is lost (20ms).", apply_queue},
    {"mark", "TIME", "Mark ECN-capable packets that wait longer than this.", apply_mark},
    {"loss", "SHARE", "Lose packets independently.", apply_loss},
    {"gilbert", "MEAN_BURST,SHARE", "Lose a share in bursts of this mean length.", apply_gilbert},
    {"profile", "NAME:SHARE", "Lose as random, amazon, google or microsoft do.", apply_profile},
    {"drop", "FIRST[,EVERY]", "Lose the FIRST packet (from 1), then each EVERY-th.", apply_drop},
    {"blackout", "START,LENGTH[,PERIOD]", "Nothing passes, once or again.", apply_blackout},
    {"mtu", "SIZE[@TIME]", "Larger IP packets vanish, from TIME on.", apply_mtu},
    {"hole", "PORT[,SIZE]", "UDP from this port vanishes, or its IP packets above a size.",
     apply_hole},
    {"corrupt", "SHARE", "Flip one bit; checksums are left wrong.", apply_corrupt},
    {"duplicate", "SHARE[,ARRIVALS]", "Deliver twice, or up to 4 times.", apply_duplicate},
    {"jitter", "MAX[,MEAN][,reorders]", "Delay more; uniform, or exponential around MEAN.",
     apply_jitter},
    {"reorder", "SHARE,TIME", "Hold a share back for TIME; others pass it.", apply_reorder},
};

}  // namespace

std::span<const LinkOption> link_options() { return table; }

Result<Impairment> make_impairment(const LinkTexts& texts) {
  Impairment impairment;
  for (const LinkOption& option : link_options()) {
    const auto text = texts.find(option.name);
    if (text == texts.end()) continue;
    const auto applied = option.apply(impairment, text->second);
    if (!applied) return failure("--" + std::string(option.name) + ": " + applied.error().sentence);
  }
  if (impairment.rate == Rate() && (texts.contains("queue") || texts.contains("mark"))) {
    return failure("--queue and --mark need --rate: without one nothing waits");
  }
  if (impairment.rate > Rate() && !texts.contains("queue")) {
    impairment.queue_time = queue_time_default;
  }
  const auto valid = validate(impairment);
  if (!valid) return failure(valid.error().sentence);
  return impairment;
}

}  // namespace cw::wan
