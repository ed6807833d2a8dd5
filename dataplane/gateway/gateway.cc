#include "dataplane/gateway/gateway.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cw::gateway {
namespace {

constexpr uint16_t no_row = UINT16_MAX;

sdr::Link* find_link(const sdr::Endpoint& wan, uint16_t peer) {
  for (const auto& link : wan.links()) {
    if (link->peer() == peer) return link.get();
  }
  return nullptr;
}

SlotReaderOptions reader_options(const ClassOptions& options, const sdr::StreamConfig& config) {
  return {.messages = config.messages,
          .data_slots_max = config.data_slots_max,
          .payload_bytes_max = config.payload_bytes,
          .stall = options.hold};
}

/// Those of a peer; null where there is none.
std::vector<sdr::Link*> links_of(const PeerRoutes& peer, const sdr::Endpoint& wan) {
  std::vector<sdr::Link*> links;
  links.reserve(peer.links);
  for (uint16_t i = 0; i < peer.links; ++i) {
    links.push_back(find_link(wan, static_cast<uint16_t>(peer.peer + i)));
  }
  return links;
}

/// Of whatever streams there are; add_lane() says which are missing.
InboundStockOptions stock_options(const GatewayOptions& options, const sdr::Endpoint& wan) {
  InboundStockOptions all{.streams = options.links() * options.classes.size(),
                          .messages = 1,
                          .data_slots_max = 1,
                          .payload_bytes_max = 1};
  for (const PeerRoutes& each : options.peers) {
    sdr::Link* const link = find_link(wan, each.peer);  // as the peer's others
    for (size_t i = 0; link != nullptr && i < options.classes.size(); ++i) {
      const sdr::Sink sink = link->sink(options.classes[i].qp);
      if (!sink) continue;
      const sdr::StreamConfig& config = sink.config();
      all.messages = std::max(all.messages, config.messages * options.full_links);
      all.data_slots_max = std::max(all.data_slots_max, config.data_slots_max);
      all.payload_bytes_max = std::max(all.payload_bytes_max, config.payload_bytes);
    }
  }
  return all;
}

/// A quarter more than the links bring, so that a backlog shrinks and still comes at a pace.
Rate release_rate(const GatewayOptions& options, const sdr::Endpoint& wan) {
  if (options.release_rate.bps() > 0) return options.release_rate;
  uint64_t bps = 0;
  for (const PeerRoutes& each : options.peers) {
    const sdr::Link* const link = find_link(wan, each.peer);  // whose others share its rate
    if (link != nullptr) bps += link->rate().bps();
  }
  return Rate::from_bps(std::max<uint64_t>(bps / 4 * 5, 1));
}

}  // namespace

// ---- making ----

Result<std::unique_ptr<Gateway>> Gateway::make(const GatewayOptions& options, Port& lan,
                                               sdr::Endpoint& wan, Counters& counters, Drops& drops,
                                               Instant now) {
  auto ingress = Ingress::make(options);
  if (!ingress) return std::unexpected(ingress.error());
  auto stock = InboundStock::make(stock_options(options, wan), drops);
  if (!stock) return std::unexpected(stock.error());
  std::unique_ptr<Gateway> gateway(
      new Gateway(options, std::move(*ingress), std::move(*stock), lan, wan, counters, drops));
  for (const PeerRoutes& each : options.peers) {
    for (sdr::Link* link : links_of(each, wan)) {
      if (link == nullptr) return failure("peer \"" + each.name + "\" is not one of the WAN's");
      const auto added = gateway->add_row(options.classes, *link);
      if (!added) return std::unexpected(added.error());
    }
  }
  gateway->refresh_due_ = now;
  return gateway;
}

Gateway::Gateway(const GatewayOptions& options, Ingress ingress,
                 std::unique_ptr<InboundStock> stock, Port& lan, const sdr::Endpoint& wan,
                 Counters& counters, Drops& drops)
    : ingress_(std::move(ingress)),
      icmp_({}),
      stock_(std::move(stock)),
      queue_memory_(options.queue_memory, options.links() * options.classes.size()),
      release_({.rate = release_rate(options, wan),
                .queue = options.lan_queue,
                .decrement_ttl = options.decrement_ttl,
                .frames_max = stock_->frames().count()},
               lan, counters),
      lan_(lan),
      wan_(wan),
      counters_(counters),
      drops_(drops),
      lan_mtu_(options.lan_mtu),
      class_count_(options.classes.size()),
      replies_(replies_max) {
  lanes_.reserve(options.links() * class_count_);
  handovers_.reserve(options.links());
}

