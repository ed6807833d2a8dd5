#include "tests/conformance/story.h"

#include "dataplane/sdr/seat/policy_needs.h"
#include "offload/codec/codecs.h"

namespace cw::conformance {
namespace {

/// Of a policy that repairs nothing, the receiver takes what there is after a while.
constexpr Duration patience = Duration::from_ms(50);

sim::SiteOptions site_options(const Candidate& candidate, const StoryOptions& options,
                              uint64_t end) {
  sim::SiteOptions site;
  site.seed = options.seed * 2 + end;
  site.policy = candidate.ops;
  site.has_rnic = end == 0 ? candidate.source_has_rnic : candidate.sink_has_rnic;
  site.offload = static_cast<uint32_t>(options.seed % 3);
  site.policy_params = candidate.params();
  site.rate = options.rate;
  site.paths = options.paths;
  site.stream.messages = options.places;
  site.stream.data_slots_max = 256;
  site.stream.first_seq = options.first_seq;
  if (candidate.traits.codes) {
    const sdr::LinkGuess link{.rate = site.rate, .rtt = Duration::from_ms(10)};
    site.stream = sdr::coded(site.stream,
                             sdr::needs_of({candidate.ops, site.policy_params}, site.stream, link),
                             code::all());
  }
  return site;
}

sim::TransferOptions transfer_options(const Candidate& candidate, const StoryOptions& options) {
  sim::TransferOptions transfer;
  transfer.messages = options.messages;
  transfer.bytes_of = options.bytes_of;
  transfer.in_flight = options.places / 4;
  transfer.posted = options.places / 2;
  if (!candidate.traits.repairs) transfer.patience = patience;
  return transfer;
}

}  // namespace

Story::Story(const Candidate& candidate, const StoryOptions& options)
    : messages_(options.messages),
      network_({.seed = options.seed, .paths = options.paths}),
      source_port_(network_.add_port()),
      sink_port_(network_.add_port()),
      peers_(network_.join(source_port_, sink_port_, options.wire)),
      source_(source_port_, peers_.of_first, site_options(candidate, options, 0), network_.now()),
      sink_(sink_port_, peers_.of_second, site_options(candidate, options, 1), network_.now()),
      transfer_(source_, sink_, transfer_options(candidate, options)),
      stage_(network_, options.seed) {
  stage_.add(source_);
  stage_.add(sink_);
  stage_.add(transfer_);
  stage_.watch(conservation_);
  stage_.watch(transfer_.exactly_once());
  stage_.watch(transfer_.no_wrong_byte());
}

void Story::run_for(Duration time) {
  stage_.run_until([] { return false; }, network_.now() + time);
}

bool Story::run_to_end(Duration time) {
  const auto is_done = [this] { return transfer_.is_done(); };
  return stage_.run_until(is_done, network_.now() + time) == sim::StageEnd::Reached;
}

std::optional<std::string> Story::complaint_of_delivery() {
  if (const auto complaint = stage_.complaint()) return complaint;
  if (transfer_.is_done() && transfer_.whole_count() == messages_) return std::nullopt;
  return std::to_string(transfer_.whole_count()) + " of " + std::to_string(messages_) +
         " messages had arrived whole when time was up";
}

uint64_t Story::quarantines() {
  return source_.counters().read_any_thread(Counter::policies_quarantined) +
         sink_.counters().read_any_thread(Counter::policies_quarantined);
}

}  // namespace cw::conformance
