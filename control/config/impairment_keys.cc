#include "control/config/impairment_keys.h"

#include <memory>

namespace cw::config {
namespace {

constexpr const char* delay_max = "1 h";
static_assert(impairment_delay_max == Duration::from_s(3600));

void declare_line(Section& section, Impairment& it) {
  section.key("rate", it.rate, "What the line carries; needed by everything about its queue.")
      .or_none();
  section.key("queue_bytes", it.queue_bytes, "Waiting or being sent; what does not fit is lost.")
      .or_none();
  section.key("queue_time", it.queue_time, "The longest wait for the line; longer ones are lost.")
      .or_none();
  section.key("mark_above", it.mark_above, "A longer wait sets ECN congestion experienced.")
      .or_none();
  section.key("mtu", it.mtu, "Larger packets vanish, from mtu_from on.");
  section.key("mtu_from", it.mtu_from, "When the path shrinks to mtu.").or_none();
}

void declare_exit(Section& section, Impairment& it) {
  section.ratio("loss", it.loss, "Lost, each packet by itself.");
  section.ratio("corrupt", it.corrupt, "Packets of which one bit is flipped.");
  section.ratio("duplicate", it.duplicate, "Packets that arrive once more.");
  section.key("copies_max", it.copies_max, "Arrivals of one packet, at most.")
      .range(1, impairment_copies_max);
  section.key("delay", it.delay, "One way, behind queue and line.").range("0 ns", delay_max);
  section.key("jitter_max", it.jitter_max, "Added to the delay, at most.").range("0 ns", delay_max);
  section.key("jitter_mean", it.jitter_mean, "Of exponential jitter.").range("0 ns", delay_max);
  section.choice("jitter_shape", it.jitter_shape, {"uniform", "exponential"},
                 "How jitter is distributed.");
  section.key("jitter_reorders", it.jitter_reorders,
              "Whether jitter lets a packet pass its elder.");
  section.ratio("reorder", it.reorder, "Packets that are held back and passed by others.");
  section.key("reorder_delay", it.reorder_delay, "How long they are held back.")
      .range("0 ns", delay_max);
}

void declare_gilbert_elliott(Section& section, GilbertElliott& it) {
  struct Means {
    double burst = 1, loss = 0;
  };
  const auto means = std::make_shared<Means>();
  section.key("mean_burst", means->burst, "Packets lost in a row; with mean_loss, sets the rest.")
      .range(1, 1e6);
  section.ratio("mean_loss", means->loss, "Lost in the long run.").range(0, 0.9);
  section.ratio("to_bad", it.to_bad, "Chance per packet to leave the good state.");
  section.ratio("to_good", it.to_good, "Chance per packet to leave the bad state.");
  section.ratio("loss_good", it.loss_good, "Lost in the good state.");
  section.ratio("loss_bad", it.loss_bad, "Lost in the bad state.");
  section.then([means, &it](Section&) {
    if (means->loss > 0) it = GilbertElliott::from_burst(means->burst, means->loss);
  });
}

void declare_bursts(Section& section, BurstLoss& it) {
  section.ratio("loss", it.loss, "Lost in the long run, in events.");
  std::vector<std::string> names;
  size_t initial = 0;
  for (const BurstProfile& profile : burst_profiles) {
    if (profile.name == it.profile.name) initial = names.size();
    names.emplace_back(profile.name);
  }
  section.choice("profile", initial, names, "Which kinds of events, in which shares.",
                 [&it](size_t i) { it.profile = burst_profiles[i]; });
  const double span_max = BurstLoss::event_packets_max;
  section.key("burst_packets", it.burst_packets, "Mean length of a row of losses.")
      .range(1, span_max);
  section.key("burst_spread", it.burst_spread, "By so many it is longer or shorter.")
      .range(0, span_max);
  section.key("window_packets", it.window_packets, "Length of a window with several losses.")
      .range(1, span_max);
  section.key("window_drops_min", it.window_drops_min, "Losses in a window, at least.")
      .range(1, span_max);
  section.key("window_drops_max", it.window_drops_max, "Losses in a window, at most.")
      .range(1, span_max);
}

void declare_tables(Section& section, Impairment& it) {
  Section& blackout = section.table("blackout", "Times when nothing passes.");
  blackout.key("start", it.blackout.start, "When the first one begins.").or_none();
  blackout.key("length", it.blackout.length, "How long each lasts.");
  blackout.key("period", it.blackout.period, "From one begin to the next; 0 ns: only once.");

  Section& targeted = section.table("targeted", "This packet and its next resends are lost.");
  targeted.key("first", it.targeted.first, "The first data packet hit, counted from 1; 0: none.");
  targeted.key("every", it.targeted.every, "Then every so many another; 0: no more.");
  targeted.key("resends", it.targeted.resends, "How many resends of a hit packet are lost too.");

  declare_gilbert_elliott(section.table("gilbert_elliott", "Loss in two states."),
                          it.gilbert_elliott);
  declare_bursts(section.table("bursts", "Loss in events, as cloud paths show it."), it.bursts);
}

}  // namespace

void declare_impairment(Section& section, Impairment& impairment) {
  const auto inherited = std::make_shared<Impairment>(impairment);
  declare_line(section, impairment);
  declare_exit(section, impairment);
  declare_tables(section, impairment);
  section.then([inherited, &impairment](Section& here) {
    // What was wrong before is told where it was written.
    if (!validate(*inherited)) return;
    if (const auto valid = validate(impairment); !valid) {
      here.complain("", here.path() + ": " + valid.error().sentence);
    }
  });
}

}  // namespace cw::config