Gateway::~Gateway() {
  while (!replies_.is_empty()) {
    Packet* packet = replies_.pop();
    lan_.give_back({&packet, 1});
  }
}

Result<void> Gateway::add_row(const std::vector<ClassOptions>& classes, sdr::Link& link) {
  if (row_of_peer_.size() <= link.peer()) row_of_peer_.resize(link.peer() + size_t{1}, no_row);
  row_of_peer_[link.peer()] = static_cast<uint16_t>(rows_.add());
  handovers_.emplace_back();
  for (size_t i = 0; i < classes.size(); ++i) {
    const auto added = add_lane(classes[i], static_cast<uint16_t>(i), link);
    if (!added) return added;
  }
  return {};
}

Result<void> Gateway::add_lane(const ClassOptions& options, uint16_t class_index, sdr::Link& link) {
  Lane lane;
  lane.link = &link;
  lane.class_index = class_index;
  lane.weight = options.weight;
  lane.hold = options.hold;
  lane.source = link.source(options.qp);
  lane.sink = link.sink(options.qp);
  if (!lane.source || !lane.sink) {
    return failure("class \"" + options.name + "\": its peer has no QP " +
                   std::to_string(options.qp) + " for both directions");
  }
  auto out = SendLane::make(options, lane.source, queue_memory_, counters_, drops_);
  if (!out) return std::unexpected(out.error());
  lane.out = std::make_unique<SendLane>(std::move(*out));
  InboundOptions inbound;
  inbound.slots = reader_options(options, lane.sink.config());
  inbound.hold = options.hold;
  inbound.first_message = lane.sink.config().first_seq;
  lane.in = std::make_unique<Inbound>(inbound, *stock_, lane.sink, release_);
  lanes_.push_back(std::move(lane));
  return {};
}

// ---- what can be another ----

Result<GatewayChange> GatewayChange::make(const GatewayOptions& options) {
  auto ingress = Ingress::make(options);
  if (!ingress) return std::unexpected(ingress.error());
  GatewayChange change(std::move(*ingress));
  change.classes_ = options.classes;
  change.release_rate_ = options.release_rate;
  change.lan_queue_ = options.lan_queue;
  return change;
}

void Gateway::exchange(GatewayChange& change) {
  change.ingress_.groups().take_counts(ingress_.groups());
  std::swap(ingress_, change.ingress_);
  if (change.release_rate_ > Rate()) release_.set_rate(change.release_rate_);
  release_.set_queue(change.lan_queue_);
}

void Gateway::change_link(const GatewayChange& change, size_t link) {
  for (Lane& lane : row(link)) {
    const ClassOptions& now = change.classes_[lane.class_index];
    lane.weight = now.weight;
    lane.hold = now.hold;
    lane.out->change(now);
    lane.in->set_hold(now.hold);
  }
  rows_.wake(link);
}

// ---- from the LAN ----

void Gateway::on_rx(std::span<Packet* const> packets, Instant now) {
  counters_.add(Counter::lan_in, packets.size());
  for (auto rest = packets; !rest.empty();) {
    const size_t count = std::min(rest.size(), offers_.size());
    take(rest.first(count), now);
    rest = rest.subspan(count);
  }
  lan_.give_back(packets);
}

// First all headers, then all copies: a hop that was just taken off a header has then left the
// store buffer before the header is copied in wider pieces. Lane by lane as far as neighbours
// share one.
void Gateway::take(std::span<Packet* const> packets, Instant now) {
  for (std::span<const Offer> rest = admit(packets, now); !rest.empty();) {
    const auto is_elsewhere = [&first = rest.front().how](const Offer& other) {
      return other.how.peer != first.peer || other.how.class_index != first.class_index ||
             other.how.is_group != first.is_group;
    };
    const auto end = std::ranges::find_if(rest, is_elsewhere);
    const auto count = static_cast<size_t>(end - rest.begin());
    const auto row = rest.first(count);
    if (row.front().how.is_group) {
      offer_to_group(row, now);
    } else {
      offer_row(row, now);
    }
    rest = rest.subspan(count);
  }
}

std::span<Gateway::Offer> Gateway::admit(std::span<Packet* const> packets, Instant now) {
  size_t count = 0;
  for (Packet* packet : packets) {
    Offer& offer = offers_[count];
    offer.packet = {packet->data, packet->bytes};
    DropReason why{};
    if (ingress_.try_admit(offer.packet, offer.how, why)) {
      ++count;
    } else {
      refuse(why, offer.packet, now);
    }
  }
  return {offers_.data(), count};
}

