#include "control/daemon/watch/rnic_watch.h"

namespace cw::daemon {
namespace {

constexpr const char* port_meaning = "its port has no link: nothing leaves and nothing arrives";
constexpr const char* port_advice =
    "look at the cable, the switch and `ip link`; nothing else is to be done here";
constexpr const char* address_meaning =
    "its interface has wan.address no longer: no queue has a way to its peer";
constexpr const char* address_advice =
    "give the interface the address again; queues are mended then";
constexpr const char* lost_meaning =
    "the device says that it is lost, and its queues and memory with it; this process ends, so "
    "that "
    "the next one opens it anew";

std::string said(const char* meaning, const char* advice) {
  return std::string(meaning) + "; " + advice;
}

}  // namespace

const RnicWatch::BoutWords RnicWatch::starving = {
    .event = "rnic_starved",
    .over = "rnic_starved_no_more",
    .meaning =
        "queues were found without a receive request: packets that came then are lost, and "
        "nobody counts them",
    .advice =
        "give the packets' thread a core of its own (site.cores), or lower wan.rate at peers"};
const RnicWatch::BoutWords RnicWatch::overrunning = {
    .event = "rnic_overrun",
    .over = "rnic_overrun_no_more",
    .meaning = "a completion queue had no room, and queues of the device broke",
    .advice =
        "they are mended; a device that says so again has less room than it told: use fewer "
        "paths, channels or classes"};

void RnicWatch::look(const VerbsPortStatus& rnic, Instant now) {
  look_at_port(rnic);
  look_at_address(rnic);
  look_at_queues(rnic);
  look_at_bout(starved_, starving, last_.rx_starved, rnic.rx_starved, now);
  look_at_bout(overrun_, overrunning, last_.overruns, rnic.overruns, now);
  if (rnic.fatal > 0 && !is_lost()) {
    log_.error("rnic_lost", {{"device", rnic.device}, {"meaning", lost_meaning}});
  }
  last_ = rnic;
}

/// What went down and up between two looks is told as well.
void RnicWatch::look_at_port(const VerbsPortStatus& rnic) {
  const bool was_down = !last_.is_port_up;
  const bool fell = rnic.port_downs > last_.port_downs || (!was_down && !rnic.is_port_up);
  if (fell) {
    log_.warning("rnic_port_down",
                 {{"device", rnic.device}, {"meaning", port_meaning}, {"advice", port_advice}});
  }
  if (rnic.is_port_up && (was_down || fell)) log_.info("rnic_port_up", {{"device", rnic.device}});
}

void RnicWatch::look_at_address(const VerbsPortStatus& rnic) {
  if (rnic.has_address == last_.has_address) return;
  const Fields about = {{"device", rnic.device}, {"address", rnic.address}};
  if (rnic.has_address) return log_.info("rnic_address_back", about);
  Fields fields = about;
  fields.update({{"meaning", address_meaning}, {"advice", address_advice}});
  log_.warning("rnic_address_gone", fields);
}

/// Queues that broke and have all been mended are a line; what stands in the way is another.
void RnicWatch::look_at_queues(const VerbsPortStatus& rnic) {
  if (rnic.queues_mended > last_.queues_mended && rnic.queues_mended >= rnic.queues_broken) {
    log_.info("rnic_queues_mended", {{"queues", rnic.queues_mended - last_.queues_mended}});
  }
  if (rnic.trouble != last_.trouble) log_.warning("rnic_trouble", {{"why", rnic.trouble}});
}

void RnicWatch::look_at_bout(Bout& bout, const BoutWords& words, uint64_t before, uint64_t count,
                             Instant now) {
  const bool grows = count > before;
  if (grows) bout.grew = now;
  if (grows && !bout.is_on) {
    bout.is_on = true;
    log_.warning(words.event,
                 {{"times", count - before}, {"meaning", words.meaning}, {"advice", words.advice}});
  } else if (bout.is_on && now - bout.grew >= calm) {
    bout.is_on = false;
    log_.info(words.over, {{"times", count}});
  }
}

std::vector<std::string> RnicWatch::alarms() const {
  std::vector<std::string> all;
  const std::string who = "device " + last_.device + ": ";
  if (!last_.is_port_up) all.push_back(who + said(port_meaning, port_advice));
  if (!last_.has_address) all.push_back(who + said(address_meaning, address_advice));
  if (starved_.is_on) all.push_back(who + said(starving.meaning, starving.advice));
  if (overrun_.is_on) all.push_back(who + said(overrunning.meaning, overrunning.advice));
  return all;
}

}  // namespace cw::daemon