/// Returns how many were taken.
size_t Gateway::offer_row(std::span<const Offer> row, Instant now) {
  Lane& lane = lane_of(row.front().how);
  rows_.wake(row_of_peer_[row.front().how.peer]);
  follow_epoch(lane, now);
  lane.has_sent = true;
  size_t taken = 0;
  for (const Offer& offer : row) {
    DropReason why{};
    const bool is_taken = lane.out->try_offer(offer.how, offer.packet, now, why);
    if (!is_taken) drops_.add(why);
    taken += is_taken ? 1 : 0;
  }
  return taken;
}

/// Where they lie, to one site after the other: a lane copies what it takes.
void Gateway::offer_to_group(std::span<const Offer> row, Instant now) {
  const uint16_t group = row.front().how.peer;
  const std::vector<uint16_t>& sites = ingress_.groups()[group].sites;
  for (const uint16_t site : sites) {
    for (const Offer& each : row) {
      const Offer one{each.packet, ingress_.to_site(each.how, site)};
      if (offer_row({&one, 1}, now) == 1) ingress_.groups().note_sent(group, one.how.bytes);
    }
  }
  counters_.add(Counter::lan_copied, (sites.size() - 1) * row.size());
}

Gateway::Lane& Gateway::lane_of(const Admitted& admitted) {
  return row(row_of_peer_[admitted.peer])[admitted.class_index];
}

void Gateway::refuse(DropReason reason, std::span<const uint8_t> packet, Instant now) {
  drops_.add(reason);
  const auto error = icmp_error_of(reason);
  Packet* reply = nullptr;
  if (!error || replies_.is_full() || lan_.take_burst({&reply, 1}) == 0) return;
  reply->bytes = static_cast<uint32_t>(
      icmp_.write(*error, packet, lan_mtu_, {reply->data, reply->bytes_max}, now));
  if (reply->bytes == 0) return lan_.give_back({&reply, 1});
  reply->payload = nullptr;
  reply->payload_bytes = 0;
  (void)replies_.try_push(reply);
  counters_.add(Counter::icmp_sent);
}

// ---- time ----

// An epoch ends and the next begins without anybody asking the LAN side; whoever uses a lane looks.
void Gateway::follow_epoch(Lane& lane, Instant now) {
  const uint32_t resets = lane.sink.reset_count();
  const bool was_reset = std::exchange(lane.resets, resets) != resets;
  if (was_reset || !lane.source.is_started()) lane.is_open = false;
  if (lane.is_open || !lane.source.is_started()) return;
  lane.is_open = true;
  lane.out->restart(now);
}

/// What has happened to a link may be news to its lanes.
void Gateway::follow_links() {
  wan_.activity().for_awake([this](size_t link) {
    const uint16_t peer = wan_.links()[link]->peer();
    if (peer < row_of_peer_.size() && row_of_peer_[peer] != no_row) rows_.wake(row_of_peer_[peer]);
  });
}

bool Gateway::on_time(Instant now) {
  bool was_due = false;
  follow_links();
  rows_.begin_turn(now);
  const bool is_due = refresh_due_ <= now;
  if (is_due) refresh_due_ = now + refresh_interval;
  // Who wakes up has a rate of long ago.
  rows_.for_awake([&](size_t row) {
    if (is_due || !rows_awake_.has(row)) refresh_row(row);
  });
  rows_awake_ = rows_.awake();
  rows_.for_awake([&](size_t index) {
    for (Lane& lane : row(index)) was_due |= turn_lane(lane, now);
    if (!rows_.may_sleep(index) || !may_sleep(index)) return;
    Instant due = Instant::never();
    for (const Lane& lane : row(index)) due = std::min(due, next_due(lane));
    if (due <= now) return;
    refresh_row(index);
    rows_.rest_until(index, due);
  });
  return was_due;
}

bool Gateway::turn_lane(Lane& lane, Instant now) {
  follow_epoch(lane, now);
  lane.out->send_waiting(now);
  if (lane.is_open && lane.out->next_due() <= now) lane.out->on_time(now);
  // Also where nothing came in this turn: what the end of an epoch took is counted with it.
  lane.out->end_turn(now);
  const bool has_sent = std::exchange(lane.has_sent, false);
  return lane.in->on_time(now) || has_sent;
}

/// Nothing of it waits for anybody else: for the line, or for the hosts' side.
bool Gateway::may_sleep(size_t index) const {
  const auto has_lent = [](const Lane& lane) { return lane.in->frames_lent() > 0; };
  return is_sent(index) && std::ranges::none_of(row(index), has_lent);
}

// What a class may count on follows from who else has something to send, and the patience for a
// silent stream from the way to its peer.
void Gateway::refresh_row(size_t index) {
  const std::span<Lane> lanes = row(index);
  sdr::Link& link = *lanes.front().link;
  bool is_pressed = false;
  for (Lane& lane : lanes) {
    lane.out->set_rate(share_of(lane), link.rate());
    if (const Duration rtt = link.rtt(); rtt > Duration()) lane.out->set_rtt(rtt);
    is_pressed |= lane.out->is_pressed();
  }
  link.set_pressed(is_pressed);
}

Rate Gateway::share_of(const Lane& lane) const {
  // The lanes of a link lie in a row, in the order of the classes.
  const std::span lanes(&lane - lane.class_index, class_count_);
  uint64_t weights = lane.weight;
  for (const Lane& other : lanes) {
    if (&other != &lane && !other.out->is_idle()) weights += other.weight;
  }
  return Rate::from_bps(lane.link->rate().bps() / weights * lane.weight);
}

Instant Gateway::next_due(const Lane& lane) const {
  Instant due = lane.in->next_due();
  if (!lane.is_open) return due;
  if (lane.out->is_hungry()) return Instant();
  if (!lane.out->is_idle()) due = std::min(due, refresh_due_);
  return std::min(due, lane.out->next_due());
}

Instant Gateway::next_wakeup() const {
  if (!replies_.is_empty()) return Instant();
  Instant next = std::min(release_.next_due(), rows_.next_due());
  rows_.for_awake([&](size_t index) {
    for (const Lane& lane : row(index)) next = std::min(next, next_due(lane));
  });
  return next;
}

void Gateway::on_gap(Duration gap, Instant now) {
  for (Lane& lane : lanes_) {
    lane.out->on_gap(gap, now);
    lane.in->rebase(gap);
  }
  release_.rebase(gap);
  rows_.wake_all();
}

// ---- to the LAN ----

size_t Gateway::collect(std::span<Packet*> out, Instant now) {
  // The WAN side has had its time since on_time(), and rows may have been rebuilt in it.
  follow_links();
  rows_.for_awake([&](size_t index) {
    for (Lane& lane : row(index)) {
      if (lane.in->has_news()) lane.in->take_news(now);
    }
  });
  size_t count = 0;
  while (count < out.size() && !replies_.is_empty()) out[count++] = replies_.pop();
  return count + release_.collect(out.subspan(count), now);
}

// ---- for people ----

void LaneView::add(const LaneView& other) {
  is_open &= other.is_open;
  sent += other.sent;
  lost += other.lost;
  waiting += other.waiting;
  waiting_bytes += other.waiting_bytes;
  queue_bytes_max += other.queue_bytes_max;
  inbound.add(other.inbound);
  sent_slots.add(other.sent_slots);
  heard_slots.add(other.heard_slots);
  holds.add(other.holds);
}

bool Gateway::is_drained(size_t link) const {
  return is_settled(link) && std::ranges::all_of(row(link), [](const Lane& lane) {
           const InboundAccounts in = lane.in->accounts();
           return in.held == 0 && in.queued == 0;
         });
}

bool Gateway::is_drained() const {
  for (size_t link = 0; link < row_count(); ++link) {
    if (!is_drained(link)) return false;
  }
  return release_.queued_count() == 0;
}

LaneView Gateway::view(size_t index) const {
  const Lane& lane = lanes_[index];
  return {.peer = lane.link->peer(),
          .class_index = lane.class_index,
          .is_open = lane.is_open,
          .policy_out = lane.source.policy(),
          .policy_in = lane.sink.policy(),
          .sent = lane.out->writer().sent_count(),
          .lost = lane.out->writer().lost_count(),
          .waiting = lane.out->queue().frames() + lane.out->writer().queued_count(),
          .waiting_bytes = lane.out->waiting_bytes(),
          .queue_bytes_max = lane.out->queue_bytes_max(),
          .inbound = lane.in->accounts(),
          .sent_slots = lane.source.sent(),
          .heard_slots = lane.sink.heard(),
          .holds = lane.in->holes()};
}

}  // namespace cw::gateway
